# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clone, wherever it lies: each way to start the audit that the README names audits this machine."""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from checkout import REPOSITORY, environment, files


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> pathlib.Path:
    """A copy of the checkout's files as git has them, with the link that `make` sets up."""
    folder = tmp_path_factory.mktemp("somewhere") / "gpuhost"
    for name in files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, target)
    subprocess.run(["make", "link"], cwd=folder, check=True, capture_output=True)
    return folder


def play(folder: pathlib.Path, playbook: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", playbook, "-e", '{"gpuhost_become": false}', *words], cwd=folder,
        env=environment(ANSIBLE_HOME=str(folder / "home")), text=True, capture_output=True, stdin=subprocess.DEVNULL,
        check=False)


@pytest.mark.parametrize(("folder", "playbook"), [
    (".", "playbooks/audit.yml"), (".", "gpuhost.tuning.audit"), ("playbooks", "audit.yml")])
def test_ways_to_start_an_audit(clone, folder, playbook):
    done = play(clone / folder, playbook)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no hosts matched" not in done.stdout + done.stderr
    record = clone / folder / "reports" / "localhost" / "audit.json"
    assert json.loads(record.read_text())["host"] == "localhost"


def test_a_pattern_without_hosts_is_no_success(clone):
    done = play(clone, "playbooks/audit.yml", "-l", "nosuchhost")
    assert done.returncode != 0
    assert "nosuchhost" in done.stdout + done.stderr
