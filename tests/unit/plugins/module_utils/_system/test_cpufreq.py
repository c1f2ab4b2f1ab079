# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ABSENT, Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.cpufreq import (
    parse_has_amd_pstate,
    read_frequency,
    read_kernel_has_amd_pstate,
    read_policies,
)

from hosts.arm import plant_cppc
from hosts.cpu import plant_frequency, plant_no_frequency, policy_path
from hosts.kernel import plant_kernel_config

RELEASE = ok("6.8.12-9-pve")
NO_SWITCH = Reading(ABSENT)


def test_acpi_cpufreq(tree, host):
    plant_frequency(tree, [0], driver="acpi-cpufreq", governor="schedutil", boost=1, bios_limit_khz=3300000)
    facts = read_frequency(host, RELEASE)
    assert facts["drivers"] == ["acpi-cpufreq"]
    assert facts["boost"].value == 1
    policy, = facts["policies"]
    assert policy["policy"] == "policy0"
    assert policy["cpus"] == "0"
    assert policy["driver"].value == "acpi-cpufreq"
    assert policy["governor"].value == "schedutil"
    assert policy["governors"].value == [
        "conservative", "ondemand", "userspace", "powersave", "performance", "schedutil"]
    assert (policy["min_khz"].value, policy["max_khz"].value) == (1500000, 3300000)
    assert (policy["hardware_min_khz"].value, policy["hardware_max_khz"].value) == (1500000, 3300000)
    assert policy["bios_limit_khz"].value == 3300000
    assert {policy[name].status for name in ("epp", "epps", "boost")} == {"absent"}
    assert {facts[name].status for name in ("amd_pstate", "intel_pstate", "no_turbo")} == {"absent"}


def test_active_amd_pstate(tree, host):
    plant_frequency(tree, [0], driver="amd-pstate-epp", governor="powersave", epp="balance_performance",
                    amd_pstate="active", boost=None, policy_boost=1)
    facts = read_frequency(host, RELEASE)
    assert facts["amd_pstate"].value == "active"
    assert facts["boost"].status == "absent"
    policy, = facts["policies"]
    assert policy["governors"].value == ["performance", "powersave"]
    assert policy["epp"].value == "balance_performance"
    assert policy["epps"].value == ["default", "performance", "balance_performance", "balance_power", "power"]
    assert policy["boost"].value == 1
    assert policy["bios_limit_khz"].status == "absent"


def test_intel_pstate_with_turbo_off(tree, host):
    plant_frequency(tree, [0], driver="intel_pstate", governor="powersave", epp="balance_power", boost=None,
                    intel_pstate="active", no_turbo=1)
    facts = read_frequency(host, RELEASE)
    assert (facts["intel_pstate"].value, facts["no_turbo"].value) == ("active", 1)
    assert facts["boost"].status == "absent"


def test_policies_are_sorted_by_number(tree, host):
    plant_frequency(tree, [10, 9, 100, 1])
    tree.folder("/sys/devices/system/cpu/cpufreq/ondemand").folder("/sys/devices/system/cpu/cpufreq/policyX")
    names = [policy["policy"] for policy in read_policies(host, NO_SWITCH)]
    assert names == ["policy1", "policy9", "policy10", "policy100"]


def test_a_policy_of_several_cpus(tree, host):
    plant_frequency(tree, [4])
    tree.file(policy_path(4, "affected_cpus"), "4 5 6 132 ")
    assert read_policies(host, NO_SWITCH)[0]["cpus"] == "4-6,132"


@pytest.mark.parametrize(("text", "cpus"), [("<none>", "3"), ("\u00b2 7", "7"), ("9" * 5000, "3")])
def test_odd_text_leaves_the_cpu_that_names_the_policy(tree, host, text, cpus):
    plant_frequency(tree, [3])
    tree.file(policy_path(3, "affected_cpus"), text)
    assert read_policies(host, NO_SWITCH)[0]["cpus"] == cpus


def test_policy_without_a_cpu_that_is_online_is_left_out(tree, host):
    plant_frequency(tree, [0, 1])
    tree.file(policy_path(1, "affected_cpus"), "\n")
    assert [policy["policy"] for policy in read_policies(host, NO_SWITCH)] == ["policy0"]


def test_folder_without_a_driver_is_no_policy(tree, host):
    plant_frequency(tree, [0])
    tree.file(policy_path(1, "cpuinfo_cur_freq"), "1200195")
    assert [policy["policy"] for policy in read_policies(host, NO_SWITCH)] == ["policy0"]


def test_one_policy_that_differs_is_seen(tree, host):
    plant_frequency(tree, range(256), governor="performance")
    for cpu in (12, 77, 140):
        tree.file(policy_path(cpu, "scaling_governor"), "schedutil")
    odd = [policy["cpus"] for policy in read_policies(host, NO_SWITCH) if policy["governor"].value != "performance"]
    assert odd == ["12", "77", "140"]


