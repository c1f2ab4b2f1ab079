# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rests on a fact that is not recorded is not recorded; what does not stays as it is."""
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.not_recorded import (
    Gap,
    NotRecorded,
    settle,
    several,
    with_gaps,
    without_gaps,
)

from neutral_facts import epyc, ok
from verdicts import judged

GAP = {"status": "not_recorded", "value": None, "why": "not collected"}


@pytest.mark.parametrize("use", [
    lambda facts: facts["list"] or [], lambda facts: list(facts["list"]), lambda facts: facts["list"] is None,
    lambda facts: facts["list"]["status"] == "ok", lambda facts: len(facts["list"]),
    lambda facts: "x" in facts["list"],
    lambda facts: facts.get("list", ()), lambda facts: list(facts.values()), lambda facts: dict(facts.items())])
def test_a_gap_is_used_by_nobody(use):
    with pytest.raises(NotRecorded, match="not collected"):
        use(with_gaps({"list": GAP, "other": 1}))


def test_there_and_back():
    facts = {"a": [{"b": GAP, "c": 1}], "d": ok(1), "e": {"f": {}}}
    assert without_gaps(with_gaps(facts)) == facts
    assert with_gaps(facts)["e"] is facts["e"]
    whole = {"d": ok([1])}
    assert with_gaps(whole) is whole


def test_each_answer_stands_by_itself():
    gap = Gap("x")
    found = {**settle({"a": lambda: gap["b"], "c": lambda: 1}), **several(("d", "e"), lambda: gap["f"])}
    assert without_gaps(found) == {
        name: {"status": "not_recorded", "value": None, "why": "x"} for name in ("a", "d", "e")} | {"c": 1}


def test_facts_without_gaps_are_derived_as_ever():
    facts = epyc()
    before = copy.deepcopy(facts)
    derive(facts)
    assert facts == before


def test_one_fact_takes_only_with_it_what_rests_on_it():
    facts = epyc()
    facts["nvidia"]["smi"] = GAP
    derived = derive(facts)
    assert derived["derived"]["gpu_count"]["missing"] == derived["gpus"][0]["derived"]["recovery"] == GAP
    assert derived["gpus"][0]["derived"]["redirect_ports"] == []
    assert derived["derived"]["xids"][0]["broken"] == []


def test_a_check_that_does_not_apply_for_a_reason_that_nobody_knows_is_unknown():
    facts = epyc()
    for gpu in facts["gpus"]:
        gpu["model"] = "NVIDIA GeForce RTX 5090"
    facts["rdma"]["devices"] = GAP
    finding = judged(facts)["gpu_nic_path", None]
    assert (finding["verdict"], finding["not_recorded"]) == ("unknown", "not collected")


# -- the GPU's own limits, and two moments ----------------------------------------------------------------------------

def in_a_slot_of(speed, device_max_gen=None, generation="blackwell"):
    """The first GPU with a register that follows its slot."""
    facts = epyc()
    gpu = facts["gpus"][0]
    gpu["generation"] = generation
    gpu["pcie"]["value"]["link"].update(speed_gts=speed, max_speed_gts=speed)
    for port in facts["ports"]:
        if port["bdf"] in gpu["path"]:
            port["pcie"]["value"]["link"].update(speed_gts=speed, max_speed_gts=speed)
    facts["nvidia"]["smi"]["gpus"][0]["device_max_gen"] = device_max_gen
    return facts


def bottleneck(facts):
    return judged(facts)["pcie_bottleneck", facts["gpus"][0]["bdf"]]


def test_a_slot_of_an_older_generation_is_a_bottleneck_where_nvidia_smi_tells_the_device():
    assert bottleneck(in_a_slot_of(16.0, device_max_gen=5))["verdict"] == "fail"


def test_where_nobody_tells_what_the_device_can_do_nothing_is_said():
    finding = bottleneck(in_a_slot_of(16.0))
    assert finding["verdict"] == "unknown"
    assert "its register (LnkCap) follows the slot" in finding["reason"]


@pytest.mark.parametrize("speed, generation", [(8.0, "turing"), (16.0, "ada"), (32.0, "blackwell")])
def test_a_register_that_has_what_the_generation_can_is_all(speed, generation):
    assert bottleneck(in_a_slot_of(speed, generation=generation))["verdict"] == "pass"


@pytest.mark.parametrize("source, verdict, note", [
    (None, "fail", "2.5 of 32.0 GT/s, under load: P0, 97 % used"),
    ({"kind": "recording"}, "fail", "2.5 of 32.0 GT/s, under load: P0, 97 % used"),
    ({"kind": "nvidia-bug-report"}, "pass", "speed not evaluated: no load detected, perhaps idle (2.5 of 32 GT/s)"),
])
def test_the_load_that_nvidia_smi_saw_later_is_not_that_of_the_registers(source, verdict, note):
    facts = epyc()
    facts["source"] = source
    facts["gpus"][0]["pcie"]["value"]["link"]["speed_gts"] = 2.5
    facts["nvidia"]["smi"]["gpus"][0].update(pstate="P0", utilization=97)
    finding = judged(facts)["pcie_link_speed", facts["gpus"][0]["bdf"]]
    assert (finding["verdict"], finding["reason"]) == (verdict, note)
