# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who wants the value of a check: what a verify says of it later."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile, load_profile, shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.effective import effective_checks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan

import neutral_facts as neutral
from neutral_facts import merge, ok

OWN = Profile("ours", file="profiles/ours.yml", values={"swappiness": 5}, plan=frozenset(("somaxconn",)))


@pytest.mark.parametrize("profile, check, override, included, origin", [
    ("conservative", "swappiness", {}, False, "check swappiness"),
    ("inference", "swappiness", {}, False, "check swappiness, which the profile inference plans"),
    ("training_rdma", "rmem_max", {}, False, "the profile training_rdma"),
    (OWN, "swappiness", {}, False, "the profile ours (profiles/ours.yml)"),
    (OWN, "somaxconn", {}, False, "check somaxconn, which the profile ours (profiles/ours.yml) plans"),
    (OWN, "swappiness", {"value": 1}, False, "gpuhost_overrides"),
    ("conservative", "swappiness", {"plan": True}, False, "check swappiness, which gpuhost_overrides plans"),
    ("conservative", "somaxconn", {}, True, "check somaxconn, planned by gpuhost_include"),
])
def test_who_wants_a_value(profile, check, override, included, origin):
    profile = load_profile(profile) if isinstance(profile, str) else profile
    found = effective_checks(shipped(), profile, {check: override} if override else {}, [check] if included else [])
    assert found[check].origin == origin


def test_every_change_of_a_plan_says_who_wants_its_value():
    facts = merge(neutral.epyc(), {"sysctl": {"kernel.numa_balancing": ok("1"), "net.core.somaxconn": ok("128")}})
    profile = load_profile("inference")
    origins = {name: one.origin for name, one in effective_checks(shipped(), profile, {}, []).items()}
    found = plan(judge(facts, shipped(), profile), {"sysctl": {"vm.swappiness": "7", "net.core.somaxconn": "65535"}},
                 facts, origins, "gpuhost_values (own.yml)")
    wanted = {change["address"]: change["origin"] for change in found.planned}
    assert wanted["sysctl:kernel.numa_balancing"] == "check numa_balancing, which the profile inference plans"
    assert wanted["sysctl:vm.swappiness"] == wanted["sysctl:net.core.somaxconn"] == "gpuhost_values (own.yml)"
