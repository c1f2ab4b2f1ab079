# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/usr/local/lib/gpuhost/boot.json: the values to set at each boot. Written once, read by gpuhost-boot.

It has the shape of `values`, without sysctls, which systemd-sysctl sets; a GPU's MaxReadReq is `{set, identity}`, so
that it is never written to another device that gets the same address.
"""
from __future__ import annotations

import json
from typing import Any

from .._host.host import Host
from .._one_file.version import VERSION
from .._tunables.kinds import KINDS
from .place import PLAN

SCHEMA = "gpuhost.boot_plan/1"
# In the same order as a tune: MaxReadReq last.
ORDER = ("sysfs", "module", "pcie_maxreadreq")

Values = dict[str, dict[str, Any]]


class BadPlan(ValueError):
    """The file cannot be read, or is not a plan."""


def make_plan(values: Values, about: list[str]) -> bytes:
    """Make the file; `about` are explanatory lines for its readers."""
    document = {"schema": SCHEMA, "about": about, "version": VERSION, "values": values}
    return json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n"


def read_plan(host: Host) -> Values:
    """Read the values to set, by kind, in the order in which they are set. Raises BadPlan."""
    text = host.read(PLAN)
    if not text.ok:
        raise BadPlan(f"{PLAN}: {text.status}: {text.detail}")
    try:
        return parse_plan(text.value)
    except (ValueError, RecursionError) as problem:
        raise BadPlan(f"{PLAN}: {problem}") from None


def parse_plan(text: str) -> Values:
    """Parse a plan. Raises ValueError if it is not of this version, or has a value that no setter accepts."""
    document = json.loads(text)
    schema = document.get("schema") if isinstance(document, dict) else None
    values = document.get("values") if isinstance(document, dict) else None
    if schema != SCHEMA or not isinstance(values, dict):
        raise ValueError(f"its schema is {schema!r}, wanted is {SCHEMA!r}, with values")
    for kind, named in values.items():
        if kind not in ORDER or not isinstance(named, dict):
            raise ValueError(f"{kind!r} is none of {', '.join(ORDER)}, or has no values")
        for name, spec in named.items():
            try:
                KINDS[kind].parse(name, spec)
            except ValueError as problem:
                raise ValueError(f"{kind}:{name}: {problem}") from None
    return {kind: values[kind] for kind in ORDER if values.get(kind)}
