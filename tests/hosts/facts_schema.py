# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates a section of the facts against its JSON schema, as a host's answer and not as the code describes it."""
from __future__ import annotations

import functools
import json
import pathlib

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "plugins" / "plugin_utils" / "schemas" / "facts"


@functools.cache
def _validator(section: str) -> jsonschema.Draft202012Validator:
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry = referencing.Registry().with_resources(
        (name, DRAFT202012.create_resource(schema)) for name, schema in schemas.items())
    return jsonschema.Draft202012Validator(schemas[f"{section}.json"], registry=registry)


def assert_valid(section: str, facts: dict | list) -> None:
    """`facts` are plain JSON types, as as_facts() gives them."""
    problems = [f"{error.json_path}: {error.message}" for error in _validator(section).iter_errors(facts)]
    assert not problems, "\n".join(problems)
