# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persistence mode matters only where nothing else keeps a GPU initialised."""
from __future__ import annotations

import pytest

from neutral_facts import epyc, merge
from verdicts import judged


@pytest.mark.parametrize("seen, verdict, reason", [
    ({}, "fail", "persistence mode is off"),
    ({"display": "Enabled"}, "not_applicable", "a display keeps the GPU initialised"),
    ({"display_server": "Xorg"}, "not_applicable", "Xorg keeps the GPU initialised"),
    ({"display": None, "display_server": "Xorg"}, "not_applicable", "Xorg keeps the GPU initialised"),
    ({"display": None}, "fail", "persistence mode is off"),
])
def test_a_gpu_without_persistence_mode(seen, verdict, reason):
    facts = merge(epyc(), {"nvidia": {"smi": {"gpus": [{"persistence": "Disabled", **seen}]}}, "gpus": [{}]})
    [finding] = [one for (check, _subject), one in judged(facts).items() if check == "nvidia_persistence"]
    assert (finding["verdict"], finding["reason"]) == (verdict, reason)
