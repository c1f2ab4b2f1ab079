# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fabric a host has by its devices, and what its daemons lack by what is known of them."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.faults.fabric import (
    fabric,
    fabric_kind,
    manages_nvswitches,
)

NAMES = ("nvidia-fabricmanager", "nvlsm", "nvidia-imex")


def gpu(model="NVIDIA H100 80GB HBM3", device="2330", state=None, answered=True):
    seen = {"fabric_state": state, "fabric_status": None, "fabric_health": None}
    return {"bdf": "0000:18:00.0", "vendor": "10de", "model": model, "device": device, "derived": {
        "nvidia_smi": {"status": "ok", "value": seen} if answered else {"status": "timeout", "value": None}}}


def facts(*drivers, kind="bare_metal", states=(), **daemons):
    """`drivers` of the NVSwitches; `daemons` by name: what is different about one that is installed, enabled, runs."""
    return {"identity": {"kind": kind}, "rdma": {"devices": []}, "nvidia": {
        "smi": {"gpus": [{"bdf": "0000:18:00.0", "fabric_state": state} for state in states]},
        "fabric": {"switches": [{"bdf": f"0000:c{number}:00.0", "driver": driver}
                                for number, driver in enumerate(drivers)],
                   "services": [{"service": name, "installed": True, "enabled": True, "masked": False,
                                 "running": True, **daemons.get(name.replace("-", "_"), {})} for name in NAMES]}}}


@pytest.mark.parametrize("given, gpus, kind", [
    (facts("nvidia-nvswitch"), [gpu()], "nvswitch"),
    (facts(None), [gpu()], "nvswitch"),
    (facts("vfio-pci"), [gpu()], None),
    (facts("nvidia-nvswitch"), [], "nvswitch"),
    (facts(None), [], None),
    (facts(), [gpu("NVIDIA B200", "2901")], "nvlink5"),
    (facts(), [gpu(None, "2901")], "nvlink5"),
    (facts(), [gpu("NVIDIA B300 SXM6 AC", "3182")], "nvlink5"),
    (facts(), [gpu("NVIDIA GB200", "2941")], "rack"),
    (facts(), [gpu("NVIDIA GB300", "31c2")], "rack"),
    (facts(), [gpu("NVIDIA GB10", "2e12")], None),
    (facts(), [gpu("NVIDIA H100 PCIe", "2331")], None),
    (facts(), [gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", "2bb5")], None),
    (facts(), [gpu("NVIDIA GeForce RTX 4090", "2684")], None),
])
def test_which_fabric_it_is(given, gpus, kind):
    assert fabric_kind(given, gpus) == kind


STOPPED, NOT_SEEN = {"running": False}, {"running": None}


@pytest.mark.parametrize("given, problems, broken", [
    (facts("nvidia-nvswitch"), {"nvidia-fabricmanager": []}, set()),
    (facts("nvidia-nvswitch", nvidia_fabricmanager=STOPPED), {"nvidia-fabricmanager": ["not running"]},
     {"nvidia-fabricmanager"}),
    (facts("nvidia-nvswitch", nvidia_fabricmanager={**STOPPED, "masked": True, "enabled": False}),
     {"nvidia-fabricmanager": ["masked"]}, {"nvidia-fabricmanager"}),
    (facts("nvidia-nvswitch", nvidia_fabricmanager={**STOPPED, "installed": False, "enabled": False}),
     {"nvidia-fabricmanager": ["not installed"]}, {"nvidia-fabricmanager"}),
    (facts("nvidia-nvswitch", states=["Completed"], nvidia_fabricmanager={**STOPPED, "installed": False,
                                                                          "enabled": False}),
     {"nvidia-fabricmanager": []}, set()),
    (facts("nvidia-nvswitch", nvidia_fabricmanager=NOT_SEEN), {"nvidia-fabricmanager": None}, set()),
    (facts("nvidia-nvswitch", states=["Completed"], nvidia_fabricmanager=NOT_SEEN), {"nvidia-fabricmanager": []},
     set()),
    (facts("nvidia-nvswitch", kind="vm", nvidia_fabricmanager=STOPPED), {}, set()),
])
def test_the_daemon_of_nvswitches_on_this_host(given, problems, broken):
    found = fabric(given, [gpu()])["services"]
    assert {service["service"]: service["problems"]["value"] for service in found} == problems
    assert {service["service"] for service in found if service["broken"]} == broken


def test_a_baseboard_of_b200_needs_two_and_one_of_them_starts_the_other():
    given = facts(nvlsm={"enabled": False, "running": False})
    assert [(service["service"], service["problems"]["value"], service["broken"])
            for service in fabric(given, [gpu("NVIDIA B200", "2901")])["services"]] == [
        ("nvidia-fabricmanager", [], False), ("nvlsm", ["not running"], True)]


@pytest.mark.parametrize("daemon, state, problems", [
    ({}, "Completed", [[]]), (STOPPED, "Completed", [["not running"]]), (NOT_SEEN, "Completed", [None]),
    (STOPPED, None, []),        # a board of four whose GPUs are joined without NVSwitches
])
def test_a_rack_needs_imex_where_its_gpus_are_on_a_fabric(daemon, state, problems):
    found = fabric(facts(states=[state], nvidia_imex=daemon), [gpu("NVIDIA GB200", "2941", state)])["services"]
    assert [service["problems"]["value"] for service in found] == problems
    assert not any(service["broken"] for service in found)


def test_gpus_that_would_tell_if_nvidia_smi_answered():
    assert fabric(facts(), [gpu(answered=False)])["gpus"] == []
    waiting, = fabric(facts("nvidia-nvswitch"), [gpu(answered=False)])["gpus"]
    assert (waiting["problems"], waiting["broken"]) == ({"status": "timeout", "value": None}, False)


def card(netdevs=(), width=16, vendor="15b3", layer="InfiniBand"):
    return {"vendor": vendor, "netdevs": list(netdevs), "virtual_function": False,
            "ports": [{"link_layer": {"status": "ok", "value": layer}}],
            "pcie": {"status": "ok", "value": {"link": {"width": width}}}}


@pytest.mark.parametrize("device, others, model, manages", [
    (card(width=2), [], "NVIDIA B200", True),
    (card(), [card(["ib0"])], "NVIDIA B200", True),
    (card(), [card()], "NVIDIA B200", False),           # nothing tells them apart: all stay cards
    (card(["ib0"], width=2), [], "NVIDIA B200", False),
    (card(width=2, layer="Ethernet"), [], "NVIDIA B200", False),
    (card(width=2, vendor="14e4"), [], "NVIDIA B200", False),
    (card(width=2), [], "NVIDIA H100 80GB HBM3", False),
])
def test_what_manages_nvswitches(device, others, model, manages):
    given = {**facts(), "rdma": {"devices": [device, *others]}}
    assert manages_nvswitches(device, given, [gpu(model, "0000")]) is manages
