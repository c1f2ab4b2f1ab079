# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs compared with what they could do and with each other."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.cpu import (
    frequency_limits,
    odd_policies,
    open_vulnerabilities,
)

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok


def policies(*changes, driver="amd-pstate-epp"):
    return [merge(neutral.policy(number, driver, "performance", ["performance"]), change)
            for number, change in enumerate(changes)]


def limited(*changes, driver="amd-pstate-epp"):
    """Name, highest clock and ceiling of each entry, statuses in place of values."""
    def message(reading):
        return reading["value"] if reading["status"] == "ok" else reading["status"]
    return [(entry["name"], message(entry["max_khz"]), message(entry["ceiling_khz"]))
            for entry in frequency_limits({"policies": policies(*changes, driver=driver)})]


FREE = ("policies", 5000000, 5000000)


@pytest.mark.parametrize("changes, found", [
    (({}, {}), [FREE]),
    (({}, {"max_khz": ok(4999000)}), [("policies", 4999000, 4999000)]),
    (({}, {"max_khz": ok(2400000)}), [("policy1", 2400000, 5000000), FREE]),
    (({"max_khz": ok(2400000)},), [("policy0", 2400000, 5000000)]),
    # Preferred cores may go higher than the others: each is held against its own.
    (({"max_khz": ok(5700000), "hardware_max_khz": ok(5700000)}, {}), [FREE]),
    (({}, {"max_khz": lacking("denied")}), [("policy1", "denied", 5000000), FREE]),
    (({}, {"hardware_max_khz": lacking("denied")}), [("policy1", 5000000, "denied"), FREE]),
    (({}, {"driver": lacking("denied")}), [("policy1", 5000000, "denied"), FREE]),
    ((), []),
])
def test_limits(changes, found):
    assert limited(*changes) == found


NOMINAL = {"max_khz": ok(2450000), "hardware_max_khz": ok(3529000)}


@pytest.mark.parametrize("changes, found", [
    # cpuinfo_max_freq has the boost in it, scaling_max_freq has not: that is no limit.
    ((NOMINAL, NOMINAL), [("policies", 2450000, 2450000)]),
    ((NOMINAL, {**NOMINAL, "max_khz": ok(1500000)}), [("policy1", 1500000, 2450000), ("policies", 2450000, 2450000)]),
    (({**NOMINAL, "max_khz": ok(1500000), "bios_limit_khz": ok(2450000)},), [("policy0", 1500000, 2450000)]),
    (({**NOMINAL, "max_khz": ok(2000000), "bios_limit_khz": ok(2000000)},), [("policies", 2000000, 2000000)]),
    (({**NOMINAL, "bios_limit_khz": lacking("denied")},), [("policy0", 2450000, "denied")]),
    ((NOMINAL, {**NOMINAL, "max_khz": lacking("denied")}),
     [("policy0", 2450000, "denied"), ("policy1", "denied", "denied")]),
])
def test_limits_under_acpi_cpufreq(changes, found):
    assert limited(*changes, driver="acpi-cpufreq") == found


@pytest.mark.parametrize("changes, sentences", [
    (({}, {}), []),
    (({}, {}, {}, {"governor": ok("ondemand")}, {"governor": ok("ondemand")}),
     ["governor is ondemand on CPUs 3-4, performance on 3 others"]),
    (({"boost": ok(0)}, {"boost": ok(1)}), ["boost is 0 on CPUs 0, 1 on CPUs 1"]),
    (({"min_khz": ok(2000000)}, {}, {}), ["lowest clock (kHz) is 2000000 on CPUs 0, 1500000 on 2 others"]),
    (({"epp": ok("power")}, {"epp": ABSENT}, {"epp": ABSENT}),
     ["energy performance preference is power on CPUs 0, absent on 2 others"]),
])
def test_a81_odd_ones_are_named_with_their_cpus(changes, sentences):
    """A-81."""
    assert odd_policies(policies(*changes), []) == ok(sentences)


LARGE = {"min_khz": ok(1378000), "hardware_min_khz": ok(1378000), "max_khz": ok(3900000),
         "hardware_max_khz": ok(3900000)}


def test_b01_two_kinds_of_cores_are_no_inconsistency():
    """B-01."""
    assert odd_policies(policies({}, {}, LARGE, LARGE), []) == ok([])
    assert [entry["cpus"] for entry in frequency_limits({"policies": policies({}, {}, LARGE, LARGE)})] == [
        "4 policies have a maximum of 3900000 kHz (2) and 5000000 kHz (2)"]


def test_b01_an_odd_one_within_its_kind_is_named():
    """B-01."""
    odd = {**LARGE, "min_khz": ok(2000000)}
    assert odd_policies(policies({}, {}, LARGE, LARGE, odd), []) == ok(
        ["lowest clock (kHz) is 2000000 on CPUs 4, 1378000 on 2 others"])


def test_kinds_with_the_same_limits_are_compared_apart():
    kinds = [{"name": "performance cores", "cpus": "0-1"}, {"name": "efficient cores", "cpus": "2-3"}]
    clocks = [{"min_khz": ok(800000)}, {"min_khz": ok(800000)}, {"min_khz": ok(400000)}, {"min_khz": ok(400000)}]
    assert odd_policies(policies(*clocks), kinds) == ok([])
    # A setting is compared across all of them.
    assert odd_policies(policies({}, {}, {}, {"governor": ok("ondemand")}), kinds) == ok(
        ["governor is ondemand on CPUs 3, performance on 3 others"])


def test_many_clocks_are_told_as_a_range():
    preferred = [{"max_khz": ok(khz), "hardware_max_khz": ok(khz)} for khz in (5000000, 5100000, 5200000, 5300000)]
    assert [entry["cpus"] for entry in frequency_limits({"policies": policies(*preferred)})] == [
        "4 policies have a maximum of 5000000 to 5300000 kHz, each to its own"]


def test_policies_that_could_not_be_read_are_not_compared():
    assert odd_policies(policies({}, {"epp": lacking("denied")}), []) == lacking("denied")


def test_what_the_kernel_calls_vulnerable():
    reading = ok([{"name": "mds", "state": "Vulnerable: Clear CPU buffers attempted, no microcode"},
                  {"name": "itlb_multihit", "state": "Processor vulnerable"},
                  {"name": "itlb_multihit", "state": "KVM: Vulnerable"},
                  {"name": "l1tf", "state": "Mitigation: PTE Inversion; VMX: vulnerable"},
                  {"name": "tsa", "state": "Not affected"}])
    assert open_vulnerabilities(reading) == ok([
        "mds: Vulnerable: Clear CPU buffers attempted, no microcode", "itlb_multihit: KVM: Vulnerable"])
    assert open_vulnerabilities(lacking("denied")) == lacking("denied")
