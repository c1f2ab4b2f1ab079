# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the shipped profiles want and plan, written down by hand."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import FOLDER, load_profile, shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.effective import effective_checks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.user_yaml import read_own
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError

MISSION = {
    "numa_balancing", "nmi_watchdog", "sched_autogroup_enabled", "swappiness", "dirty_ratio", "dirty_background_ratio",
    "rmem_max", "wmem_max", "cpu_governor", "cpu_epp", "cpu_boost", "thp_enabled", "pcie_maxreadreq"}
BESIDE = {"zone_reclaim_mode", "thp_defrag", "thp_size", "thp_shmem", "somaxconn", "netdev_max_backlog",
          "nvidia_peermem"}
OF_A_HOST_ALONE = {"ksm", "overcommit_memory", "max_map_count"}
CONTESTED = {"numa_balancing", "swappiness", "dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max",
             "thp_enabled", "pcie_maxreadreq"}


def planned(name):
    effective = effective_checks(shipped(), load_profile(name), {}, ())
    return {check for check, its in effective.items() if its.check.fix.kind == "runtime" and its.left_out is None}


@pytest.mark.parametrize("name, ids", [
    ("inference", MISSION | BESIDE),
    ("conservative", (MISSION | BESIDE) - CONTESTED),
    ("full", MISSION | BESIDE | OF_A_HOST_ALONE | {"cpu_frequency_limits", "pcie_aspm"}),
    ("training_rdma", (MISSION | BESIDE) - {"dirty_ratio", "dirty_background_ratio"}),
])
def test_what_a_profile_may_plan(name, ids):
    assert planned(name) == ids


def test_a_profile_may_name_a_kind_that_is_planned_on_request(tmp_path):
    path = tmp_path / "own.yml"
    path.write_text("name: own\ndescription: Moves guests\nextends: inference\nplan: [guest_affinity]\n")
    assert load_profile(str(path)).plan - load_profile("inference").plan == {"guest_affinity"}
    path.write_text("name: own\ndescription: Moves guests\nonly: [guest_affinity]\n")
    with pytest.raises(CatalogueError, match="there is no check 'guest_affinity'"):
        load_profile(str(path))


def test_before_a_reboot_nothing_is_planned():
    assert planned("before_reboot") == set()


@pytest.mark.parametrize("check, value", [
    ("numa_balancing", 0), ("nmi_watchdog", 0), ("sched_autogroup_enabled", 0), ("swappiness", 10), ("dirty_ratio", 10),
    ("dirty_background_ratio", 5), ("rmem_max", 16777216), ("wmem_max", 16777216), ("cpu_governor", "performance"),
    ("cpu_epp", "performance"), ("cpu_boost", True), ("pcie_maxreadreq", 4096)])
def test_values_of_the_default_profile(check, value):
    assert effective_checks(shipped(), load_profile("inference"), {}, ())[check].wanted == value


def test_a_training_node_gets_larger_socket_buffers():
    effective = effective_checks(shipped(), load_profile("training_rdma"), {}, ())
    assert [effective[check].wanted for check in ("rmem_max", "wmem_max", "swappiness")] == [67108864, 67108864, 10]


def test_perf_event_paranoid_is_planned_only_for_those_who_give_a_value():
    profile = load_profile("full")
    assert effective_checks(shipped(), profile, {}, ())["perf_event_paranoid"].left_out
    given = {"perf_event_paranoid": {"value": 3}}
    assert effective_checks(shipped(), profile, given, ())["perf_event_paranoid"].left_out is None


@pytest.mark.parametrize("path", sorted((FOLDER / "profiles").glob("*.yml")), ids=lambda path: path.stem)
def test_shipped_profiles_pass_what_those_of_users_must(path):
    assert read_own(path, "profile.schema.json")["name"] == path.stem
