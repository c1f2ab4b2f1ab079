# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look up the description of a path in the schemas of the facts: `host.cpu.frequency.policies[].governor`."""
from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.schema_types import SCHEMAS

ROOTS = {"host": [("facts.json", {"$ref": "facts.json"}), ("facts.json", {"properties": {
    "derived": {"$ref": "facts/derived.json#/$defs/host"},
    "dedicated": {"description": "the variable gpuhost_dedicated: the host serves one workload alone"},
    "allow_busy": {"description": "the variable gpuhost_allow_busy: GPUs in use may be written to"},
}})]}
OF_GPU = ("facts.json", {"properties": {"derived": {"$ref": "facts/derived.json#/$defs/gpu"}}})
STEP = re.compile(r'"([^"]+)"|([A-Za-z_]\w*)|(\[[^\]]*\]|\*)')
LOCATION = re.compile(r"(?<![\w<])/(?:proc|sys|etc|boot|dev|run|var|usr|lib)/[^\s,;:]*")

Place = tuple[str, Any]     # a file below SCHEMAS and a node in it


def description(path: str) -> str:
    """The description of the value at `path`, or of what it is part of.

    If only the description of a parent names the file that it is read from, the file name is appended.
    """
    message: list[str] = []
    places: list[Place] = []
    for quoted, name, elements in STEP.findall(path):
        if not places and name in ROOTS:
            places = ROOTS[name]
            continue
        places = _elements(places) if elements else _field(places, quoted or name)
        if path.startswith("host.gpus[") and elements and len(message) == 1:
            places = [*places, OF_GPU]
        message.append(_said(places))
    if message and not message[-1] and (above := next(filter(None, reversed(message)), "")):
        return f"part of: {above}"
    own = message[-1] if message else ""
    files = [found[0].rstrip(".") for text in message if (found := LOCATION.search(text))]
    if LOCATION.search(own) or not files:
        return own
    return f"{own}, in {files[-1]}" if own else files[-1]


def _said(places: list[Place]) -> str:
    return next((node["description"] for _file, node in _facets(places) if "description" in node), "")


def _field(places: list[Place], name: str) -> list[Place]:
    """The schema nodes of a property; a reading's `value` is entered automatically, as in expressions."""
    found = [(file, node["properties"][name]) for file, node in _facets(places) if name in node.get("properties", {})]
    if found:
        return found
    inside = [(file, node["properties"]["value"]) for file, node in _facets(places)
              if "value" in node.get("properties", {})]
    if inside:
        return _field(inside, name)
    return [(file, node["additionalProperties"]) for file, node in _facets(places)
            if isinstance(node.get("additionalProperties"), dict)]


def _elements(places: list[Place]) -> list[Place]:
    found = [(file, node["items"]) for file, node in _facets(places) if "items" in node]
    if found:
        return found
    inside = [(file, node["properties"]["value"]) for file, node in _facets(places)
              if "value" in node.get("properties", {})]
    return _elements(inside) if inside else []


def _facets(places: list[Place]) -> Iterator[Place]:
    """The nodes of the places, with the nodes that they refer to and their alternatives."""
    for file, node in places:
        if not isinstance(node, dict):      # the schema `true`, which allows anything
            continue
        yield file, node
        for key in ("allOf", "anyOf", "oneOf"):
            yield from _facets([(file, part) for part in node.get(key, ())])
        if "$ref" in node:
            yield from _facets([_resolve(file, node["$ref"])])


def _resolve(file: str, reference: str) -> Place:
    name, _hash, pointer = reference.partition("#")
    target = (pathlib.PurePosixPath(file).parent / name).as_posix() if name else file
    node = _document(target)
    for step in pointer.split("/")[1:]:
        node = node[step]
    return target, node


@functools.cache
def _document(file: str) -> Any:
    return json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
