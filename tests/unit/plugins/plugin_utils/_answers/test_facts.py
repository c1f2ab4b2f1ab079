# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a host's answer is taken, and the one line that says why not."""
from __future__ import annotations

import base64
import copy
import json
import zlib

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.packing import pack
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers import bounds
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take, take_packed
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.modules import take_answer
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.shape import compile_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts_schema import document_problems
from hosts.reference import reference
from neutral_facts import nothing_persisted


@pytest.fixture(scope="module")
def facts(request):
    return request.getfixturevalue("facts_of")(reference)


def packed(text):
    return base64.b64encode(zlib.compress(text if isinstance(text, bytes) else text.encode())).decode()


def test_honest_facts_are_taken_as_they_are(facts):
    assert take_packed(pack(facts)) == facts


@pytest.mark.parametrize(("answer", "message"), [
    (17, "are not text but int"),
    ("!!!", "cannot be unpacked"),
    (base64.b64encode(b"not zlib").decode(), "cannot be unpacked"),
    (packed("{}")[:8], "cannot be unpacked"),
    (packed(b" " * (bounds.ANSWER_BYTES + 1)), "more than 67108864 bytes, at most 67108864 are accepted"),
    (packed("[" * 100_000), "nested too deep"),
    (packed("[" + "0," * bounds.VALUES + "0]"), "values, at most 500000 are accepted"),
    (packed("{'a': 1}"), "are not JSON"),
    (packed("\u00e4"), "are not ASCII"),
    (packed('{"schema": NaN}'), "NaN, which is not a JSON number"),
    (packed("1" * 5000), "digit"),
    (packed("[]"), "the schema None, wanted 'gpuhost.facts/1'"),
    (packed('{"schema": "gpuhost.facts/2"}'), "the schema 'gpuhost.facts/2'"),
    (packed('{"schema": ["gpuhost.facts/1"]}'), "the schema ['gpuhost.facts/1']"),
    (packed('{"schema": "gpuhost.facts/1"}'), "the key collected_at is missing"),
])
def test_what_is_not_taken_is_one_clear_error(answer, message):
    with pytest.raises(ValueError, match=r".") as error:
        take_packed(answer)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("change", "message"), [
    (lambda facts: facts.update(gpus=facts["gpus"] * 200), "PCI devices, at most 1024 are accepted"),
    (lambda facts: facts["gpus"][0].update(bdf=["0000:01:00.0"]), "gpus[0].bdf: wanted string, found array"),
    (lambda facts: facts["gpus"][0].update(bdf="\x1b[2J"), r"gpus[0].bdf: '\\x1b[2J' does not match"),
    (lambda facts: facts["kernel"].update({"\x1b]0;x\x07": 1}), r"unknown key '\\x1b]0;x\\x07'"),
    (lambda facts: facts["kernel"]["cmdline"].update(value="x" * 70_000), "a text of 70000 characters"),
    (lambda facts: facts["kernel"]["log"]["value"].update(lines=1 << 70), "a number out of range"),
    (lambda facts: facts["sysctl"].update({"vm.swappiness": {"status": "odd", "value": None}}), "found 'odd'"),
    (lambda facts: facts.update(unread=[{"fact": "a", "path": None, "why": "b"}] * 70_000), "70000 entries"),
])
def test_facts_of_another_shape_are_not_taken(facts, change, message):
    facts = copy.deepcopy(facts)
    change(facts)
    with pytest.raises(ValueError, match=r".") as error:
        take(facts)
    assert message in str(error.value)


def test_facts_that_are_nested_too_deep_are_not_taken(facts):
    facts = copy.copy(facts)
    for _depth in range(5000):
        facts["kernel"] = [facts["kernel"]]
    with pytest.raises(ValueError, match="nested too deep"):
        take(facts)


def test_texts_come_in_as_they_are_and_not_as_they_act(facts):
    facts = copy.deepcopy(facts)
    facts["identity"]["hostname"]["value"] = "\u202eevil\x1b[2J\udcff\u200b\x9b"
    assert take_packed(pack(facts))["identity"]["hostname"]["value"] == r"\u202eevil\x1b[2J\udcff\u200b\x9b"


WRONG = st.sampled_from([None, True, 0, -1, 1.5, "", "ok", [], {}, [None], {"status": "ok"},
                         {"status": "ok", "value": "x"}, {"status": "absent", "value": 1}])


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_the_schema_is_understood_as_the_standard_has_it(facts, data):
    """jsonschema is asked as well: both say yes or both say no."""
    facts = copy.deepcopy(facts)
    place, key = facts, data.draw(st.sampled_from(sorted(facts)))
    while isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    if isinstance(place, dict) and data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(WRONG)
    ours = compile_schema("facts.json")(facts)
    assert (ours is None) == (document_problems("facts.json", facts) == [])


def test_an_unknown_keyword_is_no_silent_yes(tmp_path, monkeypatch):
    (tmp_path / "odd.json").write_text(json.dumps({"type": "object", "minProperties": 1}))
    monkeypatch.setattr("ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.shape.SCHEMAS", tmp_path)
    with pytest.raises(ValueError, match="'minProperties' is not supported"):
        compile_schema("odd.json")


JOURNAL = {"status": "ok", "detail": None, "boot_id": "b", "runs": [], "restore_values": {}, "expected_values": {},
           "driver_mismatch": None, "left_alone": [], "expired": [], "unusable": [], "persisted": nothing_persisted()}


def test_a_journal_that_is_one_is_taken():
    assert take_answer("journal", JOURNAL) == JOURNAL


@pytest.mark.parametrize("change", [
    {"status": "fine"}, {"runs": None}, {"restore_values": []}, {"restore_values": {"shell": {"x": {"set": "y"}}}},
    {"restore_values": {"sysctl": {"vm.swappiness": "10"}}}, {"left_alone": [{"address": 1, "reason": "x"}]},
])
def test_a_forged_journal_is_one_clear_error(change):
    with pytest.raises(ValueError, match="the module's result is invalid"):
        take_answer("journal", {**JOURNAL, **change})
