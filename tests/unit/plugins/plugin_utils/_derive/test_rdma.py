# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of RDMA devices: down among those that are up, slow among equals, and what nobody can judge."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok
from verdicts import judged

UP, POLLING, DISABLED = ("4: ACTIVE", "5: LinkUp"), ("1: DOWN", "2: Polling"), ("1: DOWN", "3: Disabled")
NDR, HDR, ONE_LANE, SDR = ("400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)", "100 Gb/sec (1X NDR)", "10 Gb/sec (4X SDR)")


def device(number, state=UP, rate=NDR, *, layer="InfiniBand", function=0, model="1021", virtual=False):
    return {"name": f"mlx5_{number}{function or ''}", "bdf": f"0000:{0x10 + number:02x}:00.{function}",
            "node_type": "CA", "vendor": "15b3", "model": model, "virtual_function": virtual, "pcie": ABSENT,
            "port": ABSENT, "netdevs": [],
            "ports": [{"port": "1", "link_layer": ok(layer), "state": ok(state[0]), "phys_state": ok(state[1]),
                       "rate": ok(rate)}]}


def ports_of(*devices):
    return derive(merge(neutral.epyc(), {"rdma": {"devices": list(devices)}}))["derived"]["rdma_ports"]


def said(*devices):
    """Verdict, priority and reason of both checks, by port."""
    facts = merge(neutral.epyc(), {"rdma": {"devices": list(devices)}})
    return {(check, subject): (finding["verdict"], finding["priority"], finding["reason"])
            for (check, subject), finding in judged(facts).items() if check.startswith("rdma_port")}


def test_a_port_that_is_down_while_its_twins_are_up():
    found = said(device(0), device(1), device(2, POLLING, SDR), device(3))
    assert found["rdma_port_state", "nic:mlx5_2"] == (
        "fail", "P1", "1: DOWN, 2: Polling; 3 of 4 similar ports are up")
    assert found["rdma_port_state", "nic:mlx5_0"][:2] == ("pass", "info")
    assert found["rdma_port_rate", "nic:mlx5_2"] == ("not_applicable", "P1", "the port is not up")


def test_a_port_that_was_switched_off_is_information():
    found = said(device(0), device(1), device(2, DISABLED, SDR))
    assert found["rdma_port_state", "nic:mlx5_2"] == (
        "fail", "info", "1: DOWN, administratively down; 2 of 3 similar ports are up")


@pytest.mark.parametrize("devices", [
    # The second ports of cards of which only the first have a cable.
    [device(0), device(1), device(0, POLLING, SDR, function=1), device(1, POLLING, SDR, function=1)],
    [device(0, POLLING, SDR)],                                      # nothing to compare it with
    [device(0), device(1, POLLING, SDR, model="1017")],             # another model
])
def test_ports_that_nobody_uses_are_no_finding(devices):
    ports = [port for port in ports_of(*devices) if port["state"]["value"] == "1: DOWN"]
    assert {(port["judged"], port["missed"]) for port in ports} == {(False, False)}


def test_half_of_them_down_is_told_and_no_alarm():
    found = said(device(0), device(1), device(2, POLLING, SDR), device(3, POLLING, SDR))
    assert found["rdma_port_state", "nic:mlx5_3"] == (
        "fail", "info", "1: DOWN, 2: Polling; 2 of 4 similar ports are up")


def test_a_link_without_a_subnet_manager():
    found = said(device(0, ("2: INIT", "5: LinkUp")))
    assert found["rdma_port_state", "nic:mlx5_0"] == (
        "fail", "P1", "2: INIT, not activated by a subnet manager; 0 of 1 similar ports are up")


@pytest.mark.parametrize("devices, slow", [
    ([device(0), device(1), device(2, rate=HDR)], "200 Gb/s: 2 of its kind run at 400 Gb/s"),
    ([device(0), device(2, rate=HDR)], "200 Gb/s: 1 of its kind runs at 400 Gb/s"),
    ([device(2, rate=ONE_LANE)], "100 Gb/s: only one of four lanes is up"),
    ([device(2, rate=SDR)], "10 Gb/s: it trained to the first generation of InfiniBand"),
])
def test_slow_ports(devices, slow):
    assert said(*devices)["rdma_port_rate", "nic:mlx5_2"] == ("fail", "P1", slow)


@pytest.mark.parametrize("devices", [
    [device(0), device(2)],
    [device(2, rate=HDR)],                                          # nobody knows what the card was sold for
    [device(2, rate="25 Gb/sec (1X EDR)", layer="Ethernet")],       # an Ethernet of 25 Gb/s is one lane
    [device(0, rate=HDR), device(1, rate=HDR), device(2)],          # faster than most
])
def test_ports_that_are_as_fast_as_they_should_be(devices):
    assert said(*devices)["rdma_port_rate", "nic:mlx5_2"][0] == "pass"


def test_what_cannot_be_read_is_unknown_and_hides_no_slow_port():
    unread = device(1)
    unread["ports"][0]["rate"] = lacking("denied")
    found = said(device(0, rate=HDR), unread)
    assert found["rdma_port_rate", "nic:mlx5_0"][0] == "unknown"
    assert found["rdma_port_rate", "nic:mlx5_1"][0] == "unknown"
    assert said(device(0, rate=ONE_LANE), unread)["rdma_port_rate", "nic:mlx5_0"][0] == "fail"


def test_virtual_functions_and_software_devices_are_left_out():
    soft = {**device(1), "bdf": None}
    assert ports_of(device(0, POLLING, virtual=True), soft) == []


def test_a_device_with_two_ports_names_them():
    two = device(0)
    two["ports"].append({**two["ports"][0], "port": "2"})
    assert [port["subject"] for port in ports_of(two)] == [
        "nic:mlx5_0 port 1", "nic:mlx5_0 port 2"]
