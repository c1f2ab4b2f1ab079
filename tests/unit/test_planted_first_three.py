# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report of each whole planted host says first is what was written down by hand."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.findings import to_do
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.first_three import first_three
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import group

from first_three import FIRST_THREE
from hosts.story_before import story_before
from verdicts import judged


@pytest.mark.parametrize("plant", FIRST_THREE, ids=lambda plant: plant.__name__)
def test_the_first_three_are_those_written_down(facts_of, plant):
    findings = list(judged(facts_of(plant)).values())
    first = first_three(group(to_do(findings), findings))
    assert [f"{one.first['priority']} {one.first['check']}" for one in first] == FIRST_THREE[plant]


def test_the_story_has_nothing_without_effect_above_info(facts_of):
    failing = [one for one in judged(facts_of(story_before)).values() if one["verdict"] == "fail"]
    assert {one["check"] for one in failing if one["effect"]["size"] == "none"} == {
        "nmi_watchdog", "sched_autogroup_enabled", "dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max",
        "max_map_count", "pcie_maxreadreq", "lxc_survives_reboot"}
    assert [one["check"] for one in failing if one["effect"]["size"] == "none" and one["priority"] != "info"] == []