def test_two_drivers_are_both_named(tree, host):
    plant_frequency(tree, [0, 1], driver="amd-pstate")
    tree.file(policy_path(1, "scaling_driver"), "acpi-cpufreq")
    assert read_frequency(host, RELEASE)["drivers"] == ["acpi-cpufreq", "amd-pstate"]


def test_virtual_machine_has_the_folder_and_nothing_in_it(tree, host):
    plant_no_frequency(tree)
    facts = read_frequency(host, RELEASE)
    assert (facts["policies"], facts["drivers"]) == ([], [])
    assert facts["boost"].status == "absent"


class OfflineCpus(Host):
    """A kernel whose policies of some CPUs are inactive: every read of their files is EBUSY (cpufreq.c show())."""

    inactive = ("policy239",)

    def read_bytes(self, path, *rest):
        if path.split("/")[-2] in self.inactive:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return super().read_bytes(path, *rest)


def test_policy_of_an_offline_cpu_is_left_out(tree):
    plant_frequency(tree, [238, 239, 240])
    found = read_policies(OfflineCpus(str(tree.root)), NO_SWITCH)
    assert [policy["policy"] for policy in found] == ["policy238", "policy240"]


def test_policy_that_cannot_be_read_for_another_reason_is_shown(tree, host):
    plant_frequency(tree, [0])
    tree.remove(policy_path(0, "affected_cpus"))
    policy, = read_policies(host, NO_SWITCH)
    assert (policy["policy"], policy["cpus"]) == ("policy0", "0")


@pytest.mark.parametrize(("highest", "boost", "headroom"), [
    (331, 0, ("ok", 0.0)), (400, 0, ("ok", 20.8)), (331, 1, ("absent", None)), (None, 0, ("absent", None))])
def test_how_far_a_core_can_go_above_its_nominal_clock(tree, host, highest, boost, headroom):
    plant_frequency(tree, [0], boost=boost)
    if highest is not None:
        plant_cppc(tree, [0], nominal=331, highest=highest)
    policy, = read_frequency(host, RELEASE)["policies"]
    assert policy["headroom"][:2] == headroom


def test_number_that_is_none_is_unparsable(tree, host):
    plant_frequency(tree, [0])
    tree.file(policy_path(0, "scaling_max_freq"), "<unknown>")
    assert read_policies(host, NO_SWITCH)[0]["max_khz"].status == "unparsable"


@pytest.mark.parametrize(("amd_pstate", "there"), [(True, True), (False, False)])
def test_kernel_configuration_tells(tree, host, amd_pstate, there):
    plant_kernel_config(tree, "6.8.12-9-pve", amd_pstate=amd_pstate)
    assert read_kernel_has_amd_pstate(host, RELEASE).value is there


def test_configuration_of_another_kernel_does_not_tell(tree, host):
    plant_kernel_config(tree, "6.11.11-2-pve")
    reading = read_kernel_has_amd_pstate(host, RELEASE)
    assert (reading.status, reading.detail) == ("absent", "the configuration of kernel 6.8.12-9-pve is not installed")


def test_configuration_beside_the_modules(tree, host):
    tree.file("/lib/modules/6.8.12-9-pve/config", "CONFIG_X86_AMD_PSTATE=m")
    assert read_kernel_has_amd_pstate(host, RELEASE).value is True


def test_builtin_list_can_say_yes_and_never_no(tree, host):
    tree.file("/lib/modules/6.8.12-9-pve/modules.builtin", "kernel/drivers/cpufreq/acpi-cpufreq.ko")
    assert read_kernel_has_amd_pstate(host, RELEASE).status == "absent"
    tree.file("/lib/modules/6.8.12-9-pve/modules.builtin", "kernel/drivers/cpufreq/amd-pstate.ko")
    assert read_kernel_has_amd_pstate(host, RELEASE).value is True


def test_driver_that_runs_needs_no_configuration(tree, host):
    plant_frequency(tree, [0], driver="amd-pstate", amd_pstate="passive")
    assert read_frequency(host, RELEASE)["kernel_has_amd_pstate"].value is True


def test_unreadable_release_is_passed_on(host):
    assert read_kernel_has_amd_pstate(host, Reading("denied")).status == "denied"


@pytest.mark.parametrize(("config", "there"), [
    ("CONFIG_X86_AMD_PSTATE=y", True),
    ("CONFIG_X86_AMD_PSTATE=m\n", True),
    ("# CONFIG_X86_AMD_PSTATE is not set", False),
    ("CONFIG_X86_AMD_PSTATE_UT=m", False),
    ("CONFIG_X86_AMD_PSTATE_DEFAULT_MODE=3", False),
    ("", False),
])
def test_configuration_lines(config, there):
    assert parse_has_amd_pstate(config) is there


def test_this_machine():
    for policy in read_frequency(Host(), ok(os.uname().release))["policies"]:
        assert policy["cpus"]
        assert policy["driver"].ok
