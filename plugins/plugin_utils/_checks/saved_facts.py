# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Facts saved by an earlier version: keys that it did not read yet become `not_recorded`, by the facts' schema."""
from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

_SCHEMAS = pathlib.Path(__file__).parents[1] / "schemas"
_FACTS = "facts.json"
WHY = "the facts were saved by a version that did not read it"
_GAP = {"status": "not_recorded", "value": None, "why": WHY}
Place = tuple[str, Any]         # a file below schemas, and a node in it


def completed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with a reading `not_recorded` for each missing key; complete facts are returned unchanged."""
    if _has_all(facts):
        return dict(facts)
    # Those versions only read hosts and their own recordings.
    return _complete({"source": None, **facts}, (_FACTS, _document(_FACTS)))


def _has_all(facts: Mapping[str, Any]) -> bool:
    """Whether all sections and their keys are present. Every version so far has added some."""
    return all(section in facts and (not isinstance(facts[section], dict) or "status" in facts[section]
                                     or keys <= facts[section].keys()) for section, keys in _SECTIONS.items())


def _sections() -> dict[str, frozenset[str]]:
    places = {name: (_FACTS, node) for name, node in _document(_FACTS)["properties"].items()}
    return {name: frozenset(key for _file, node in _facets(places[name]) for key in node.get("required", ()))
            for name in _document(_FACTS)["required"]}


def _complete(value: Any, place: Place) -> Any:
    if isinstance(value, list):
        inner = next(((file, node["items"]) for file, node in _facets(place) if "items" in node), None)
        return value if inner is None else [_complete(item, inner) for item in value]
    if not isinstance(value, Mapping) or value.get("status") == _GAP["status"]:
        return value
    known: dict[str, Place] = {}
    found: dict[str, Any] = dict(value)
    for file, node in reversed(list(_facets(place))):
        known.update({name: (file, inner) for name, inner in node.get("properties", {}).items()})
        found.update({name: _GAP for name in node.get("required", ()) if name not in value})
    more = next(((file, node["additionalProperties"]) for file, node in _facets(place)
                 if isinstance(node.get("additionalProperties"), dict)), None)
    return {name: _complete(item, inner) if (inner := known.get(name, more)) else item for name, item in found.items()}


def _facets(place: Place) -> Iterator[Place]:
    """Every schema node that applies to a place: itself, what it refers to, and the larger of alternatives."""
    file, node = place
    if not isinstance(node, dict):
        return
    yield place
    for part in (*node.get("allOf", ()), *node.get("anyOf", ())):
        yield from _facets((file, part))
    if "$ref" in node:
        name, _hash, pointer = node["$ref"].partition("#")
        target = (pathlib.PurePosixPath(file).parent / name).as_posix() if name else file
        found = _document(target)
        for step in pointer.split("/")[1:]:
            found = found[step]
        yield from _facets((target, found))


@functools.cache
def _document(file: str) -> Any:
    return json.loads((_SCHEMAS / file).read_text(encoding="utf-8"))


# Made once, when the plugin is imported: Ansible's workers are forks.
_SECTIONS = _sections()
