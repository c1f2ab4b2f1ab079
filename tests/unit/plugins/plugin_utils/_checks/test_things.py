# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.things import tally, things, without_place

from audit_document import GPUS, finding


def sysfs(subject, file, value="performance", **more):
    made = finding("governor", "fail", subject=subject, **more)
    made["fix"]["change"] = {"address": f"sysfs:/sys/devices/system/cpu/cpufreq/{subject}/{file}", "value": value}
    return made


def test_256_cpus_with_one_wrong_governor_are_one_thing_whatever_was_found():
    wrong = [sysfs(f"policy{number}", "scaling_governor", actual="schedutil" if number % 2 else "powersave")
             for number in range(256)]
    assert [len(members) for members in things(wrong)] == [256]
    assert tally(wrong) == {"things": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                            "places": {"P0": 0, "P1": 0, "P2": 256, "info": 0}}


@pytest.mark.parametrize("other", [
    sysfs("policy1", "scaling_governor", priority="P1"), sysfs("policy1", "scaling_governor", recommended="schedutil"),
    sysfs("policy1", "scaling_max_freq"), sysfs("policy1", "scaling_governor", value="schedutil"),
    sysfs("policy1", "scaling_governor", fix_class="manual"),
    sysfs("policy1", "scaling_governor", how="Look first."),
    sysfs("policy1", "scaling_governor", not_planned_because="it offers only powersave"),
    sysfs("policy1", "scaling_governor", waived={"reason": "a lab", "expires": "2027-01-01"})])
def test_findings_that_differ_in_more_than_the_place_are_two_things(other):
    assert len(things([sysfs("policy0", "scaling_governor"), other])) == 2


def test_what_is_waived_or_passes_is_not_to_do():
    assert tally([finding("a", "pass"), finding("b", "unknown"),
                  finding("c", "fail", waived={"reason": "a lab", "expires": "2027-01-01"})]) == {
        "things": {"P0": 0, "P1": 0, "P2": 0, "info": 0}, "places": {"P0": 0, "P1": 0, "P2": 0, "info": 0}}


@pytest.mark.parametrize("text, subject, wanted", [
    ("sysfs:/sys/bus/pci/devices/0000:41:00.0/power/control", GPUS[4], "sysfs:/sys/bus/pci/devices/?/power/control"),
    ("LnkCtl2 of 0000:41:00.0 and 0000:40:01.1", GPUS[4], "LnkCtl2 of ? and ?"),
    ("Take it out of /etc/pve/lxc/101.conf, then pct reboot 101; 1010 stays", "lxc:101",
     "Take it out of /etc/pve/lxc/?.conf, then pct reboot ?; 1010 stays"),
    ("ethtool -s eth0 autoneg on", "nic:eth0", "ethtool -s ? autoneg on"),
    ("echo 0-31 > /proc/irq/201/smp_affinity_list", GPUS[0], "echo 0-31 > /proc/irq/?/smp_affinity_list"),
    ("prlimit --pid 4711 --memlock=unlimited", "vllm", "prlimit --pid ? --memlock=unlimited"),
    ("systemctl disable --now tlp", "tlp", "systemctl disable --now ?"),
    ("sysctl -w vm.swappiness=10", None, "sysctl -w vm.swappiness=10"),
])
def test_a_place_is_taken_out_of_a_text(text, subject, wanted):
    assert without_place(text, subject) == wanted


def test_a_record_of_the_release_before_has_things_too():
    old = [finding("governor", "fail", subject=f"policy{number}") for number in range(4)]
    for one in old:
        for name in ("commands", "undo_commands", "forbidden"):
            del one["fix"][name]
    assert tally(old)["things"]["P2"] == 1
