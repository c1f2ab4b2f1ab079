# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-builder understands the definition of the execution environment, and ansible-navigator runs a playbook."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.others import virtual_machine
from hosts.tree import Tree


@pytest.fixture
def context(tmp_path) -> pathlib.Path:
    """The build context that ansible-builder writes, of a checkout in which the collection was built."""
    pytest.importorskip("ansible_builder", reason="ansible-builder comes with requirements/dev.txt")
    definition = (REPOSITORY / "execution-environment.yml").read_text(encoding="utf-8")
    tarball = tmp_path / yaml.safe_load(definition)["additional_build_files"][0]["src"]
    tarball.parent.mkdir()
    tarball.write_bytes(b"stands for the built collection")
    shutil.copy(REPOSITORY / "execution-environment.yml", tmp_path)
    builder = pathlib.Path(sys.executable).with_name("ansible-builder")
    subprocess.run([str(builder), "create", "-f", "execution-environment.yml", "-c", "context"], cwd=tmp_path,
                   check=True, capture_output=True)
    return tmp_path / "context"


def test_the_collection_is_installed_from_the_file(context):
    wanted = yaml.safe_load((context / "_build" / "requirements.yml").read_text())["collections"]
    collection, of_an_example = wanted
    assert collection["type"] == "file"
    assert of_an_example == {"name": "community.proxmox"}
    assert "requests" in (context / "_build" / "requirements.txt").read_text().split()
    assert (context / "_build" / collection["name"]).read_bytes() == b"stands for the built collection"


def test_ansible_core_is_one_that_is_supported(context):
    [recipe] = [*context.glob("Containerfile"), *context.glob("Dockerfile")]
    assert "ansible-core>=2.19,<2.23" in recipe.read_text()


def test_the_collection_names_its_own_requirements():
    named = yaml.safe_load((REPOSITORY / "meta" / "execution-environment.yml").read_text())["dependencies"]
    assert named == {"python": "meta/ee-requirements.txt", "system": "meta/ee-bindep.txt"}
    assert all((REPOSITORY / path).is_file() for path in named.values())


def test_navigator_runs_an_audit_and_shows_the_fleet(tmp_path):
    """Without a container: those are built and run by the user's own engine."""
    pytest.importorskip("ansible_navigator", reason="ansible-navigator comes with requirements/dev.txt")
    controller = Controller(tmp_path)
    hosts = {name: virtual_machine(Tree(tmp_path / "hosts" / name)) for name in ("one", "two")}
    programs = pathlib.Path(sys.executable).parent
    done = subprocess.run(
        [str(programs / "ansible-navigator"), "run", str(REPOSITORY / "playbooks" / "audit.yml"), "--ee", "false",
         "--mode", "stdout", "--playbook-artifact-enable", "false", "--log-file", str(tmp_path / "navigator.log"), "-i",
         str(controller.inventory(hosts)), "-e", json.dumps({
             "gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)})],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
        env=controller.environment(HOME=str(tmp_path), PATH=f"{programs}:{os.environ['PATH']}"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 hosts, 2 with nothing to improve, 0 without a result" in done.stdout
    assert sorted(path.parent.name for path in controller.reports.glob("*/audit.json")) == ["one", "two"]
