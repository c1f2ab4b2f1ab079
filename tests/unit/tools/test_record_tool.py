# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpuhost-record as it is handed out: one file, run by a Python that has nothing of this collection."""
from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._one_file.version import VERSION

from checkout import REPOSITORY
from hosts.others import container, workstation
from hosts.sick import sick
from hosts.story_before import story_before
from hosts.tree import Tree
from pythons import VERSIONS, find_python
from requirement import need

NOBODY = 65534


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist") / "gpuhost-record.pyz")


def build(path, python=sys.executable):
    subprocess.run([python, "-B", REPOSITORY / "tools" / "record_tool.py", path], check=True, capture_output=True,
                   env={**os.environ, "PYTHONPATH": str(REPOSITORY / "plugins")})
    return path


def run(tool, *words, python=sys.executable, **options):
    # As on a host where somebody else's modules and settings lie in the way.
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, tool, *words], capture_output=True, check=False, env=environment, **options)


def recorded(tool, tree, folder, *words, **options):
    done = run(tool, "--sysroot", str(tree.root), *words, **options)
    assert done.returncode == 0, done.stderr.decode()
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return Host(str(folder))


def facts_of(host):
    return {name: fact for name, fact in collect(host, []).items() if name not in ("collected_at", "privileged")}


def small_story(tree):
    story_before(tree, cores=1, vms={"200": "name: desk\nhostpci0: 0000:41:00.0\n"})


@pytest.mark.parametrize("plant", [sick, workstation, container],
                         ids=lambda plant: plant.__name__)
def test_facts_are_those_of_an_audit(tool, tmp_path, plant):
    tree = Tree(tmp_path / "host")
    plant(tree)
    assert facts_of(recorded(tool, tree, tmp_path / "unpacked")) == facts_of(Host(str(tree.root)))


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A planted host and its facts, for tests that only read it."""
    tree = Tree(tmp_path_factory.mktemp("story") / "host")
    small_story(tree)
    return tree, facts_of(Host(str(tree.root)))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_of_a_host_runs_it(tool, tmp_path, story, version):
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    tree, facts = story
    assert facts_of(recorded(tool, tree, tmp_path / "unpacked", python=python)) == facts
    assert hashlib.sha256(build(tmp_path / "again.pyz", python).read_bytes()).digest() == \
        hashlib.sha256(tool.read_bytes()).digest()


def test_an_old_python_is_told_so(tool):
    old = next(pathlib.Path(os.path.expanduser("~/.pyenv/versions")).glob("3.[678].*/bin/python3"), None)
    need(old is not None, "a Python older than 3.9")
    done = run(tool, python=str(old))
    assert (done.returncode, done.stdout) == (1, b"")
    assert re.fullmatch(rb"gpuhost-record needs Python 3\.9 or newer, this is 3\.[678]\.\d+\n", done.stderr)


def test_secrets_are_masked_before_anything_is_written(tool, tmp_path):
    tree = Tree(tmp_path / "host")
    small_story(tree)
    tree.file("/proc/cmdline", "quiet root_password=hunter2hunter2")
    host = recorded(tool, tree, tmp_path / "unpacked")
    assert host.read("/proc/cmdline").value == "quiet root_password=masked"


def test_stand_ins_on_request(tool, tmp_path, story):
    tree, _facts = story
    names = []
    for time in ("first", "second"):
        host = recorded(tool, tree, tmp_path / time, "--anonymise")
        name = host.read("/proc/sys/kernel/hostname").value
        assert re.fullmatch(r"anonymous-host\d{1,5}", name)
        assert host.list("/etc/pve/nodes") == [name]        # the same one in all of a recording
        names.append(name)
    assert names[0] != names[1]


@pytest.fixture
def not_root(tool):
    """A folder that another user may enter, and a way to run Python there as that user."""
    python = "/usr/bin/python3"     # the one of the tests may lie in the home of root
    need(os.geteuid() == 0 and os.access(python, os.X_OK), f"root, which hides files from another user, and {python}")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(tool, folder)
        shutil.copytree(REPOSITORY / "plugins" / "module_utils", f"{folder}/module_utils")

        def run_there(*words):
            return subprocess.run([python, "-B", *words], user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder,
                                  capture_output=True, check=False)

        yield pathlib.Path(folder), run_there


AUDIT = """
import json, sys
sys.path.insert(0, ".")
from module_utils._facts.collect import collect
from module_utils._host.host import Host
print(json.dumps(collect(Host("host"), [])))
"""


def test_without_root_what_was_not_allowed_is_denied_and_not_absent(not_root):
    folder, run_there = not_root
    tree = Tree(folder / "host")
    small_story(tree)
    tree.path("/etc/pve/nodes").chmod(0o700)
    tree.file("/proc/sys/vm/swappiness", 60, mode=0o400)
    done = run_there("gpuhost-record.pyz", "--sysroot", "host")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder / "unpacked")
    assert b"not root: files that only root can read will be missing" in done.stderr
    assert re.search(rb"permission denied for \d+ of them: .*/etc/pve/nodes", done.stderr)
    about = json.loads((folder / "unpacked/recorded/recording.json").read_bytes())
    assert about["privileged"] is False
    again = collect(Host(str(folder / "unpacked")), [])
    audit = json.loads(run_there("-c", AUDIT).stdout)
    changing = ("collected_at", "privileged")
    assert {key: fact for key, fact in again.items() if key not in changing} == \
        {key: fact for key, fact in audit.items() if key not in changing}
    assert again["sysctl"]["vm.swappiness"] == {"status": "denied", "value": None}


def test_nothing_is_written_to_a_terminal(tool):
    controller, terminal = pty.openpty()
    done = subprocess.run([sys.executable, tool], stdout=terminal, stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    os.close(controller)
    assert done.returncode == 2
    assert b"standard output is a terminal" in done.stderr
    assert b"gpuhost-record > FILE.tar.gz" in done.stderr


@pytest.mark.parametrize(("words", "status", "message"), [
    (["--sysroot", "/nowhere/at/all"], 1, "is not a directory on this host"),
    (["--max-bytes", "10"], 1, "10 are allowed; the largest files are"),
    (["--tunable", "swappiness"], 1, "swappiness"),
    (["--nonsense"], 2, "unrecognized arguments: --nonsense"),
])
def test_what_cannot_be_done_is_said_and_nothing_is_written(tool, tmp_path, words, status, message):
    tree = Tree(tmp_path / "host").file("/proc/cmdline", "quiet " * 10)
    done = run(tool, "--sysroot", str(tree.root), *words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert message in done.stderr.decode()


def test_a_full_disk_is_said(tool, tmp_path):
    tree = Tree(tmp_path / "host").file("/proc/cmdline", "quiet")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, tool, "--sysroot", str(tree.root)], stdout=full, stderr=subprocess.PIPE,
                              check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(b"the recording could not be written: ENOSPC (No space left on device)\n")


def test_help_tells_how_to_run_it_and_how_it_ends(tool):
    said = run(tool, "--help").stdout.decode()
    assert "sudo python3 gpuhost-record.pyz > $(hostname).tar.gz" in said
    assert "142  --timeout has passed" in said


def test_it_imports_nothing_but_the_standard_library(tool):
    done = subprocess.run([sys.executable, "-I", "-S", tool, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"gpuhost-record {VERSION}\n"
