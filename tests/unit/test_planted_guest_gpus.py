# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual machine with GPUs: what is the hypervisor's to decide is decided here only where somebody asks for it."""
from __future__ import annotations

from hosts.guest_l40s import CARDS, guest_with_l40s
from verdicts import judged


def test_in_a_vm_the_register_is_judged_and_planned_only_where_it_is_asked_for(facts_of):
    facts = facts_of(guest_with_l40s)
    left, asked = judged(facts), judged(facts, include=["pcie_maxreadreq"])
    assert [left["pcie_maxreadreq", card]["verdict"] for card in CARDS] == ["not_applicable"] * 2
    assert [(asked["pcie_maxreadreq", card]["verdict"], asked["pcie_maxreadreq", card]["fix"]["planned"])
            for card in CARDS] == [("fail", True)] * 2


def test_what_another_check_is_asked_for_changes_nothing(facts_of):
    found = judged(facts_of(guest_with_l40s), include=["perf_event_paranoid"])
    assert {found["pcie_maxreadreq", card]["verdict"] for card in CARDS} == {"not_applicable"}
