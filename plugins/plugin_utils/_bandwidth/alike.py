# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Compare similar copies with each other: one far below all the others is slow, whatever rate is expected."""
from __future__ import annotations

import statistics
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

FEWEST = 6                  # copies to compare: among fewer, outliers cannot be determined
MOST_SLOW = 4               # outliers are at most one in this many: if more are slow, there are two kinds of copies
AGREE_PERCENT = 10          # largest deviation of the others from their median


class Outlier(NamedTuple):
    others: int             # number of copies that agree with each other
    gb_s: float             # their median


def outliers(rates: Mapping[Hashable, float], percent: float) -> dict[Hashable, Outlier]:
    """Copies that reach less than `percent` of the others, which must agree with each other and be numerous enough."""
    if len(rates) < FEWEST:
        return {}
    middle = statistics.median(rates.values())
    low = [key for key, rate in rates.items() if rate < middle * percent / 100]
    others = [rate for key, rate in rates.items() if key not in low]
    if len(low) * MOST_SLOW > len(rates) or min(others) < middle * (1 - AGREE_PERCENT / 100):
        return {}
    return {key: Outlier(len(others), middle) for key in low}


def of_pairs(pairs: list[dict[str, Any]], percent: float) -> dict[tuple[str, str, str], Outlier]:
    """Outliers by (from, to, direction: write or read), among pairs of a record with the same path and expected rate.

    Pairs without an expected rate are grouped by the reason, for example all pairs over NVLink.
    """
    return _by_kind({(pair["from"], pair["to"], way): ((way, *_path(pair), pair["verdict"]), pair[way]["gb_s"])
                     for pair in pairs for way in ("write", "read") if pair[way]}, percent)


def _path(pair: dict[str, Any]) -> tuple[Any, str]:
    nothing = pair["expected_gb_s"] is None
    return pair["expected_gb_s"], pair["expected_why"] if nothing else pair["path"]


def of_gpus(gpus: list[dict[str, Any]], percent: float) -> dict[tuple[str, str], Outlier]:
    """Outliers by (address, direction: h2d or d2h), among GPUs of a record with the same model and expected rate."""
    return _by_kind({(gpu["bdf"], way): ((way, gpu["name"], gpu[way]["expected_gb_s"], gpu["verdict"]),
                                         gpu[way]["gb_s"])
                     for gpu in gpus for way in ("h2d", "d2h") if gpu[way]}, percent)


def _by_kind(rates: Mapping[Any, tuple[Hashable, float]], percent: float) -> dict[Any, Outlier]:
    kinds: dict[Hashable, dict[Any, float]] = {}
    for key, (kind, rate) in rates.items():
        kinds.setdefault(kind, {})[key] = rate
    return {key: found for kind in kinds.values() for key, found in outliers(kind, percent).items()}
