# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted hosts of which random readings fail: every check answers, and no answer is made of what was not read."""
from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.others import workstation
from hosts.sick import sick
from hosts.story_before import story_before
from verdicts import CHECKS, judged, line

HIDING = ("denied", "gone", "unparsable", "asleep", "passed_through")
# A fact that one GPU does not tell is not compared with its twins', and which switches there are is a fact itself.
COMPARING = ("gpu_consistency",)
# These say which option is not in force and behind a colon why; the why needs the time of the initramfs.
EXPLAINING = ("nvidia_options", "nvidia_nouveau")


def small_story(tree):
    story_before(tree, cores=1, swap=True)


def find_readings(thing: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(thing, dict):
        if set(thing) == {"status", "value"}:
            yield path
        for key, value in thing.items():
            yield from find_readings(value, (*path, key))
    elif isinstance(thing, list):
        for position, value in enumerate(thing):
            yield from find_readings(value, (*path, position))


def without(facts: dict, lost: dict[tuple, str]) -> dict:
    """The facts with some readings lost, by their place and the status they have instead."""
    spoiled = copy.deepcopy(facts)
    for path, status in sorted(lost.items(), key=lambda item: -len(item[0])):
        reading = spoiled
        for key in path:
            reading = reading[key]
        reading.update(status=status, value=None)
    return spoiled


def message(finding: dict) -> str:
    """What it says of what is: verdict, priority and value, not what would be better, nor what explains the value."""
    if finding["check"] in EXPLAINING:
        finding = {**finding, "actual": [sentence.partition(": ")[0] for sentence in finding["actual"] or []]}
    return line(finding).partition(" -> ")[0].removesuffix(", planned")


def invented(before: dict, found: dict) -> dict:
    """The verdicts that were not there, or were other ones, before readings were lost."""
    return {pair: (pair in before and message(before[pair]), message(finding)) for pair, finding in found.items()
            if finding["verdict"] in ("pass", "fail") and pair[0] not in COMPARING
            and not (pair in before and message(before[pair]) == message(finding))}


@pytest.fixture(scope="module", params=[small_story, sick, workstation], ids=lambda plant: plant.__name__)
def host(request, facts_of):
    """Facts, their findings and the places of their readings."""
    facts = facts_of(request.param)
    return facts, judged(facts), list(find_readings(facts))


def lost_readings(places: list[tuple], statuses: tuple[str, ...]) -> st.SearchStrategy:
    """Some readings here and there, and some that fail on every device alike."""
    single = st.dictionaries(st.sampled_from(places), st.sampled_from(statuses), min_size=1, max_size=40)
    names = sorted({path[-1] for path in places})
    everywhere = st.dictionaries(st.sampled_from(names), st.sampled_from(statuses), max_size=5)
    return st.builds(lambda some, named: {**{path: named[path[-1]] for path in places if path[-1] in named}, **some},
                     single, everywhere)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_check_answers_whatever_fails(host, data):
    facts, _findings, places = host
    spoiled = without(facts, data.draw(lost_readings(places, (*HIDING, "absent", "read_only"))))
    found = judged(spoiled)
    assert {check for check, _subject in found} == CHECKS
    for finding in found.values():
        assert finding["verdict"] in ("pass", "fail", "not_applicable", "unknown")
        assert finding["reason"] or finding["verdict"] in ("pass", "fail")
        assert not (finding["fix"]["planned"] and finding["verdict"] != "fail")
    json.dumps([list(found.values()), plan(found.values(), None, spoiled)], allow_nan=False)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_hides_makes_no_new_verdict(host, data):
    """A reading that fails may take a verdict away. It never turns a fail into a pass, nor a pass into a fail."""
    facts, before, places = host
    found = judged(without(facts, data.draw(lost_readings(places, HIDING))))
    assert invented(before, found) == {}


def test_no_reading_that_fails_on_all_devices_makes_a_new_verdict(host):
    """The same, one name of a reading after the other, so that none depends on being drawn."""
    facts, before, places = host
    wrong = {}
    for name in sorted({path[-1] for path in places}, key=str):
        lost = {path: "denied" for path in places if path[-1] == name}
        wrong.update({(name, *pair): texts for pair, texts in invented(before, judged(without(facts, lost))).items()})
    assert wrong == {}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_nothing_is_planned_on_a_reading_that_failed(host, data):
    facts, before, places = host
    found = judged(without(facts, data.draw(lost_readings(places, HIDING))))
    assert {pair for pair, finding in found.items() if finding["fix"]["planned"]} <= {
        pair for pair, finding in before.items() if finding["fix"]["planned"]}


def test_a_host_of_which_nothing_can_be_read_has_no_verdict_about_its_settings(host):
    facts, _findings, places = host
    found = judged(without(facts, dict.fromkeys(places, "denied")))
    judged_all_the_same = {check for (check, _subject), finding in found.items()
                           if finding["verdict"] in ("pass", "fail")}
    # Told by plain facts: what kind of machine it is, which CPUs are there, which driver and module are loaded, what
    # the command line asks for, what nvidia-smi answered as a whole, and which services are installed.
    assert judged_all_the_same <= {"target_kind", "cpus_offline", "cpu_microcode", "firmware_settings",
                                   "cpu_scaling_driver",
                                   "cstate_latency", "gpu_driver", "pcie_bus_tuning",
                                   "nvidia_module", "nvidia_flavour", "nvidia_peermem", "nvidia_persistence",
                                   "nvidia_power_limit", "nvidia_slowdown", "nvidia_memory_errors",
                                   "nvidia_pending_modes", "nvidia_compute_mode", "nvidia_recovery", "other_managers"}
    assert not [finding for finding in found.values() if finding["fix"]["planned"]]
