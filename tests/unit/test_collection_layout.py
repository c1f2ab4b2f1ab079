# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built collection holds what a user needs, and nothing of the workshop."""
from __future__ import annotations

import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest
import yaml

from checkout import REPOSITORY, environment, files

GALAXY = yaml.safe_load((REPOSITORY / "galaxy.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "ansible", "galaxy", "collection", "build", "--output-path", str(folder)],
                   cwd=REPOSITORY, check=True, env=environment(ANSIBLE_HOME=str(folder)), capture_output=True)
    return folder / f"gpuhost-tuning-{GALAXY['version']}.tar.gz"


@pytest.fixture(scope="module")
def built_files(built) -> set[str]:
    with tarfile.open(built) as archive:
        return {member.name for member in archive.getmembers() if member.isfile()}


def test_all_that_runs_is_in_it(built_files):
    missing = set(files("plugins", "roles", "playbooks", "meta", "docs", new=False)) - built_files
    assert missing == {"playbooks/ansible.cfg"}
    assert {"README.md", "LICENSE", "CHANGELOG.rst", "MANIFEST.json", "FILES.json"} <= built_files


def test_nothing_of_the_workshop_is_in_it(built_files):
    known = {"plugins", "roles", "playbooks", "meta", "docs", "changelogs", "extensions", "LICENSES"}
    pages = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.rst", "LICENSE",
             "MANIFEST.json", "FILES.json"}
    # A file that nobody has added to git yet is the business of whoever made it.
    found = built_files & (set(files(new=False)) | pages)
    assert {name for name in found if name.split("/")[0] not in known} == pages


@pytest.mark.parametrize(("name", "left_out"), [("dist/gpuhost-record.pyz", False),
                                                ("dist/gpuhost-tuning-0.1.0.tar.gz", True)])
def test_a_release_holds_the_record_tool_and_no_older_release(name, left_out):
    assert any(fnmatch.fnmatch(name, pattern) for pattern in GALAXY["build_ignore"]) is left_out


def test_files_that_leave_the_collection_name_its_version():
    text = (REPOSITORY / "plugins/module_utils/_one_file/version.py").read_text(encoding="utf-8")
    assert re.search(r'^VERSION = "(.*)"$', text, re.MULTILINE)[1] == GALAXY["version"]


def test_no_compiled_python_is_in_it(built_files):
    assert [name for name in built_files if name.endswith((".pyc", ".retry"))] == []


def test_it_has_no_dependency_that_must_be_fetched(built):
    with tarfile.open(built) as archive:
        manifest = json.load(archive.extractfile("MANIFEST.json"))["collection_info"]
    assert manifest["dependencies"] == {}
    assert (manifest["namespace"], manifest["name"]) == ("gpuhost", "tuning")


def test_the_execution_environment_takes_whatever_version_was_built():
    """`make build` leaves a copy under a name without a version."""
    text = (REPOSITORY / "execution-environment.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"gpuhost-tuning\S*", text.split("version: 3")[1])) == {"gpuhost-tuning.tar.gz"}
    assert "dist/gpuhost-tuning.tar.gz" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def test_the_requirements_of_an_execution_environment_are_those_of_a_controller():
    text = (REPOSITORY / "requirements" / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.findall(r'"([^"]+)"', re.search(r"^dependencies = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)[1])
    lines = (REPOSITORY / "meta" / "ee-requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = {line for line in lines if not line.startswith("#")}
    assert listed == {name for name in wanted if not name.startswith("ansible-core")}


@pytest.mark.parametrize("lock", ["run", "test", "dev", "bench", "release"])
def test_locks_name_no_index(lock):
    text = (REPOSITORY / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|^--|file:", text.split("\n", 4)[4], re.MULTILINE)
    assert re.search(r"^ansible-core==2\.19\.\d+ ; python_full_version < '3\.12'", text, re.MULTILINE)


def test_locks_agree():
    run, test, dev, bench = (
        set(re.findall(r"^([\w.-]+==[^ ]+)", (REPOSITORY / "requirements" / f"{lock}.txt").read_text(), re.MULTILINE))
        for lock in ("run", "test", "dev", "bench"))
    assert run < test < dev
    assert {pinned.partition("==")[0] for pinned in bench - run} == {"ansible"}
