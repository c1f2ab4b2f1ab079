# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user sets by variables holds, or the user is told: nothing is done as if it had not been set."""
from __future__ import annotations

import json

import pytest

from hosts.story_before import story_before

TYPO = "{{ misspelt }}"


@pytest.fixture
def story(make_tree):
    return story_before(make_tree("pve1"))


def profile_of(controller, host="pve1"):
    return json.loads((controller.reports / host / "audit.json").read_text())["profile"]


@pytest.mark.parametrize("playbook", ["audit", "tune_runtime", *(
    pytest.param(name, marks=pytest.mark.one_core) for name in ("verify", "restore", "record", "benchmark"))])
def test_a_variable_that_does_not_resolve_is_not_taken_for_unset(controller, story, playbook):
    before = (story.root / "proc/sys/kernel/numa_balancing").read_text()
    run = controller.play(f"{playbook}.yml", {"pve1": story}, variables={"gpuhost_skip": TYPO}).failed()
    assert "gpuhost_skip is set, but its value cannot be resolved: 'misspelt' is undefined" in run.output
    assert (story.root / "proc/sys/kernel/numa_balancing").read_text() == before


@pytest.mark.one_core
@pytest.mark.parametrize(("playbook", "name"), [
    ("record", "gpuhost_record_anonymise"), ("benchmark", "gpuhost_bandwidth_devices"),
    ("benchmark", "gpuhost_benchmark")])
def test_nor_is_one_of_a_single_role(controller, story, playbook, name):
    run = controller.play(f"{playbook}.yml", {"pve1": story}, variables={name: TYPO}).failed()
    assert f"{name} is set, but its value cannot be resolved: 'misspelt' is undefined" in run.output


@pytest.mark.one_core
def test_nor_is_one_of_an_experiment(controller, story):
    benchmark = {"name": "none", "where": "controller", "command": ["true"],
                 "metrics": {"rate": {"json": "rate", "better": "higher", "unit": "tok/s"}}}
    run = controller.play("experiment.yml", {"pve1": story}, "--check", variables={
        "gpuhost_benchmark": benchmark, "gpuhost_experiment_changes": TYPO}).failed()
    assert "gpuhost_experiment_changes is set, but its value cannot be resolved: 'misspelt' is undefined" in run.output


def test_a_role_does_not_look_at_what_another_one_is_told(controller, story):
    controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_record_max_bytes": TYPO}).succeeded()


def test_a_part_of_a_value_that_does_not_resolve_is_found_too(controller, story):
    waivers = [{"check": "iommu_acs", "reason": TYPO, "expires": "2999-01-01"}]
    run = controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_waivers": waivers}).failed()
    assert "gpuhost_waivers is set, but its value cannot be resolved: 'misspelt' is undefined" in run.output


def test_a_misspelt_variable_stops_a_tune_before_it_changes_anything(controller, story):
    run = controller.play("tune_runtime.yml", {"pve1": story}, variables={"gpuhost_skp": ["numa_balancing"]}).failed()
    assert "there is no variable gpuhost_skp: did you mean gpuhost_skip?" in run.one("pve1", action="audit")["msg"]
    assert (story.root / "proc/sys/kernel/numa_balancing").read_text() == "1\n"


def test_variables_of_which_ours_are_made_are_told_once_for_all_hosts(controller, make_tree):
    hosts = {name: story_before(make_tree(name)) for name in ("pve1", "pve2")}
    run = controller.play("audit.yml", hosts, variables={
        "gpuhost_usual_profile": "conservative", "gpuhost_profile": "{{ gpuhost_usual_profile }}"}).succeeded()
    reason = "gpuhost_usual_profile is not a variable of gpuhost.tuning"
    assert " ".join(run.output.split()).count(reason) == 1
    assert profile_of(controller) == "conservative"


