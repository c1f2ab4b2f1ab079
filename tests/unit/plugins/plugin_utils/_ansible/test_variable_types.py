# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.variable_types import TYPES, problem
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.variables import KNOWN

from checkout import REPOSITORY


@pytest.mark.parametrize("word, value", [
    ("dedicated", True), ("dedicated", "yes"), ("dedicated", ""), ("soak_seconds", "30"), ("soak_seconds", 0),
    ("fail_on", "P1"), ("fail_on", ""), ("only", "swappiness,thp_enabled"), ("only", ["swappiness"]), ("only", None),
    ("overrides", {"swappiness": {"value": 1}}), ("experiment_budget_minutes", 1.5), ("values", 3), ("serial", "5%"),
    ("bandwidth_slow_below", "80"), ("report_dir", "/srv/reports"),
])
def test_what_can_be_meant(word, value):
    assert problem(word, value) is None


@pytest.mark.parametrize("word, value, message", [
    ("dedicated", "perhaps", "wanted true or false, found 'perhaps'"),
    ("soak_seconds", "3O", "wanted a whole number of seconds, at least 0, found '3O'"),
    ("soak_seconds", -1, "wanted a whole number of seconds, at least 0, found -1"),
    ("soak_seconds", True, "wanted a whole number of seconds, at least 0, found True"),
    ("link_samples", 101, "wanted a whole number from 0 to 100, found 101"),
    ("fail_on", "p1", "wanted one of 'P0', 'P1', 'P2', found 'p1'"),
    ("verify_against", "plan", "wanted one of 'run', 'profile', found 'plan'"),
    ("overrides", ["swappiness"], "wanted a mapping, found ['swappiness']"),
    ("only", {"swappiness": 1}, "wanted a list, found {'swappiness': 1}"),
    ("bandwidth_slow_below", 120, "wanted a percentage from 0 to 100, found 120"),
])
def test_what_cannot_be_meant(word, value, message):
    assert problem(word, value) == message


def test_types_are_of_variables_that_exist():
    assert set(TYPES) <= KNOWN


def test_they_are_those_of_the_roles():
    kinds = {"bool": "true or false", "list": "a list", "dict": "a mapping"}
    found = {}
    for path in REPOSITORY.glob("roles/*/meta/argument_specs.yml"):
        role = path.parts[-3]
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
            for name, option in entry.get("options", {}).items():
                for word in {name.removeprefix(f"{role}_"), name} & set(TYPES):
                    if option["type"] in kinds and TYPES[word].name != kinds[option["type"]]:
                        found[name] = option["type"]
    assert found == {}
