# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Desired state, `{sysctl: {}, sysfs: {}, pcie_maxreadreq: {}, module: {}}`: parsing and validation without a host."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils._tunables.kinds import KINDS
from ...module_utils._tunables.sysctl_rules import PAIRS
from ...module_utils._tunables.wanted import parse_guard, parse_wanted, scalar
from .._expressions.errors import CatalogueError, nearest

_ORIGIN = "gpuhost_values"


def desired_values(given: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The values a user wants, given directly or as a record with `values`; CatalogueError names a bad entry.

    Kinds without an entry are left out; values are in the form that the setters take.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise CatalogueError(_ORIGIN, None, None, f"{given!r} is not a mapping of {', '.join(KINDS)}")
    if isinstance(given.get("values"), Mapping):
        given = given["values"]
    wanted = {kind: _entries(kind, entries) for kind, entries in given.items()}
    refuse_pairs(wanted.get("sysctl", {}))
    return {kind: wanted[kind] for kind in KINDS if wanted.get(kind)}


def addresses(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The addresses, such as `sysctl:vm.swappiness`."""
    return [f"{kind}:{name}" for kind, name, _value in entries(values)]


def entries(values: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for kind, named in values.items():
        for name, value in named.items():
            yield kind, name, value


def form(kind: str, value: Any) -> Any:
    """A wanted value in the kind's own form: text for sysctl and sysfs, a number of bytes, present or absent.

    Guards are kept; ValueError says why the value is invalid.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r}{nearest(str(kind), KINDS)}")
    if isinstance(value, list):
        value = " ".join(scalar(item) for item in value)
    parse = KINDS[kind].parse_value
    wanted = parse_wanted(value, parse, numbers=KINDS[kind].at_least)
    if wanted.at_least:
        return {"at_least": wanted.value}
    if isinstance(value, Mapping):
        guards = {"set": wanted.value, "only_from": parse_guard(value.get("only_from"), parse)}
        return {key: guards.get(key, item) for key, item in value.items()}
    return wanted.value


def refuse_pairs(sysctls: Mapping[str, Any]) -> None:
    """CatalogueError if both aliases of a setting are wanted (not 0): the kernel zeroes one when the other is set."""
    for one, other in PAIRS:
        if one in sysctls and other in sysctls and not (is_zero(sysctls[one]) or is_zero(sysctls[other])):
            raise CatalogueError(_ORIGIN, None, "sysctl", f"{one} and {other} exclude each other: one of them must be "
                                                          "0 or omitted")


def is_zero(value: Any) -> bool:
    value = value.get("set", value.get("at_least")) if isinstance(value, Mapping) else value
    return str(value).strip() == "0"


def _entries(kind: Any, given: Any) -> dict[str, Any]:
    if kind not in KINDS:
        raise CatalogueError(_ORIGIN, None, None, f"there is no kind {kind!r}{nearest(str(kind), KINDS)}")
    if not isinstance(given, Mapping):
        raise CatalogueError(_ORIGIN, None, kind, f"{given!r} is not a mapping of addresses to values")
    wanted = {}
    for name, value in given.items():
        try:
            if not isinstance(name, str):
                raise ValueError(f"the address {name!r} is a number: quote it in YAML")
            if kind == "sysfs" and (not name.startswith("/sys/") or ".." in name.split("/")):
                raise ValueError("it is not a path below /sys")
            KINDS[kind].check_name(name)
            wanted[name] = form(kind, value)
        except ValueError as error:
            raise CatalogueError(_ORIGIN, None, f"{kind}:{name}", str(error)) from None
    return wanted
