# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Copies that are alike, compared with each other: one that is far below all others is slow, whatever is expected."""
from __future__ import annotations

import statistics
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

FEWEST = 6                  # that can be compared: of fewer it cannot be determined which are the odd ones
MOST_SLOW = 4               # one part of so many: if more are slow there are two kinds of them
AGREE_PERCENT = 10          # by which the others differ from their middle at most


class Outlier(NamedTuple):
    others: int             # those that agree with each other
    gb_s: float             # their middle


def outliers(rates: Mapping[Hashable, float], percent: float) -> dict[Hashable, Outlier]:
    """Those that reach less than `percent` of what the others do, who have to agree with each other and to be many."""
    if len(rates) < FEWEST:
        return {}
    middle = statistics.median(rates.values())
    low = [key for key, rate in rates.items() if rate < middle * percent / 100]
    others = [rate for key, rate in rates.items() if key not in low]
    if len(low) * MOST_SLOW > len(rates) or min(others) < middle * (1 - AGREE_PERCENT / 100):
        return {}
    return {key: Outlier(len(others), middle) for key in low}


def of_pairs(pairs: list[dict[str, Any]], percent: float) -> dict[tuple[str, str, str], Outlier]:
    """By from, to and way (write, read), among the pairs of a record that have the same path and expectation; among
    those of which nothing is expected for the same reason, as of all that NVLink joins."""
    return _by_kind({(pair["from"], pair["to"], way): ((way, *_path(pair), pair["verdict"]), pair[way]["gb_s"])
                     for pair in pairs for way in ("write", "read") if pair[way]}, percent)


def _path(pair: dict[str, Any]) -> tuple[Any, str]:
    nothing = pair["expected_gb_s"] is None
    return pair["expected_gb_s"], pair["expected_why"] if nothing else pair["path"]


def of_gpus(gpus: list[dict[str, Any]], percent: float) -> dict[tuple[str, str], Outlier]:
    """By address and direction (h2d, d2h), among the GPUs of a record that are of one model and expectation."""
    return _by_kind({(gpu["bdf"], way): ((way, gpu["name"], gpu[way]["expected_gb_s"], gpu["verdict"]),
                                         gpu[way]["gb_s"])
                     for gpu in gpus for way in ("h2d", "d2h") if gpu[way]}, percent)


def _by_kind(rates: Mapping[Any, tuple[Hashable, float]], percent: float) -> dict[Any, Outlier]:
    kinds: dict[Hashable, dict[Any, float]] = {}
    for key, (kind, rate) in rates.items():
        kinds.setdefault(kind, {})[key] = rate
    return {key: found for kind in kinds.values() for key, found in outliers(kind, percent).items()}
