# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Repeat the slow steps: a step is reported slow only if it is slow twice."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .record import SLOW, every, name_of

_PARTS = ("gpus", "pairs", "concurrent")


def slow_names(record: Mapping[str, Any]) -> list[str]:
    """The names of the steps to measure again, as gpu_bandwidth spells them."""
    return [name_of(one) for one in every(record) if one["verdict"] == SLOW]


def merge(answer: Mapping[str, Any], second: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The module's answer with the steps in `names` replaced by their second measurement, and how that one ended."""
    merged = {**answer, "stopped": second["stopped"] or answer["stopped"], "hung": second.get("hung") or [],
              "not_measured": [*answer["not_measured"], *(one for one in second["not_measured"]
                                                          if one not in answer["not_measured"])]}
    for part in _PARTS:
        anew = {name_of(one): one for one in second.get(part) or [] if name_of(one) in names}
        merged[part] = [anew.get(name_of(one), one) for one in answer.get(part) or []]
    return merged


def tell(record: dict[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """The record, with a note on each step that was slow in `first` and no longer is."""
    before = {name_of(one): one for one in every(first) if one["verdict"] == SLOW}
    return {**record, **{part: [_told(one, before.get(name_of(one))) for one in record[part]]
                         for part in _PARTS if part in record}}


def _told(one: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    if before is None or one["verdict"] == SLOW:
        return one
    return {**one, "said": f"{one['said']}; the first measurement was slow: {before['said']}"}
