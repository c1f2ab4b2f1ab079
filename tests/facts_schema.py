# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether facts have the shape that their JSON schemas promise."""
from __future__ import annotations

import functools
import json
import pathlib

import jsonschema
import referencing

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "plugins" / "plugin_utils" / "schemas"


def problems(section: str, facts: object) -> list[str]:
    """What is wrong with one section of the facts, in plain JSON types; nothing where it is right."""
    errors = validator(section).iter_errors(facts)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]


@functools.cache
def validator(section: str) -> jsonschema.Draft202012Validator:
    schema = {"$ref": f"facts/{section}.json"}
    jsonschema.Draft202012Validator.check_schema(_load(f"facts/{section}.json"))
    registry = referencing.Registry(retrieve=lambda uri: referencing.Resource.from_contents(_load(uri)))
    return jsonschema.Draft202012Validator(schema, registry=registry)


def _load(uri: str) -> dict:
    return json.loads((FOLDER / uri).read_text())
