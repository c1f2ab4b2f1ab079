# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.survey import arguments, or_default
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.variable_types import problem

from checkout import REPOSITORY

SPEC = {"report_dir": {"type": "str", "default": "reports"}, "run_id": {"type": "str"},
        "only": {"type": "list", "elements": "str", "default": []}, "overrides": {"type": "dict", "default": {}},
        "values": {"type": "raw", "default": {}}, "dedicated": {"type": "bool", "default": False},
        "soak_seconds": {"type": "int", "default": 30}}


@pytest.mark.parametrize("value, default, meant", [
    ("", "reports", "reports"), ("  \n", "reports", "reports"), (None, 30, 30), (0, 30, 0), (False, True, False),
    ("thp_enabled\nswappiness\n", [], ["thp_enabled", "swappiness"]), ("a, b\nc", [], ["a", "b", "c"]),
    ("a,b", [], "a,b"), ("- a\n- b\n", [], ["a", "b"]), ("[a, b]", [], ["a", "b"]), (["a"], [], ["a"]),
    ("swappiness:\n  value: 1\n", {}, {"swappiness": {"value": 1}}), ("swappiness: {value: 1}", {}, {
        "swappiness": {"value": 1}}),
    ('{"a": 1}', {}, {"a": 1}), ("values.yml", {}, "values.yml"), ("/srv/my values.yml", [], "/srv/my values.yml"),
    ("- check: ksm\n  reason: lab\n", [], [{"check": "ksm", "reason": "lab"}]), ("a: [", {}, "a: ["),
])
def test_what_a_survey_means(value, default, meant):
    assert or_default(value, default) == meant


def test_arguments_that_were_left_empty_are_not_given():
    assert arguments({"report_dir": "", "run_id": "", "only": "a\nb", "overrides": "a: {value: 1}", "values": "v.yml",
                      "dedicated": "", "soak_seconds": "", "unknown": ""}, SPEC) == {
        "only": ["a", "b"], "overrides": {"a": {"value": 1}}, "values": "v.yml", "unknown": ""}


@pytest.mark.parametrize("word, value", [
    ("only", "a\nb"), ("overrides", "swappiness:\n  value: 1"), ("soak_seconds", " "), ("dedicated", None)])
def test_such_texts_can_be_meant(word, value):
    assert problem(word, value) is None


def test_a_text_that_is_no_mapping_cannot_be_meant():
    assert problem("overrides", "- a\n- b") == "wanted a mapping, found ['a', 'b']"


def test_every_default_of_a_role_takes_an_empty_answer():
    """A role whose default is not empty itself needs the filter."""
    found = []
    for path in sorted(REPOSITORY.glob("roles/*/defaults/main.yml")):
        for name, text in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            shared = isinstance(text, str) and "gpuhost_" in text
            if shared and "gpuhost.tuning.or_default(" not in text and not re.search(r"default\(''\) }}$", text):
                found.append(name)
    assert found == []
