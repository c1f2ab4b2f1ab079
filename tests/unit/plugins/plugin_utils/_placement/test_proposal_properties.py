# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every proposal, whatever the host and its guests."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement
from hypothesis import given, settings
from pytest import approx

from facts_schema import document_problems, problems
from placement_checker import check
from placement_figures import figures
from random_placements import hosts


@settings(max_examples=120, deadline=None)
@given(hosts())
def test_a_proposal_is_feasible_and_never_worse(facts):
    assert problems("placement", facts["placement"]) == []
    made = placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})
    assert document_problems("placement.json", made) == []
    check(made, facts)
    by_hand = [figures(facts, made["guests"], which) for which in ("now", "proposed")]
    assert tuple(round(figure, 2) for figure in by_hand[1]) <= tuple(round(figure, 2) for figure in by_hand[0])
    for figured, said in zip(by_hand, made["measure"].values()):
        shown = {} if said is None else said
        wanted = [one for one, figure in zip(figured, shown.values()) if figure is not None]
        assert [figure for figure in shown.values() if figure is not None] == approx(wanted, abs=0.03)