PROFILES = {    # host: what it is told, and the profile that it gets
    "neither": ({}, "inference"),
    "shared": ({"gpuhost_profile": "full"}, "full"),
    "both": ({"gpuhost_profile": "full", "audit_profile": "conservative"}, "conservative"),
    "own-omitted": ({"gpuhost_profile": "full", "audit_profile": "{{ omit }}"}, "full"),
    "shared-omitted": ({"gpuhost_profile": "{{ omit }}"}, "inference"),
}


def test_a_variable_of_the_role_counts_before_the_one_that_all_share(controller, story):
    hosts = {name: {"gpuhost_sysroot": str(story.root), **variables} for name, (variables, _got) in PROFILES.items()}
    controller.play("audit.yml", hosts).succeeded()
    assert {name: profile_of(controller, name) for name in PROFILES} == {
        name: profile for name, (_variables, profile) in PROFILES.items()}


def test_variables_that_are_no_lists_of_names_are_shown_as_they_should_be(controller, story, tmp_path):
    playbook = tmp_path / "own.yml"
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [
        {"gpuhost.tuning.audit": {"variables": {"profile": "my_profile"}}}]}]))
    message = controller.play(str(playbook), {"pve1": story}).failed().one("pve1", action="audit")["msg"]
    assert "found {'profile': 'my_profile'}: write for example {profile: [my_profile, gpuhost_profile]}" in message


def test_what_a_variable_says_is_held_against_the_type_of_the_option(controller, story):
    run = controller.play("audit.yml", {"pve1": story}, variables={"audit_fail_on": "P9"}).failed()
    assert "value of fail_on must be one of" in run.one("pve1", action="audit")["msg"]


def test_values_that_cannot_be_meant_are_found_on_every_host_before_the_first_is_changed(controller, make_tree):
    hosts = {name: {"gpuhost_sysroot": str(story_before(make_tree(name)).root)} for name in ("pve1", "pve2")}
    hosts["pve2"] |= {"gpuhost_dedicated": "perhaps", "gpuhost_link_samples": 1000, "gpuhost_only": TYPO}
    run = controller.play("tune_runtime.yml", hosts, variables={"gpuhost_soak_seconds": "3O"}).failed()
    assert ("nothing was changed: gpuhost_soak_seconds: wanted a whole number of seconds, at least 0, found '3O'; "
            "gpuhost_dedicated: wanted true or false, found 'perhaps' (of pve2); gpuhost_link_samples: wanted a whole "
            "number from 0 to 100, found 1000 (of pve2)") in " ".join(run.output.split())
    assert not (make_tree("pve1").root / "run/gpuhost").exists()
    assert not (controller.reports / "pve1").exists()


def test_a_variable_that_was_renamed_holds_and_is_warned_of(controller, story):
    run = controller.play("tune_runtime.yml", {"pve1": story}, "--check",
                          variables={"gpuhost_look_again": 5}).succeeded()
    assert "gpuhost_look_again is called gpuhost_recheck_max now" in " ".join(run.output.split())


OWN_PLAYBOOK = """
- hosts: all
  gather_facts: false
  become: false
  roles:
    - role: gpuhost.tuning.{role}
      vars: {{{variable}: P0}}
"""


@pytest.mark.parametrize("role, variable, near", [
    ("audit", "audit_fail_onn", "audit_fail_on"), ("tune_runtime", "tune_runtime_profil", "tune_runtime_profile")])
def test_a_misspelt_option_that_a_role_was_given_is_an_error(controller, story, tmp_path, role, variable, near):
    playbook = tmp_path / "own.yml"
    playbook.write_text(OWN_PLAYBOOK.format(role=role, variable=variable))
    run = controller.play(str(playbook), {"pve1": story}).failed()
    assert f"the role {role} has no option {variable}: did you mean {near}?" in " ".join(run.output.split())


def test_elsewhere_it_is_warned_of_as_it_may_be_of_another_role(controller, story):
    run = controller.play("audit.yml", {"pve1": story},
                          variables={"audit_fail_onn": "P0", "audit_of_ours": 1}).succeeded()
    output = " ".join(run.output.split())
    assert "audit_fail_onn is not an option of the role audit and has no effect: did you mean audit_fail_on?" in output
    assert "audit_of_ours" not in output
