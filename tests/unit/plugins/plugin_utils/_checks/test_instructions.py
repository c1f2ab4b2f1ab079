# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex
import subprocess

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.instructions import compile_instructions
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import BadExpression
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.template import Template

HOSTILE = "x'; touch /tmp/owned; echo \"$(id)` &"


def commands(text, **it):
    return compile_instructions(text).commands({"it": it})


def show(text, **it):
    return compile_instructions(text).show({"it": it}, Template.show)


@pytest.mark.parametrize("text, it, wanted", [
    ("Read it first.", {}, []),
    ("Read it first.\n$ mv a b\n$ mv c d\nThen look.", {}, ["mv a b", "mv c d"]),
    ("$ systemctl disable {it.name}", {"name": "tuned.service"}, ["systemctl disable tuned.service"]),
    ("$ sysctl -w {it.key}={it.value}", {"key": "net.ipv4.tcp_rmem", "value": "1 2"},
     ["sysctl -w net.ipv4.tcp_rmem='1 2'"]),
    # One expression may choose: nothing, one command, several.
    ("$ {it.on && 'echo on'}", {"on": False}, []),
    ("$ {it.on && 'echo on'}", {"on": True}, ["echo on"]),
    ("$ {it.each[].command}", {"each": [{"command": "a 1"}, {"command": "a 2"}]}, ["a 1", "a 2"]),
    # Without one of its values there is no command at all: half of an action is none.
    ("$ a\n$ b {it.gone}", {"gone": {"status": "denied", "value": None}}, []),
    ("$ b {it.none}", {"none": None}, []),
    ("$ b {it.name}", {"name": "a\x1b[2Jb"}, []),
])
def test_commands_are_the_marked_lines(text, it, wanted):
    assert commands(text, **it) == wanted


def test_what_a_host_calls_itself_runs_nothing():
    (command,) = commands("$ printf %s {it.name}", name=HOSTILE)
    assert shlex.split(command) == ["printf", "%s", HOSTILE]
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == HOSTILE


@pytest.mark.parametrize("text, it, wanted", [
    ("Read {it.name}.\n$ mv {it.name} b", {"name": "a c"}, "Read a c.\nmv 'a c' b"),
    ("$ {it.on && 'echo on'}\nThat is all.", {"on": False}, "That is all."),
    ("$ b {it.gone}", {"gone": {"status": "denied", "value": None}}, "b (gone could not be read: it needs root)"),
])
def test_the_whole_is_shown_without_the_marks(text, it, wanted):
    assert show(text, **it) == wanted


def test_a_brace_that_is_not_closed_is_found():
    with pytest.raises(BadExpression):
        compile_instructions("Look.\n$ mv {it.name b")
