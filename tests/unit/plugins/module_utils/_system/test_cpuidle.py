# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.cpulist import parse_cpulist
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.cpuidle import read_idle

from hosts.cpu import EPYC_STATES, XEON_STATES, IdleState, idle_path, plant_idle, plant_no_frequency, request_latency

ONLINE = [cpu for cpu in range(256) if cpu != 239]


def test_256_cpus_are_three_states(tree, host):
    plant_idle(tree, ONLINE, states=EPYC_STATES)
    assert read_idle(host, ONLINE) == {
        "driver": ("ok", "acpi_idle", None),
        "governor": ("ok", "menu", None),
        "latency_request_us": ("ok", 2000000000, None),
        "states": [
            {"state": "state0", "name": "POLL", "description": "CPUIDLE CORE POLL IDLE", "latency_us": 0,
             "residency_us": 0, "disabled_by_default": False, "cpus": "0-238,240-255", "disabled_cpus": ""},
            {"state": "state1", "name": "C1", "description": "ACPI FFH MWAIT 0x0", "latency_us": 1,
             "residency_us": 2, "disabled_by_default": False, "cpus": "0-238,240-255", "disabled_cpus": ""},
            {"state": "state2", "name": "C2", "description": "ACPI IOPORT 0x814", "latency_us": 800,
             "residency_us": 1600, "disabled_by_default": False, "cpus": "0-238,240-255", "disabled_cpus": ""},
        ],
    }


@pytest.mark.parametrize("data, status, value", [
    (b"\x14\0\0\0", "ok", 20), (b"\0\0\0\0", "ok", 0), (b"20\n", "unparsable", None), (b"", "unparsable", None)])
def test_a_request_for_latency_is_four_bytes(tree, host, data, status, value):
    request_latency(tree, data)
    reading = read_idle(host, [])["latency_request_us"]
    assert (reading.status, reading.value) == (status, value)


def test_cpus_on_which_somebody_disabled_a_state(tree, host):
    plant_idle(tree, range(8), states=EPYC_STATES, disabled={"C2": [0, 1, 2, 5]})
    assert [state["disabled_cpus"] for state in read_idle(host, range(8))["states"]] == ["", "", "0-2,5"]


def test_cpus_that_differ_are_two_groups(tree, host):
    slow = (IdleState("POLL", "CPUIDLE CORE POLL IDLE", 0, 0), IdleState("C6", "MWAIT 0x20", 400, 1200))
    plant_idle(tree, [0, 1], states=(slow[0], IdleState("C6", "MWAIT 0x20", 290, 800)))
    plant_idle(tree, [2, 3], states=slow)
    states = read_idle(host, range(4))["states"]
    assert [(state["state"], state["name"], state["latency_us"], state["cpus"]) for state in states] == [
        ("state0", "POLL", 0, "0-3"), ("state1", "C6", 290, "0-1"), ("state1", "C6", 400, "2-3")]


def test_states_are_sorted_by_number(tree, host):
    plant_idle(tree, [0], states=[IdleState(f"S{number}", "", number, number) for number in range(11)])
    for name in ("driver", "state\u00b2", "state", "stateX", "state1234"):
        tree.folder(f"/sys/devices/system/cpu/cpu0/cpuidle/{name}")
    assert [state["state"] for state in read_idle(host, [0])["states"]] == [f"state{number}" for number in range(11)]


def test_state_that_the_driver_ships_disabled(tree, host):
    plant_idle(tree, [0], states=[IdleState("C1E", "MWAIT 0x01", 2, 4, "disabled"),
                                  IdleState("C6", "MWAIT 0x20", 290, 800, None)], driver="intel_idle")
    assert [state["disabled_by_default"] for state in read_idle(host, [0])["states"]] == [True, None]


def test_intel_names(tree, host):
    plant_idle(tree, [0], states=XEON_STATES, driver="intel_idle", governor="teo")
    facts = read_idle(host, [0])
    assert [state["name"] for state in facts["states"]] == ["POLL", "C1", "C1E", "C6"]
    assert (facts["driver"].value, facts["governor"].value) == ("intel_idle", "teo")


def test_older_name_of_the_governor_file(tree, host):
    tree.files("/sys/devices/system/cpu/cpuidle", {"current_driver": "acpi_idle", "current_governor_ro": "menu"})
    assert read_idle(host, [])["governor"].value == "menu"


def test_virtual_machine_has_no_states(tree, host):
    plant_no_frequency(tree)
    facts = read_idle(host, [0, 1])
    assert (facts["driver"].value, facts["states"]) == ("none", [])


def test_unreadable_numbers_are_null(tree, host):
    plant_idle(tree, [0], states=EPYC_STATES[:1])
    tree.file(idle_path(0, 0, "latency"), "n/a").remove(idle_path(0, 0, "residency"))
    state, = read_idle(host, [0])["states"]
    assert (state["latency_us"], state["residency_us"]) == (None, None)


def test_offline_cpus_are_not_asked(tree, monkeypatch):
    plant_idle(tree, [0, 2])
    host, asked = Host(str(tree.root)), []
    monkeypatch.setattr(Host, "list", lambda _self, path: asked.append(path) or [])
    read_idle(host, [0, 2])
    assert asked == ["/sys/devices/system/cpu/cpu0/cpuidle", "/sys/devices/system/cpu/cpu2/cpuidle"]


def test_public_listing_with_c6_disabled(tree, host, field_files):
    for line in (field_files / "cpufreq/cpuidle_states__aws-c6-disabled.txt").read_text().split():
        tree.file(*line.split(":"))
    states = read_idle(host, [0])["states"]
    assert [(state["name"], state["latency_us"], state["disabled_cpus"]) for state in states] == [
        ("POLL", 0, ""), ("C1", 1, ""), ("C1E", 4, ""), ("C6", 170, "0")]


def test_this_machine():
    for state in read_idle(Host(), [0])["states"]:
        assert state["name"]
        assert parse_cpulist(state["cpus"]) == [0]
