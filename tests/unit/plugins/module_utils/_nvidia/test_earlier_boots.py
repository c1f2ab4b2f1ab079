# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of earlier boots, of a recording that has them: read apart, told apart, and never counted as this boot."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts import source
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.earlier_boots import read

from facts_schema import document_problems
from hosts.reference import reference
from verdicts import judged

LAST = """\
[   12.5] NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[   13.5] NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[   14.0] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0xffff:1482)
"""
BEFORE = """\
[   20.0] NVRM: API mismatch: the client has the version 535.183.01, but
[   20.0] NVRM: this kernel module has the version 550.90.07.  Please
"""
BOOTS = [{"boot": -1, "text": LAST}, {"boot": -2, "text": BEFORE}]


def test_each_boot_has_its_own_errors(tree):
    tree.file("/recorded/earlier_boots.json", json.dumps(BOOTS))
    found = read(Host(str(tree.root)))
    assert found.value == [
        {"boot": -1, "xids": [{"bdf": "0000:01:00", "xid": 79, "count": 2}], "mismatches": [],
         "init_failures": [{"bdf": "0000:01:00.0", "text": "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! "
                                                           "(0x26:0xffff:1482)"}]},
        {"boot": -2, "xids": [], "init_failures": [], "mismatches": [
            {"what": "api", "client": None, "client_version": "535.183.01", "module_version": "550.90.07",
             "text": "NVRM: API mismatch: the client has the version 535.183.01, but"}]}]


def test_a_live_host_is_not_asked():
    found = read(Host("/"))
    assert (found.status, "journalctl -k -b -1" in found.detail) == ("absent", True)


def test_an_open_recording_without_them_does_not_say_that_there_were_none(tree):
    tree.file("/recorded/answers.json", '{"open": "not collected"}')
    assert read(Host(str(tree.root))).status == "not_recorded"


@pytest.mark.parametrize("text", ["{", "{}", '[1]', '[{"boot": "x", "text": ""}]', '[{"text": ""}]'])
def test_what_is_no_list_of_logs_is_unparsable(tree, text):
    tree.file("/recorded/earlier_boots.json", text)
    assert read(Host(str(tree.root))).status == "unparsable"


def test_they_are_a_finding_of_their_own_and_none_of_this_boot(tree):
    reference(tree).file("/recorded/earlier_boots.json", json.dumps(BOOTS))
    facts = collect(Host(str(tree.root)), [])
    assert document_problems("facts.json", facts) == []
    found = judged(facts)
    finding = found["earlier_boots", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "info")
    assert finding["actual"] == [
        "Xid 79 of 0000:01:00, 2 times, in the boot before this one",
        "the driver could not initialise a GPU of 0000:01:00.0 (NVRM: GPU 0000:01:00.0: RmInitAdapter failed! "
        "(0x26:0xffff:1482)), in the boot before this one",
        "API mismatch: a program was 535.183.01, the driver 550.90.07, 2 boots before this one"]
    assert {verdict["verdict"] for (check, _at), verdict in found.items()
            if check in ("nvidia_xid", "nvidia_library", "nvidia_gpu_count")} == {"pass"}


# -- what the recording was made from ---------------------------------------------------------------------------------

def test_the_source_is_a_fact(tree):
    said = {"kind": "nvidia-bug-report", "name": "x.log.gz", "collected_at": "2026-11-01T10:00:00Z",
            "script": "37062940", "notes": ["--safe-mode"]}
    tree.file("/recorded/source.json", json.dumps({**said, "more": 1}))
    assert source.read(Host(str(tree.root))) == said


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_without_one_there_is_none(tree, text):
    if text is not None:
        tree.file("/recorded/source.json", text)
    assert source.read(Host(str(tree.root))) is None


def test_a_live_host_has_no_source():
    assert source.read(Host("/")) is None


def test_what_has_the_wrong_type_is_left_out():
    assert source.parse('{"kind": 1, "name": "a", "notes": [1, "b"]}') == {
        "kind": None, "name": "a", "collected_at": None, "script": None, "notes": ["b"]}
