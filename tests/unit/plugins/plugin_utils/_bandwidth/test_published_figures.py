# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of published figures in docs/evidence.md: each verdict is what the rules make of the figure."""
from __future__ import annotations

import pathlib

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import (
    COMPLETION_HEADER,
    INTEL_PEER_SHARE,
    SLOW_BELOW_PERCENT,
    WRITE_HEADER,
    is_slow,
    payload_gb_s,
)

from checkout import REPOSITORY

GEN5, GEN4 = (payload_gb_s(speed, 16, 256, WRITE_HEADER) for speed in (32.0, 16.0))
# The figure, and what it is held against: a sum of links, a share of them, or 80 % of what one GPU alone reaches.
ROWS = [
    ("56.6", "57.6", GEN5, "healthy"), ("54 / 39", "57.6 / nothing", GEN5, "healthy"),
    ("111", "115.2", 2 * GEN5, "healthy"), ("103", "115.2", 2 * GEN5, "healthy"), ("53.9", "57.6", GEN5, "healthy"),
    ("103", "115.2", 2 * GEN5, "healthy"), ("50", "115.2", 2 * GEN5, "slow: a detour"),
    ("204", "230.4", 4 * GEN5, "healthy"), ("2.7", "29.4 (80 % of one alone)", 36.8, "slow: writes collapse"),
    ("40.3", "29.4 (80 % of one alone)", 36.8, "healthy"),
    ("28", "41.6 (80 % of one alone)", 52.0, "slow: writes collapse"),
    ("20", "20.2", INTEL_PEER_SHARE * GEN4, "healthy"), ("25", "28.8", GEN4, "healthy"),
    ("41.4", "57.6", 2 * GEN4, "slow"), ("12.4", "14.6", payload_gb_s(8.0, 16, 256, COMPLETION_HEADER), "healthy")]


def table():
    text = pathlib.Path(REPOSITORY, "docs", "evidence.md").read_text(encoding="utf-8")
    part = text[text.index("### Published figures"):text.index("Sources: [1]")]
    return [[cell.strip() for cell in line.split("|")[2:5]] for line in part.splitlines() if line.startswith("| ")][1:]


def test_the_table_has_these_rows():
    assert table() == [[figure, expected, verdict] for figure, expected, _limit, verdict in ROWS]


@pytest.mark.parametrize("figure, expected, limit, verdict", ROWS)
def test_a_published_figure_gets_its_verdict(figure, expected, limit, verdict):
    told = float(expected.split()[0])
    assert told == round(limit * (SLOW_BELOW_PERCENT / 100 if "alone" in expected else 1), 1)
    assert is_slow(float(figure.split()[0]), limit, SLOW_BELOW_PERCENT) == verdict.startswith("slow")
