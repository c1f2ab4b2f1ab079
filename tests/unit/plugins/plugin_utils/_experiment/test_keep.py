# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment import keep
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import HostFolder

from experiment_document import FEW, HELPS, HURTS, NOTHING, OPEN, RUN, arm, experiment
from fleet_documents import HOSTILE


@pytest.mark.parametrize("metrics, plan", [
    ([HELPS], True), ([NOTHING], False), ([HURTS], False), ([OPEN], True), ([FEW], True), ([], True),
    ([HELPS, NOTHING], True), ([HELPS, OPEN], True), ([HELPS, HURTS], False), ([NOTHING, NOTHING], False),
    ([NOTHING, OPEN], True), ([HURTS, OPEN], False)])
def test_what_helps_or_is_not_decided_stays_planned(metrics, plan):
    made = arm("one", "swappiness", "sysctl:vm.swappiness", "10", **{f"m{at}": one for at, one in enumerate(metrics)})
    assert keep.decisions(experiment(arms=[made]))["swappiness"].plan is plan
    assert keep.overrides(experiment(arms=[made])) == ({} if plan else {"swappiness": {"plan": False}})


def test_a_check_in_two_arms_is_judged_by_both():
    arms = [arm("one", "governor", "sysfs:/a", "1", speed=NOTHING),
            arm("two", "governor", "sysfs:/b", "1", speed=HELPS)]
    assert keep.overrides(experiment(arms=arms)) == {}


def test_what_the_user_had_given_is_kept():
    given = {"numa_balancing": {"value": "1"}, "boost": {"priority": "P1"}}
    assert keep.overrides(experiment(), given) == {
        "numa_balancing": {"value": "1", "plan": False}, "boost": {"priority": "P1"}}
    assert given["numa_balancing"] == {"value": "1"}


def test_the_file_says_why_and_is_what_ansible_takes(tmp_path):
    path = keep.write_overrides(HostFolder(str(tmp_path), "pve1"), experiment(), {"boost": {"priority": "P1"}})
    text = path.read_text()
    assert path == tmp_path / "pve1" / RUN / "overrides.yml"
    assert yaml.safe_load(text) == {"gpuhost_overrides": {
        "boost": {"priority": "P1"}, "numa_balancing": {"plan": False}}}
    assert f"# What the experiment {RUN} of 2026-11-30T01:00:00Z found not to help on pve1 (vllm serving).\n" in text
    assert "  # tokens_per_second: hurts: -4.0 % (-6.1 % to -1.8 %, 10 blocks of 2 runs); ttft_ms: inconclusive" in text
    assert "# stays planned: thp_enabled: tokens_per_second: helps: +12.4 %" in text
    assert "# stays planned: swappiness: tokens_per_second: no measurable effect" in text


@pytest.mark.parametrize("mode, message", [
    ("plan", "# All changes were made together: this experiment cannot tell which of them helped or hurt.\n"),
    ("leave_one_out", "# Each was measured with all others in place: of two changes with the same effect, both appear "
                      "to have none.")])
def test_what_an_experiment_does_not_know_is_said(mode, message):
    assert message in keep.overrides_file(experiment(mode=mode))
    assert message not in keep.overrides_file(experiment())


def test_where_all_help_nothing_is_left_out():
    text = keep.overrides_file(experiment(arms=[arm("one", "thp", "sysfs:/a", "1", speed=HELPS)]))
    assert yaml.safe_load(text) == {"gpuhost_overrides": {}}


def test_a_value_of_the_users_own_is_named_in_a_comment():
    own = arm("mine", "swappiness", "sysctl:vm.swappiness", "1", speed=HURTS) | {"checks": []}
    text = keep.overrides_file(experiment(arms=[own]))
    assert "take it out of gpuhost_values if it did not help: sysctl:vm.swappiness: speed: hurts: -4.0 %" in text
    assert yaml.safe_load(text) == {"gpuhost_overrides": {}}


@pytest.mark.parametrize("text", [HOSTILE, "a\nb: [1", "\u2028x: 1", "\x85y: 1", "\ud800\uffff", "{{ 7 * 7 }}"])
def test_no_text_ends_a_comment(text):
    made = arm("one", "swappiness", "sysctl:vm.swappiness", "10", speed=HURTS | {"said": text})
    document = experiment(arms=[made, made | {"checks": [], "toggles": [text]}], benchmark=text, host=text)
    assert yaml.safe_load(keep.overrides_file(document)) == {"gpuhost_overrides": {"swappiness": {"plan": False}}}
