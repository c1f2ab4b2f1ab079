# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory errors as a rate, and what can be seen of the firmware."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.hardware import firmware_settings, memory_errors

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok

DAY = 86400


def errors(*changes):
    return memory_errors({"controllers": ok([merge(neutral.controller(number), change)
                                             for number, change in enumerate(changes)])})


def module(name, correctable):
    return {"module": name, "correctable": correctable, "uncorrectable": 0}


@pytest.mark.parametrize("changes, uncorrectable, a_day, where", [
    (({}, {}), 0, 0.0, None),
    (({"correctable": ok(40)},), 0, 4.0, "mc0"),
    (({"correctable": ok(40), "modules": [module("A1", 35), module("B1", 5)]}, {"correctable": ok(37)}), 0, 3.7, "mc1"),
    (({"correctable": ok(3), "seconds": ok(3600)},), 0, 3.0, "mc0"),
    (({"correctable": ok(36), "seconds": ok(3 * DAY)},), 0, 12.0, "mc0"),
    (({"uncorrectable": ok(1)}, {"uncorrectable": ok(2)}), 3, 0.0, None),
    (({"seconds": ABSENT, "correctable": ok(8)},), 0, 8.0, "mc0"),
])
def test_errors_as_a_rate(changes, uncorrectable, a_day, where):
    assert errors(*changes) == {"uncorrectable": ok(uncorrectable), "a_day": ok(a_day), "where": where}


@pytest.mark.parametrize("found, status", [
    (memory_errors({"controllers": lacking("absent")}), "absent"),
    (memory_errors({"controllers": lacking("denied")}), "denied"),
    (errors({}, {"uncorrectable": lacking("unparsable")}), "unparsable"),
    (errors({"seconds": lacking("denied")}), "denied")])
def test_what_nobody_counted_is_no_zero(found, status):
    assert found == {"uncorrectable": lacking(status), "a_day": lacking(status), "where": None}


def test_what_can_be_seen_of_a_server():
    found = firmware_settings(neutral.epyc())
    assert found["hinders"] == ok([])
    assert found["seen"] == ("SMT on, nodes per socket 1, IOMMU on, CPPC on, boost on according to the kernel, "
                             "deepest idle state C2, BARs above 4 GiB yes, Secure Boot no")
    assert "cTDP" in found["unseen"]


def test_what_cannot_be_told_is_unknown_not_off():
    facts = merge(neutral.epyc(), {"gpus": [{"bars": lacking("denied")}], "boot": {"secure_boot": ABSENT}, "cpu": {
        "acpi_cppc": False, "flags": {"cppc": False}, "frequency": {"boost": ABSENT}, "idle": {"states": []},
        "smt": {"control": ABSENT}, "sockets": None}, "iommu": {"active": ABSENT}})
    facts["cpu"]["idle"]["states"] = []
    assert firmware_settings(facts)["seen"] == (
        "SMT unknown, nodes per socket unknown, IOMMU unknown, CPPC unknown, boost unknown, "
        "deepest idle state unknown, BARs above 4 GiB unknown, Secure Boot unknown")
    assert firmware_settings(facts)["hinders"] == lacking("absent")
    facts["iommu"]["active"] = ok(False)
    assert "IOMMU off, or disabled at boot" in firmware_settings(facts)["seen"]
    assert firmware_settings(facts)["hinders"] == ok([])
    facts["cpu"].update(online=None)
    facts["cpu"]["flags"]["cppc"] = True
    assert firmware_settings(facts)["hinders"] == lacking("absent")
    facts["cpu"].update(vendor=None, model_name=None)
    assert firmware_settings(facts)["hinders"] == lacking("absent")


def test_a_processor_whose_firmware_hides_cppc():
    found = firmware_settings(merge(neutral.epyc(), {"cpu": {"acpi_cppc": False}}))
    assert found["hinders"] == ok(["CPPC is off: the processor supports it but the firmware does not provide it "
                                   "(_CPC)"])
    assert "CPPC off" in found["seen"]


@pytest.mark.parametrize("vendor, named, others", [
    ("AuthenticAMD", "xGMI width and speed", "UPI"), ("GenuineIntel", "UPI link power management", "xGMI"),
    (None, "power limits, bifurcation, fans", "xGMI")])
def test_settings_that_cannot_be_seen_are_those_of_the_processor_s_vendor(vendor, named, others):
    unseen = firmware_settings(merge(neutral.epyc(), {"cpu": {"vendor": vendor}}))["unseen"]
    assert named in unseen and others not in unseen
