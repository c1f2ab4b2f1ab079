# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Desired state in its one shape, `{sysctl: {}, sysfs: {}, pcie_maxreadreq: {}, module: {}}`, without a machine."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...module_utils._change.values import parse_wanted, scalar
from ...module_utils._kernel.sysctl import key_to_path
from ...module_utils._kinds.sysctl_rules import PAIRS
from ...module_utils._pci.address import parse_address
from .._expressions.errors import CatalogueError, nearest

_ORIGIN = "gpuhost_values"
_MODULE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_MAXREADREQ = (128, 256, 512, 1024, 2048, 4096)      # PCI_EXP_DEVCTL_READRQ, include/uapi/linux/pci_regs.h
_STATES = ("present", "absent")


def desired_values(given: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """What a user wants, from the bare shape or from a record that has `values`; CatalogueError names a bad entry.

    Kinds without an entry are left out, values are in the form that the setters take.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise CatalogueError(_ORIGIN, None, None, f"{given!r} is not a mapping of {', '.join(_KINDS)}")
    if isinstance(given.get("values"), Mapping):
        given = given["values"]
    wanted = {kind: _entries(kind, entries) for kind, entries in given.items()}
    refuse_pairs(wanted.get("sysctl", {}))
    return {kind: wanted[kind] for kind in _KINDS if wanted.get(kind)}


def addresses(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """`sysctl:vm.swappiness` and its like."""
    return [f"{kind}:{name}" for kind, name, _value in entries(values)]


def entries(values: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for kind, named in values.items():
        for name, value in named.items():
            yield kind, name, value


def form(kind: str, value: Any) -> Any:
    """A wanted value in the kind's own form: text for sysctl and sysfs, a number of bytes, present or absent.

    Guards stay; ValueError says what the value cannot be.
    """
    if kind not in _KINDS:
        raise ValueError(f"there is no kind {kind!r}{nearest(str(kind), _KINDS)}")
    if isinstance(value, list):
        value = " ".join(scalar(item) for item in value)
    parse = _KINDS[kind]
    wanted = parse_wanted(value, parse, numbers=kind == "sysctl")
    if wanted.at_least:
        return {"at_least": wanted.value}
    if isinstance(value, Mapping):
        return {key: parse(item) if key in ("set", "only_from") and item is not None else item
                for key, item in value.items()}
    return wanted.value


def refuse_pairs(sysctls: Mapping[str, Any]) -> None:
    """Two faces of one setting cannot both be wanted: the kernel sets one to zero when the other is written."""
    for one, other in PAIRS:
        if one in sysctls and other in sysctls and not (is_zero(sysctls[one]) or is_zero(sysctls[other])):
            raise CatalogueError(_ORIGIN, None, "sysctl", f"{one} and {other} exclude each other: one of them must be "
                                 "0 or left out")


def is_zero(value: Any) -> bool:
    value = value.get("set", value.get("at_least")) if isinstance(value, Mapping) else value
    return str(value).strip() == "0"


def _entries(kind: Any, given: Any) -> dict[str, Any]:
    if kind not in _KINDS:
        raise CatalogueError(_ORIGIN, None, None, f"there is no kind {kind!r}{nearest(str(kind), _KINDS)}")
    if not isinstance(given, Mapping):
        raise CatalogueError(_ORIGIN, None, kind, f"{given!r} is not a mapping of addresses to values")
    wanted = {}
    for name, value in given.items():
        try:
            _require_name(kind, name)
            wanted[name] = form(kind, value)
        except ValueError as error:
            raise CatalogueError(_ORIGIN, None, f"{kind}:{name}", str(error)) from None
    return wanted


def _require_name(kind: str, name: Any) -> None:
    """ValueError where `name` cannot be an address of that kind."""
    if not isinstance(name, str) or _NUMBER.fullmatch(name):
        raise ValueError(f"the address {name!r} is a number: quote it in YAML")
    if kind == "sysctl":
        key_to_path(name)
    elif kind == "sysfs" and (not name.startswith("/sys/") or ".." in name.split("/")):
        raise ValueError("it is not a path below /sys")
    elif kind == "pcie_maxreadreq" and parse_address(name)[0] is None:
        raise ValueError(f"name the PCI domain too: 0000:{name}")
    elif kind == "module" and not _MODULE.fullmatch(name):
        raise ValueError("it is not the name of a module")


def _bytes(value: Any) -> int:
    text = scalar(value)
    if text not in map(str, _MAXREADREQ):
        raise ValueError(f"{value!r} is none of {', '.join(map(str, _MAXREADREQ))}")
    return int(text)


def _state(value: Any) -> str:
    if value not in _STATES:
        raise ValueError(f"{value!r} is none of {', '.join(_STATES)}")
    return value


_KINDS: dict[str, Callable[[Any], Any]] = {
    "sysctl": scalar, "sysfs": scalar, "pcie_maxreadreq": _bytes, "module": _state}
