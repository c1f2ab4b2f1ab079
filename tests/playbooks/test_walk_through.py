# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The walk-throughs in docs: whoever types what they say sees what they show.

A block after "`FILE`:" is written to that file, one after "ppend to `FILE`:" is appended. Every line of a `sh` block is
run in a copy of this checkout; one with the comment "fails" must fail. Lines of a `text` block must be in what the `sh`
block before it printed, in their order.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from checkout import REPOSITORY, environment, files
from requirement import need

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?P<append>ppend to )?`(?P<name>[\w./-]+)`:\s*\Z")


class Done(NamedTuple):
    ran: int
    shown: int


@pytest.fixture
def copy(tmp_path):
    """A copy of this checkout, set up like it."""
    for name in files():
        here = tmp_path / name
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, here)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    setup = tmp_path / "tools" / "setup-venv.sh"
    setup.write_text("#!/bin/sh\n")
    link = tmp_path / ".ansible" / "collections" / "ansible_collections" / "gpuhost"
    link.mkdir(parents=True)
    (link / "tuning").symlink_to(tmp_path)
    # tests of the copy, too, must not look for the copied files in git
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def walk(page: str, folder: pathlib.Path, heading: str = "") -> Done:
    """Do what a page, or what it says below a heading, in `folder`."""
    text, ran, shown, output = (REPOSITORY / page).read_text(encoding="utf-8"), 0, 0, ""
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for block in BLOCK.finditer(text):
        language, content = block[1], block[2]
        named = FILE.search(text[:block.start()])
        if language == "sh":
            output = "".join(run(line, folder) for line in content.splitlines())
            ran += len(content.splitlines())
        elif language == "text":
            position = 0
            for line in content.splitlines():
                position = output.find(line, position)
                assert position >= 0, f"not shown: {line}\n{output}"
                shown += 1
        else:
            assert named, f"a block of {language} that no file is named for"
            with open(folder / named["name"], "a" if named["append"] else "w", encoding="utf-8") as stream:
                stream.write(content)
    return Done(ran, shown)


def run(line: str, folder: pathlib.Path) -> str:
    command, _sign, comment = line.partition("     # ")
    settings = environment(PATH=f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}", ANSIBLE_NOCOLOR="1",
                           ANSIBLE_HOME=str(folder / "home"), COLUMNS="400", LC_ALL="C.UTF-8")
    done = subprocess.run(["sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, env=settings, timeout=300)
    output = done.stdout + done.stderr
    assert (done.returncode == 0) == (comment != "fails"), f"{line}: status {done.returncode}\n{output}"
    return output


@pytest.mark.one_core
def test_add_a_check(copy):
    assert walk("docs/add-a-check.md", copy) == (8, 2)
    assert "| id | `laptop_mode` |" in (copy / "docs" / "checks" / "laptop_mode.md").read_text()


@pytest.mark.one_core
def test_add_a_tunable(copy):
    need(shutil.which("patch") is not None, "patch is not installed")
    assert walk("docs/add-a-tunable.md", copy) == (11, 5)
    journal = (copy / "planted" / "run" / "gpuhost" / "journal.jsonl").read_text()
    assert journal.count('"end"') == 2, journal


def test_report_a_bug_with_a_recording(copy):
    need(os.geteuid() == 0, "a recording by root needs root")
    assert walk("CONTRIBUTING.md", copy, "Report a bug with a recording") == (3, 0)
    document = json.loads((copy / "reports" / "pve1-recorded" / "audit.json").read_text())
    assert document["facts"]["identity"]["hostname"] == {"status": "ok", "value": "anonymous-host1"}
