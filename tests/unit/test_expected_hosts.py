# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realistic hosts from planted files to what is said of them: nothing fails that its file in expected_hosts lacks."""
from __future__ import annotations

import importlib
import pkgutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

import expected_hosts
from facts_schema import problems
from verdicts import CHECKS, expand, failing, judged, lines

HOSTS = [host for found in pkgutil.iter_modules(expected_hosts.__path__)
         for host in getattr(importlib.import_module(f"expected_hosts.{found.name}"), "HOSTS", ())]


def of_name(host):
    return host.plant.__name__


@pytest.fixture
def found(facts_of, host):
    return judged(facts_of(host.plant))


@pytest.mark.parametrize("host", HOSTS, ids=of_name)
def test_only_what_was_written_down_fails_or_is_unknown(found, host):
    said = {pair: line for pair, line in lines(found).items() if line.startswith(("fail", "unknown"))}
    assert said == expand(host.fails)


@pytest.mark.parametrize("host", HOSTS, ids=of_name)
def test_the_first_three_things_to_do(found, host):
    to_do = [check for check, priority in failing(found).items() if priority != "info"]
    assert tuple(to_do[:3]) == host.first


@pytest.mark.parametrize("host", HOSTS, ids=of_name)
def test_what_does_not_apply_says_why(found, host):
    reasons = {check: {finding["reason"] for (name, _subject), finding in found.items()
                       if name == check and finding["verdict"] == "not_applicable"} for check in host.not_applicable}
    assert reasons == {check: {reason} for check, reason in host.not_applicable.items()}


@pytest.mark.parametrize("host", HOSTS, ids=of_name)
def test_whatever_fails_above_info_has_a_source(host):
    serious = {check for (check, _subject), line in expand(host.fails).items()
               if line.startswith("fail") and not line.startswith("fail info")}
    assert serious <= set(host.sources) <= CHECKS
    assert all(host.sources.values())


@pytest.mark.parametrize("host", HOSTS, ids=of_name)
def test_facts_and_what_is_derived_have_the_shape_that_checks_rely_on(facts_of, host):
    facts = facts_of(host.plant)
    known = derive(facts)
    assert [problem for section in ("rdma", "numa", "nvidia", "guests", "gpus")
            for problem in problems(section, facts[section])] == []
    assert [problem for gpu in known["gpus"][:1]
            for problem in problems("derived", {"host": known["derived"], "gpu": gpu["derived"]})] == []
