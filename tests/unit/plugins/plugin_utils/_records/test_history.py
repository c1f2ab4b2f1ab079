# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import history as records_history

from audit_document import document, finding

FIRST, SECOND = "20261129T183000Z-4f2a", "20261130T183000Z-0b1c"


@pytest.fixture
def empty(tmp_path):
    return records_history.read(tmp_path / "history.json")


def audit(value, verdict="fail", *, at="2026-11-29T18:30:00Z", check="swappiness", **more):
    made = document([finding(check, verdict, actual=value, **more)])
    made["collected_at"] = at
    return made


def test_the_first_audit_has_nothing_to_drift_from(empty):
    history = records_history.add(empty, audit("60"), FIRST, "audit")
    assert (history["since"], history["drift"]) == (None, [])
    assert history["audits"] == [{"run_id": FIRST, "stage": "audit", "at": "2026-11-29T18:30:00Z", "said": "",
                                  "profile": "inference", "failing": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                                  "things": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                                  "places": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                                  "unknown": 0}]


def test_what_a_run_changes_itself_is_no_drift_and_what_changed_since_is(empty):
    history = records_history.add(empty, audit("60"), FIRST, "before")
    history = records_history.add(history, audit("10", "pass", at="2026-11-29T18:31:00Z"), FIRST, "after")
    assert history["drift"] == []
    history = records_history.add(history, audit("35", at="2026-11-30T18:30:00Z"), SECOND, "before")
    drift = [{"check": "swappiness", "subject": "", "was": ["pass", "10"], "now": ["fail", "35"]}]
    assert (history["since"], history["drift"]) == ("2026-11-29T18:31:00Z", drift)
    history = records_history.add(history, audit("10", "pass", at="2026-11-30T18:31:00Z"), SECOND, "after")
    assert (history["since"], history["drift"]) == ("2026-11-29T18:31:00Z", drift)


@pytest.mark.parametrize("was, now, drifted", [
    (("60", "fail", {}), ("60", "fail", {}), False),
    (("60", "fail", {}), ("50", "fail", {}), True),
    (("128", "pass", {}), ("256", "pass", {}), True),
    (("31 C", "pass", {"fix_class": "manual"}), ("33 C", "pass", {"fix_class": "manual"}), False),
    (("31 C", "pass", {"fix_class": "manual"}), ("93 C", "fail", {"fix_class": "manual"}), True),
    ((None, "unknown", {}), ("60", "fail", {}), True),
    (("16", "pass", {"subject": "0000:01:00.0"}), ("16", "pass", {"subject": "0000:11:00.0"}), True),
    (("60", "fail", {"check": "one"}), ("60", "fail", {"check": "another"}), False),
])
def test_what_counts_as_drift(empty, was, now, drifted):
    history = records_history.add(empty, audit(*was[:2], **was[2]), FIRST, "audit")
    assert bool(records_history.add(history, audit(*now[:2], **now[2]), SECOND, "audit")["drift"]) is drifted


def test_a_device_that_came_or_went_is_named(empty):
    history = records_history.add(empty, audit("16", "pass", subject="0000:01:00.0"), FIRST, "audit")
    assert records_history.add(history, audit("16", "pass", subject="0000:11:00.0"), SECOND, "audit")["drift"] == [
        {"check": "swappiness", "subject": "0000:01:00.0", "was": ["pass", "16"], "now": None},
        {"check": "swappiness", "subject": "0000:11:00.0", "was": None, "now": ["pass", "16"]}]


def test_a_verify_is_noted_and_is_no_audit_to_drift_from(empty):
    history = records_history.add(empty, audit("60"), FIRST, "audit")
    history = records_history.verified(history, FIRST, "2026-11-29T19:00:00Z", "10 fine, 1 drift")
    assert (history["audits"][-1]["stage"], history["audits"][-1]["said"]) == ("verify", "10 fine, 1 drift")
    assert records_history.add(history, audit("60"), SECOND, "audit")["since"] == "2026-11-29T18:30:00Z"


def test_the_history_does_not_grow_without_end(empty):
    history = empty
    for number in range(40):
        history = records_history.add(history, audit("60"), f"20261129T1830{number:02d}Z-4f2a", "audit")
    assert len(history["audits"]) == 30
    assert history["audits"][0]["run_id"] == "20261129T183010Z-4f2a"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "another/1"}'])
def test_a_history_that_cannot_be_understood_begins_anew(tmp_path, empty, text):
    (tmp_path / "history.json").write_text(text)
    assert records_history.read(tmp_path / "history.json") == empty
