# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment switches together, what it leaves out, and what it refuses."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.toggles import choose, make_toggles

POLICY = "sysfs:/sys/devices/system/cpu/cpufreq/policy{}/{}"
THP = "sysfs:/sys/kernel/mm/transparent_hugepage/enabled"


def change(address, check=None, takes_effect="at_once", subject=None, outcome="would_change", wanted="1"):
    return {"address": address, "check": check, "subject": subject, "takes_effect": takes_effect, "outcome": outcome,
            "wanted": wanted, "before": "0"}


def toggles(*changes, mode="one_at_a_time", anew=True):
    made, left_out = make_toggles(changes, mode, anew)
    return [(one.name, one.addresses) for one in made], [tuple(one) for one in left_out]


def test_sysctls_and_attributes_are_toggles_of_their_own():
    made, left_out = toggles(change("sysctl:vm.swappiness", "swappiness"), change("sysctl:vm.laptop_mode"),
                             change(THP, "thp"))
    assert made == [("swappiness", ["sysctl:vm.swappiness"]), ("sysctl:vm.laptop_mode", ["sysctl:vm.laptop_mode"]),
                    ("thp", [THP])]
    assert left_out == []


def test_one_check_is_one_toggle_on_all_its_devices():
    governors = [change(POLICY.format(cpu, "scaling_governor"), "governor", subject=f"policy{cpu}")
                 for cpu in range(64)]
    made, left_out = make_toggles(governors, "one_at_a_time", True)
    assert [(one.name, len(one.changes), len(one.checks)) for one in made] == [("governor", 64, 64)]
    assert made[0].checks[63] == ("governor", "policy63")
    assert left_out == []


@pytest.mark.parametrize("coupled", [
    ("sysctl:vm.dirty_ratio", "sysctl:vm.dirty_bytes"),
    ("sysctl:vm.dirty_background_ratio", "sysctl:vm.dirty_background_bytes"),
    ("sysctl:kernel.watchdog", "sysctl:kernel.nmi_watchdog"),
    (POLICY.format(0, "scaling_governor"), POLICY.format(0, "energy_performance_preference")),
    (POLICY.format(0, "scaling_max_freq"), "sysfs:/sys/devices/system/cpu/cpufreq/boost"),
    ("sysfs:/sys/devices/system/cpu/intel_pstate/no_turbo", POLICY.format(3, "scaling_min_freq")),
    ("sysfs:/sys/devices/system/cpu/cpu0/cpuidle/state3/disable",
     "sysfs:/sys/devices/system/cpu/cpu1/cpuidle/state3/disable"),
])
def test_what_the_kernel_couples_stays_together(coupled):
    made, _left_out = toggles(change(coupled[0]), change("sysctl:vm.swappiness"), change(coupled[1]))
    assert sorted(addresses for _name, addresses in made) == sorted([list(coupled), ["sysctl:vm.swappiness"]])


def test_a_chain_of_couplings_is_one_toggle():
    made, _left_out = toggles(change(POLICY.format(0, "scaling_governor"), "governor"),
                              change(POLICY.format(0, "energy_performance_preference"), "preference"),
                              change(POLICY.format(1, "energy_performance_preference"), "preference"))
    assert [(name, len(addresses)) for name, addresses in made] == [("governor + preference", 3)]


def test_different_attributes_of_one_folder_are_not_coupled():
    made, _left_out = toggles(change("sysfs:/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"),
                              change("sysfs:/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled"))
    assert len(made) == 2


def test_links_and_modules_are_compared_with_the_plan_alone():
    register = change("pcie_maxreadreq:0000:41:00.0", "pcie_maxreadreq", wanted=4096)
    made, left_out = toggles(register, change("sysctl:vm.swappiness"))
    assert [name for name, _addresses in made] == ["sysctl:vm.swappiness"]
    assert left_out == [("pcie_maxreadreq:0000:41:00.0", "MaxReadReq and modules are compared only as part of the "
                                                         "whole plan (gpuhost_experiment_mode: plan)")]
    whole, none = toggles(register, change("module:nvidia_peermem", wanted="present"), mode="plan")
    assert [name for name, _addresses in whole] == ["pcie_maxreadreq", "module:nvidia_peermem"]
    assert none == []


def test_a_workload_that_goes_on_does_not_feel_everything():
    made, left_out = toggles(change("sysctl:vm.swappiness"), change(THP, "thp", "new_allocations"), anew=False)
    assert [name for name, _addresses in made] == ["sysctl:vm.swappiness"]
    (address, reason), = left_out
    assert address == THP
    assert reason.startswith("cannot be compared fairly: it takes effect with new_allocations")


def test_an_unknown_effect_is_taken_for_the_slowest():
    made, _left_out = make_toggles([change("sysctl:vm.laptop_mode", takes_effect=None)], "plan", True)
    assert made[0].takes_effect == "workload_restart"
    with pytest.raises(ValueError, match=r"nothing to compare: sysctl:vm.laptop_mode: cannot be compared fairly"):
        make_toggles([change("sysctl:vm.laptop_mode", takes_effect=None)], "plan", False)


def test_the_slowest_change_of_a_toggle_decides():
    made, _left_out = make_toggles([change("sysctl:vm.dirty_ratio", "dirty"),
                                    change("sysctl:vm.dirty_bytes", "bytes", "new_allocations")], "plan", True)
    assert [one.takes_effect for one in made] == ["new_allocations"]


def test_at_most_eight_one_by_one():
    nine = [change(f"sysctl:net.core.made_up_{number}") for number in range(9)]
    assert len(make_toggles(nine[:8], "one_at_a_time", True)[0]) == 8
    assert len(make_toggles(nine, "plan", True)[0]) == 9
    with pytest.raises(ValueError, match=r"9 toggles are planned, and at most 8 can be compared individually: "
                                         r".*Select"):
        make_toggles(nine, "leave_one_out", True)


def test_nothing_planned_is_said():
    with pytest.raises(ValueError, match="nothing to compare: nothing would be changed on this host"):
        make_toggles([], "plan", True)


def test_the_user_names_some_of_the_plan():
    planned = [change("sysctl:vm.swappiness", "swappiness"), change("sysctl:vm.laptop_mode"),
               change(THP, "thp", outcome="skipped")]
    assert [one["address"] for one in choose(planned, [])] == ["sysctl:vm.swappiness", "sysctl:vm.laptop_mode"]
    assert [one["address"] for one in choose(planned, ["swappiness"])] == ["sysctl:vm.swappiness"]
    assert [one["address"] for one in choose(planned, ["sysctl:vm.laptop_mode"])] == ["sysctl:vm.laptop_mode"]
    with pytest.raises(ValueError, match=r"lists thp, which is not planned on this host. Planned: swappiness, sysct"):
        choose(planned, ["thp"])
