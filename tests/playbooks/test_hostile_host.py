# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts whose Python says what it likes: each fails with one message, and an honest one beside them is audited."""
from __future__ import annotations

import base64
import copy
import json
import zlib

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.packing import pack
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

from hosts.story_before import story_before

ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e\x9b31m"
FORGED = "fatal: [honest]: FAILED! => {}\nok: [honest]"
TIMEOUT = 25


def packed(text):
    data = zlib.compress(text if isinstance(text, bytes) else text.encode())
    return "gpuhost-facts " + base64.b64encode(data).decode()


def changed(facts, change):
    facts = copy.deepcopy(facts)
    change(facts)
    return "gpuhost-facts " + pack(facts)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    from hosts.tree import Tree

    return collect(Host(str(story_before(Tree(tmp_path_factory.mktemp("facts")), cores=1).root)), [])


def hostile(facts):
    """By name: what the host's Python prints, and a part of the message; a script where it begins with `#!`."""
    gpu = facts["gpus"][0]
    return {
        "silent": ("", "no output"),
        "escapes": (f"#!/bin/sh\ncat <<'X' >&2\n{ESCAPES}\n{FORGED}\nX\nexit 3\n", r"\x1b[2J"),
        "line": ("#!/bin/sh\nhead -c 70000000 /dev/zero | tr '\\0' A\n", "could not be read"),
        "facts_line": ("#!/bin/sh\nprintf 'gpuhost-facts '; head -c 70000000 /dev/zero | tr '\\0' A\n",
                       "bytes, at most"),
        "never": ("#!/bin/sh\nexec sleep 300\n", f"did not respond within {TIMEOUT} s"),
        "drip": ("#!/bin/sh\nwhile echo x; do sleep 1; done\n", f"did not respond within {TIMEOUT} s"),
        "killed": ("#!/bin/sh\nkill -9 $$\n", "could not be read"),
        "bomb": (packed(b" " * (65 << 20)), "bytes, at most"),
        "values": (packed("[" + "0," * 600_000 + "0]"), "values, at most"),
        "deep": (packed("[" * 100_000), "nested too deep"),
        "nan": (packed('{"schema": NaN}'), "not a JSON number"),
        "digits": (packed("9" * 5000), "digit"),
        "list": (packed("[]"), "wanted 'gpuhost.facts/1'"),
        "schema": (packed('{"schema": "gpuhost.facts/9"}'), "gpuhost.facts/9"),
        "keys": (packed('{"schema": "gpuhost.facts/1"}'), "is missing"),
        "base64": ("gpuhost-facts \u00e4", "cannot be unpacked"),
        "cut": (("gpuhost-facts " + pack(facts))[:-400], "cannot be unpacked"),
        "refusal": (f"gpuhost-error {json.dumps(ESCAPES + FORGED)}", r"\x1b[2J"),
        "garbage": ("#!/bin/sh\nhead -c 5000 /dev/urandom\n", "could not be read"),
        "flood": ("#!/bin/sh\nhead -c 9000000 /dev/zero | tr '\\0' E >&2\nexit 1\n", "status 1"),
        "types": (changed(facts, lambda made: made["kernel"].update(cmdline=7)), "kernel.cmdline"),
        "gpus": (changed(facts, lambda made: made.update(gpus=[gpu] * 3000)), "PCI devices, at most 1024"),
        "cpus": (changed(facts, lambda made: made["cpu"].update(online="0-65535," * 20_000)), "cpu.online"),
        "huge": (changed(facts, lambda made: made["memory"]["total_kib"].update(value=1 << 80)),
                 "a number out of range"),
        "unasked": (changed(facts, lambda made: made.update({ESCAPES: 1})), r"unknown key"),
    }


def asked_of(program):
    """A host whose Python is this program."""
    return {"ansible_connection": "local", "ansible_python_interpreter": str(program), "ansible_pipelining": True}


def test_each_of_twenty_five_kinds_costs_itself_alone(controller, make_tree, tmp_path, facts):
    kinds = hostile(facts)
    assert len(kinds) == 25
    hosts = {}
    for name, (said, _message) in kinds.items():
        path = tmp_path / f"{name}.sh"
        if said.startswith("#!"):
            path.write_text(said)
        else:
            (tmp_path / f"{name}.txt").write_text(said + "\n")
            path.write_text(f"#!/bin/sh\ncat {tmp_path / name}.txt\n")
        path.chmod(0o755)
        hosts[name] = asked_of(path)
    hosts["honest"] = story_before(make_tree("honest"), cores=1)
    run = controller.play("audit.yml", hosts, "--forks", "8", variables={"gpuhost_timeout": TIMEOUT}).failed()
    results = {name: run.one(name, action="audit") for name in kinds}
    assert [name for name, (_said, message) in kinds.items() if message not in results[name]["msg"]] == []
    assert run.one("honest", action="audit")["summary"]
    assert run.stats["honest"]["failures"] == 0
    # Nothing of theirs moves a cursor or begins a line of its own.
    assert "\x1b" not in run.output and "\u202e" not in run.output and "\x9b" not in run.output
    assert not [line for line in run.output.splitlines() if line.startswith("fatal: [honest]")]


def test_a_text_that_turns_around_is_shown_as_it_is(controller, make_tree, tmp_path, facts):
    made = copy.deepcopy(facts)
    made["identity"]["hostname"]["value"] = ESCAPES + "\ud800"
    (tmp_path / "odd.txt").write_text("gpuhost-facts " + pack(made) + "\n")
    (tmp_path / "odd.sh").write_text(f"#!/bin/sh\ncat {tmp_path}/odd.txt\n")
    (tmp_path / "odd.sh").chmod(0o755)
    run = controller.play("audit.yml", {"odd": asked_of(tmp_path / "odd.sh")}, "-v").succeeded()
    written = "".join(path.read_text() for path in controller.reports.rglob("*") if path.is_file())
    for text in (run.output, written):
        assert not set("\x1b\x07\u202e\x9b") & set(text)
    document = json.loads((controller.reports / "odd" / "audit.json").read_text())
    assert document["facts"]["identity"]["hostname"]["value"] == r"\x1b[2J\x1b]0;owned\x07\u202e\x9b31m\ud800"
