# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The current value of a tunable, from the facts."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .desired_state import form


def before(address: str, facts: Mapping[str, Any], actual: Any) -> Any:
    """The tunable's current value in its kind's own form; None if not known."""
    kind, _colon, name = address.partition(":")
    found = _in_facts(kind, name, address, facts)
    try:
        return form(kind, actual if found is None else found)
    except ValueError:
        return None


def _in_facts(kind: str, name: str, address: str, facts: Mapping[str, Any]) -> Any:
    asked = _value(facts.get("tunables", {}).get(address))
    if asked is not None:
        return asked
    if kind == "sysctl":
        return _value(facts.get("sysctl", {}).get(name))
    if kind == "pcie_maxreadreq":
        registers = next((_value(gpu["pcie"]) for gpu in _plain(facts.get("gpus")) if gpu["bdf"] == name), None)
        return registers and registers.get("max_read_request")
    if kind == "module" and "nvidia" in facts:
        state = next((module["state"] for module in _plain(facts["nvidia"]["modules"]) if module["name"] == name), None)
        return state and not isinstance(state, Mapping) and ("present" if state in ("live", "built_in") else "absent")
    return None


def _plain(fact: Any) -> list:
    """A list from the facts; empty if it is not recorded."""
    return fact if isinstance(fact, list) else []


def _value(reading: Any) -> Any:
    return reading["value"] if isinstance(reading, Mapping) and reading.get("status") == "ok" else None
