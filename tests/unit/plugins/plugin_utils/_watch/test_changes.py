# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue, judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch import textfile
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch.changes import changes, state
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch.lines import lines
from prometheus_client.parser import text_string_to_metric_families

from hosts import twins
from hosts.tree import Tree

THEN, NOW = "2026-12-01T10:00:00Z", "2026-12-01T12:00:00Z"
GPU = "0000:41:00.0"


def audit(facts, at):
    checks = catalogue.shipped()
    findings = judge.judge(facts, checks, catalogue.load_profile("inference"), host="pve1")
    return {"host": "pve1", "collected_at": at, "boot_id": facts["identity"]["boot_id"]["value"], "facts": facts,
            "findings": findings}


@pytest.fixture(scope="module")
def facts_of_now(tmp_path_factory):
    tree = twins.other_twin(Tree(tmp_path_factory.mktemp("watch") / "host"))
    return json.loads(json.dumps(collect(Host(str(tree.root)), [])))


@pytest.fixture
def facts(facts_of_now):
    return copy.deepcopy(facts_of_now)


@pytest.fixture
def before(facts):
    return state(audit(copy.deepcopy(facts), THEN))


def device(facts, bdf=GPU):
    return next(gpu for gpu in facts["gpus"] if gpu["bdf"] == bdf)


def kinds(seen):
    return [(one["kind"], one["check"]) for one in seen["changes"]]


def test_an_idle_host_has_not_changed(facts, before):
    """Memory, load, time and power are others than before."""
    facts["memory"]["available_kib"]["value"] -= 1000000
    facts["kernel"]["uptime_seconds"]["value"] += 7200
    for gpu in facts["nvidia"]["smi"]["gpus"]:
        gpu["power_draw_w"], gpu["utilization"], gpu["clock_reasons"] = 41.0, 0, ["gpu_idle"]
    seen = changes(audit(facts, NOW), before)
    assert (seen["since"], seen["rebooted"], seen["changes"], seen["rates"]) == (THEN, False, [], [])
    assert lines({"pve1": seen}, {}) == ["nothing changed on 1 host"]


def test_what_is_new_mended_and_set_otherwise(facts, before):
    facts["sysctl"]["kernel.numa_balancing"]["value"] = "0"
    facts["sysctl"]["vm.zone_reclaim_mode"]["value"] = "1"
    facts["sysctl"]["vm.dirty_ratio"]["value"] = "55"
    seen = changes(audit(facts, NOW), before)
    assert kinds(seen) == [("new", "zone_reclaim_mode"), ("changed", "dirty_ratio"), ("mended", "numa_balancing")]
    assert seen["changes"][1]["was"] != seen["changes"][1]["now"] == ["fail", "55"]
    shown = lines({"pve1": seen}, {})
    assert shown[0] == f"pve1 since {THEN}:"
    mended = "  mended: P1 Automatic NUMA balancing (numa_balancing): 1 (fail) -> 0"
    assert any(line.startswith(mended) for line in shown)


def test_many_places_of_one_change_are_one_change(facts, before):
    for policy in facts["cpu"]["frequency"]["policies"]:
        policy["governor"]["value"] = "powersave"
    [one] = changes(audit(facts, NOW), before)["changes"]
    assert (one["kind"], one["check"], len(one["subjects"])) == ("new", "cpu_governor", 128)


def test_errors_since_then_are_a_rate_and_no_finding(facts, before):
    errors = device(facts)["aer"]["value"]
    had = errors["correctable"]
    errors["correctable"] = had + 7
    errors["details"] = {**errors["details"], "Timeout": errors["details"].get("Timeout", 0) + 2}
    facts["nvidia"]["xids"]["value"] = [{"bdf": "0000:41:00", "xid": 13, "seconds": 100.0, "text": "Xid 13"}]
    seen = changes(audit(facts, NOW), before)
    rates = {one["what"]: (one["place"], one["number"], one["hours"]) for one in seen["rates"]}
    assert rates == {"corrected_errors": (GPU, 7, 2.0), "link_replays": (GPU, 2, 2.0), "xids": (GPU, 1, 2.0)}


def test_after_a_reboot_counters_begin_anew(facts, before):
    facts["identity"]["boot_id"]["value"] = "another"
    facts["kernel"]["uptime_seconds"]["value"] = 1800.0
    for gpu in facts["gpus"]:
        gpu["aer"]["value"]["correctable"] = 0
    device(facts)["aer"]["value"]["correctable"] = 3
    seen = changes(audit(facts, NOW), before)
    assert seen["rebooted"] is True
    assert [(one["what"], one["place"], one["number"], one["hours"]) for one in seen["rates"]] == [
        ("corrected_errors", GPU, 3, 0.5)]


def test_a_counter_that_was_not_read_or_was_set_back_says_nothing(facts, before):
    before["counters"]["corrected_errors"].pop("0000:71:00.0")
    device(facts, "0000:81:00.0")["aer"]["value"]["correctable"] = 0
    assert changes(audit(facts, NOW), before)["rates"] == []


def test_a_gpu_that_is_slowed_down_and_a_link_that_changes_are_told(facts, before):
    smi = next(gpu for gpu in facts["nvidia"]["smi"]["gpus"] if gpu["bdf"] == GPU)
    smi["clock_reasons"] = ["sw_power_cap", "hw_thermal_slowdown"]
    device(facts)["link_samples"] = {"looks": 20, "changes": 3, "min_speed_gts": 2.5, "max_speed_gts": 32.0,
                                     "min_width": 16, "max_width": 16}
    shown = "\n".join(lines({"pve1": changes(audit(facts, NOW), before)}, {}))
    assert f"{GPU} is slowed down now: hw_thermal_slowdown" in shown
    assert f"the link of {GPU} changed 3 times in 20 looks" in shown


def test_what_fails_and_goes_up_is_no_change_of_the_finding(facts, before):
    """Its verdict is known, and its number is a rate."""
    before["seen"]["pcie_aer_corrected"] = {**before["seen"]["pcie_aer_corrected"], GPU: ["fail", "12", False]}
    now = audit(facts, NOW)
    for one in now["findings"]:
        if one["check"] == "pcie_aer_corrected" and one["subject"] == GPU:
            one.update(verdict="fail", actual="19")
    assert changes(now, before)["changes"] == []


def test_the_first_look_knows_no_change(facts):
    seen = changes(audit(facts, NOW), None)
    assert (seen["since"], seen["changes"]) == (None, [])


def test_prometheus_reads_it(facts, before):
    device(facts)["aer"]["value"]["correctable"] += 8
    seen = changes(audit(facts, NOW), before)
    text = textfile.exposition({"pve1": seen}, {"pve2": "unreachable"}, 1796102437.5)
    samples = {(sample.name, *sorted(sample.labels.items())): sample.value
               for family in text_string_to_metric_families(text) for sample in family.samples}
    assert samples["gpuhost_watch_audited", ("host", "pve2")] == 0
    assert samples["gpuhost_watch_errors_per_hour", ("host", "pve1"), ("kind", "corrected_errors"), ("place", GPU)] == 4
    assert samples["gpuhost_watch_timestamp_seconds",] == 1796102437.5
