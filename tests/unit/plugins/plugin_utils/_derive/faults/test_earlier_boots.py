# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An error of one earlier boot may be over; one of several boots comes back."""
from __future__ import annotations

import pytest

from neutral_facts import epyc, merge
from verdicts import judged

FELL_OFF, PROGRAM_FAULT, ACTION = 79, 31, 154       # Xids
ONE, OTHER = "0000:01:00", "0000:02:00"


def boot(number, *xids):
    return {"boot": number, "mismatches": [], "init_failures": [],
            "xids": [{"bdf": bdf, "xid": xid, "count": 3} for bdf, xid in xids]}


@pytest.mark.parametrize("boots, priority", [
    ([boot(-1, (ONE, FELL_OFF))], "info"),
    ([boot(-1, (ONE, FELL_OFF)), boot(-4, (ONE, FELL_OFF))], "P1"),
    ([boot(-1, (ONE, FELL_OFF)), boot(-2, (OTHER, FELL_OFF))], "info"),
    ([boot(-1, (ONE, PROGRAM_FAULT)), boot(-2, (ONE, PROGRAM_FAULT))], "info"),
    ([boot(-1, (ONE, ACTION)), boot(-2, (ONE, ACTION))], "info"),       # what it says is not kept
])
def test_a_gpu_that_was_unusable_in_several_boots(boots, priority):
    finding = judged(merge(epyc(), {"kernel": {"earlier_boots": {"status": "ok", "value": boots}}}))[
        "earlier_boots", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", priority)
    assert ("expect it again" in finding["problem"]) == (priority == "P1")
