# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.gpuhost.tuning.plugins.filter.judge import FilterModule, judge

CHECK = """
- id: laptop_mode
  title: Laptop mode is off
  topic: memory
  priority: P2
  actual: host.tunables."sysctl:vm.laptop_mode"
  expect: {op: equals, value: 0, type: int}
  why: It delays writes.
  evidence: community
  contested: {by: [somebody], why: for a reason}
  sources: [vm.rst]
  takes_effect: at_once
  fix: {class: runtime, tunable: "sysctl:vm.laptop_mode", risk: none, undo: none}
"""
FACTS = {"derived": {}, "tunables": {"sysctl:vm.laptop_mode": {"status": "ok", "value": "5"}}}


@pytest.fixture
def choices(tmp_path):
    (tmp_path / "mine.yml").write_text(CHECK)
    return {"checks": [str(tmp_path)], "only": ["laptop_mode"]}


def test_saved_facts_are_judged(choices):
    finding, = judge(FACTS, **choices)
    assert (finding["verdict"], finding["actual"], finding["fix"]["planned"]) == ("fail", "5", False)


def test_a_whole_audit_is_judged_by_another_profile(choices):
    audit = {"schema": "gpuhost.audit/1", "facts": FACTS, "findings": []}
    finding, = judge(audit, "conservative", **choices)
    assert finding["fix"]["not_planned_because"].startswith("it is contested and not listed in the profile "
                                                            "conservative")


def test_choices_reach_the_judge(choices):
    waiver = {"check": "laptop_mode", "host": "pve1", "reason": "agreed", "expires": "2026-12-31"}
    finding, = judge(FACTS, host="pve1", waivers=[waiver], today="2026-12-31", include=["laptop_mode"],
                     overrides={"laptop_mode": {"priority": "info"}}, **choices)
    assert (finding["priority"], finding["waived"]) == ("info", {"reason": "agreed", "expires": "2026-12-31"})


@pytest.mark.parametrize("wrong, message", [
    ({"only": ["laptop_mood"]}, "gpuhost_only: there is no check 'laptop_mood': did you mean 'laptop_mode'"),
    ({"profile": "inferenz"}, r"there is no profile 'inferenz' .*: did you mean 'inference'"),
    ({"today": "tomorrow"}, "Invalid isoformat string: 'tomorrow'"),
])
def test_a_mistake_is_an_error_of_the_filter(choices, wrong, message):
    with pytest.raises(AnsibleFilterError, match=f"gpuhost.tuning.judge: .*{message}"):
        judge(FACTS, **{**choices, **wrong})


def test_lazy_and_tagged_containers_of_a_play(choices):
    templar = Templar(loader=DataLoader(), variables={"saved": FACTS, **choices})
    text = "{{ (saved | gpuhost.tuning.judge(checks=checks, only=only))[0].verdict }}"
    assert templar.template(trust_as_template(text)) == "fail"
    with pytest.raises(AnsibleError, match="there is no profile 'inferenz'"):
        templar.template(trust_as_template("{{ saved | gpuhost.tuning.judge('inferenz') }}"))


def test_its_name():
    assert FilterModule().filters() == {"judge": judge}
