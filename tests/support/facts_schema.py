# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validate facts against their JSON schemas."""
from __future__ import annotations

import functools
import json
import pathlib

import jsonschema
import referencing

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "plugins" / "plugin_utils" / "schemas"


def problems(section: str, facts: object) -> list[str]:
    """The errors in one section of the facts, as plain JSON types; empty if it is valid."""
    return document_problems(f"facts/{section}.json", facts)


def document_problems(schema: str, document: object) -> list[str]:
    """The same for a whole document: `facts.json`, `audit.json`."""
    errors = validator(schema).iter_errors(document)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]


@functools.cache
def validator(schema: str) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(_load(schema))
    # All at once: a registry that retrieves does not cache, and would read the files once for every leaf.
    registry = referencing.Registry().with_resources(
        (path.relative_to(FOLDER).as_posix(), referencing.Resource.from_contents(_load(path.relative_to(FOLDER))))
        for path in FOLDER.rglob("*.json"))
    return jsonschema.Draft202012Validator({"$ref": schema}, registry=registry)


def _load(uri: str | pathlib.PurePath) -> dict:
    return json.loads((FOLDER / uri).read_text())
