# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a host from the driver to the record: each is found and named, and nothing else is called anything.

The module measures the stand-in for the driver library, and the record is made from its answer with the facts of a host
that has the same GPUs: two below one switch, one beside them on node 0, one on node 1.
"""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import module
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth import record
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import of_pairs

import neutral_facts as neutral
from bandwidth_document import BOOT, RUN
from bandwidth_fixtures import hasten, plant
from facts_schema import document_problems
from neutral_facts import merge, ok

NEAR, BESIDE_IT, SAME_NODE, FAR = GPUS = ("0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:83:00.0")
REDIRECTS = {"acs": ok(neutral.acs(redirect=True))}
# 256 KiB need 2 us to begin: at these rates 57.4 GB/s from and to the host, and 55.6 between two GPUs, are reached.
SOUND = ("rate h2d 100", "rate d2h 100", "rate peer 95")


@pytest.fixture
def measured(tree, standin, monkeypatch):
    """What is not healthy, by name: its verdict and what is said of it."""
    hasten(monkeypatch, plant(tree, GPUS))

    def run(*behaviour, redirect=None, timeout=20, **changes):
        standin.gpus(*GPUS).does(*SOUND, *behaviour)
        answer = module.measure(Host(str(tree.root)), {
            "devices": [], "pairs": True, "concurrent": True, "steps": [], "sizes": [262144], "tool": "driver",
            "container": None, "timeout": timeout, "allow_busy": False, "run_id": "r1", "library": str(standin.path)},
            check_mode=False)
        facts = merge(neutral.epyc(), changes)
        facts["gpus"] = [gpu for gpu in facts["gpus"] if gpu["bdf"] in GPUS]
        facts["ports"] = [merge(port, redirect) if redirect and port["bdf"] == "0000:02:00.0" else port
                          for port in facts["ports"]]
        head = {"host": "pve1", "run_id": RUN, "boot_id": BOOT, "measured_at": "2026-11-29T18:31:00Z",
                "driver_version": "595.58.03"}
        made = record.make_record(answer, facts, of_pairs(facts["gpus"], facts), head=head, not_measured=(), percent=80)
        assert document_problems("bandwidth.json", made) == []
        return {record.name_of(one): (one["verdict"], one["said"]) for one in record.every(made)
                if one["verdict"] != "healthy"}
    return run


def test_a_host_in_good_order(measured):
    assert measured() == {}


def test_a_detour(measured):
    """One link above the switch, which each way of the pair passes up and down again."""
    found = measured("link up 95", f"path {NEAR} {BESIDE_IT} up", f"path {BESIDE_IT} {NEAR} up", redirect=REDIRECTS)
    assert list(found) == [f"{NEAR} <-> {BESIDE_IT}"]
    verdict, said = found[f"{NEAR} <-> {BESIDE_IT}"]
    assert verdict == "slow"
    assert "; a detour: both directions go up and down the link above the switch, as 0000:02:00.0 " in said


def test_writes_that_collapse(measured):
    leaving = [f"path {source} {target} up" for source in (NEAR, BESIDE_IT) for target in (SAME_NODE, FAR)]
    found = measured("link up 95", "collapse up 2 6", f"root {SAME_NODE} c", f"root {FAR} d", *leaving)
    assert list(found) == ["shift by 2"]
    assert found["shift by 2"][0] == "slow"
    assert ("; writes collapse: 2 GPUs below 0000:00:01.1 write to GPUs behind 2 other root ports at once and reach 1"
            in found["shift by 2"][1])


def test_data_that_is_spoiled_now_and_then(measured):
    found = measured(f"flip {NEAR} {SAME_NODE} 4096 1 7")
    assert set(found) == {f"{NEAR} -> {SAME_NODE}", f"{SAME_NODE} -> {NEAR}", f"{NEAR} <-> {SAME_NODE}", "shift by 2"}
    assert {verdict for verdict, _said in found.values()} == {"wrong_data"}


def test_root_ports_of_intel(measured):
    """262144 bytes at 52 GB/s and 2 us are 37.2 GB/s: of 57.6 it would be slow, and is not of 40.3."""
    apart = [f"rate {one} {other} 52" for one in (NEAR, BESIDE_IT) for other in (SAME_NODE, FAR)]
    apart += [f"rate {other} {one} 52" for one in (NEAR, BESIDE_IT) for other in (SAME_NODE, FAR)]
    assert measured(*apart, cpu={"vendor": "GenuineIntel"}) == {}


def test_the_same_figures_on_another_processor(measured):
    apart = [f"rate {NEAR} {SAME_NODE} 52", f"rate {SAME_NODE} {NEAR} 52"]
    assert {name for name, (verdict, _said) in measured(*apart).items() if verdict == "slow"} == {
        f"{NEAR} -> {SAME_NODE}", f"{SAME_NODE} -> {NEAR}", f"{NEAR} <-> {SAME_NODE}"}


def test_one_slow_nvlink_pair(measured):
    found = measured(f"rate {NEAR} {FAR} 36", f"rate {FAR} {NEAR} 36",
                     pcie={"nvswitches": ["0000:c5:00.0"]})
    assert set(found) == {f"{NEAR} -> {FAR}", f"{FAR} -> {NEAR}"}
    assert all("less than the 10 similar ones" in said for _verdict, said in found.values())


def test_a_hang_of_both_ways(measured):
    found = measured(f"path {NEAR} {FAR} up", f"path {FAR} {NEAR} up", "jam up 2", timeout=4)
    assert {name: verdict for name, (verdict, _said) in found.items()} == {f"{NEAR} <-> {FAR}": "hang"}
