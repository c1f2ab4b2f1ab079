# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idle states that take long to leave, on hosts whose CPUs have one table and on those that have several."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.cpuidle import deep_states

from neutral_facts import idle_state


def shown(states):
    return [(state["subject"], state["files"]) for state in deep_states(states)]


def test_one_table_needs_no_list_of_cpus():
    states = [idle_state(0, "POLL", 0, "0-7"), idle_state(1, "C1", 1, "0-7"), idle_state(2, "C2", 800, "0-7")]
    assert shown(states) == [("state2", "/sys/devices/system/cpu/cpu*/cpuidle/state2/disable")]


def test_a_number_that_means_two_states_is_told_by_name_and_latency():
    """state1 of the small cores is shallow: a switch of all CPUs would take it along."""
    states = [idle_state(1, "WFI", 1, "0-1"), idle_state(1, "C4", 1300, "2,4")]
    assert shown(states) == [("state1 (C4, 1300 us)", "/sys/devices/system/cpu/cpu2/cpuidle/state1/disable "
                                                      "/sys/devices/system/cpu/cpu4/cpuidle/state1/disable")]
    assert deep_states(states)[0]["persist"] == (
        "w /sys/devices/system/cpu/cpu2/cpuidle/state1/disable - - - - 1\n"
        "w /sys/devices/system/cpu/cpu4/cpuidle/state1/disable - - - - 1")


def test_a_number_that_only_some_cpus_have_needs_no_list():
    states = [idle_state(1, "C1", 1, "0-3"), idle_state(2, "C6", 290, "0-1")]
    assert shown(states) == [("state2", "/sys/devices/system/cpu/cpu*/cpuidle/state2/disable")]


def test_what_is_not_known_is_not_deep():
    assert shown([{**idle_state(1, "C1", 1, "0"), "latency_us": None}, idle_state(2, "C2", 100, "0")]) == []
