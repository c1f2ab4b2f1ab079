# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit asks the host's Python directly where it can, and with a module where it cannot: the same comes out."""
from __future__ import annotations

import json
import shlex
import sys

import pytest

from hosts.story_before import story_before


@pytest.fixture
def story(make_tree):
    return story_before(make_tree("pve1"))


@pytest.fixture
def python(tmp_path):
    """An interpreter that notes how it was called and is as talkative as some logins."""
    path, calls = tmp_path / "python", tmp_path / "calls"
    path.write_text(f"#!/bin/sh\necho \"$@\" >> {calls}\necho Welcome\nexec {shlex.quote(sys.executable)} \"$@\"\n")
    path.chmod(0o755)
    return path, calls


def audit(controller, story, interpreter, **environment):
    host = {"gpuhost_sysroot": str(story.root), "ansible_python_interpreter": str(interpreter)}
    return controller.play("audit.yml", {"pve1": host}, **environment)


def document(controller):
    found = json.loads((controller.reports / "pve1" / "audit.json").read_text())
    for part in (found, found["facts"]):
        del part["collected_at"]
    return found


def test_both_ways_give_the_same(controller, story, python):
    path, calls = python
    audit(controller, story, path).succeeded()
    piped = document(controller)
    assert calls.read_text() == "-I -S -\n"
    calls.unlink()
    audit(controller, story, path, ANSIBLE_PIPELINING="false").succeeded()
    assert "-I" not in calls.read_text()
    assert document(controller) == piped


@pytest.mark.parametrize("pipelining", ["true", "false"])
def test_what_cannot_be_read_is_said_either_way(controller, make_tree, pipelining):
    gone = make_tree("pve1").root.with_name("gone")
    run = controller.play("audit.yml", {"pve1": gone}, ANSIBLE_PIPELINING=pipelining).failed()
    assert str(gone) in run.one("pve1", action="audit")["msg"]


def test_a_python_that_is_none(controller, story):
    failed = audit(controller, story, "/bin/false").failed().one("pve1", action="audit")
    assert failed["msg"] == "the host could not be read, its Python ended with status 1: no output"


def test_the_environment_of_a_task_reaches_it(controller, story, python, tmp_path):
    path, calls = python
    path.write_text(path.read_text().replace('echo "$@"', 'echo "$SPICE $@"'))
    playbook = tmp_path / "own.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "environment": {"SPICE": "hot pepper"},
        "roles": [{"role": "gpuhost.tuning.audit"}]}]))
    host = {"gpuhost_sysroot": str(story.root), "ansible_python_interpreter": str(path)}
    controller.play(str(playbook), {"pve1": host}).succeeded()
    assert calls.read_text() == "hot pepper -I -S -\n"
