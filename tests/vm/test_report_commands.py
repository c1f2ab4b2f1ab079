# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run-time commands of a report, pasted into a root shell on a real kernel, forth and back."""
from __future__ import annotations

import json

import pytest

from report_actions import actions

pytestmark = pytest.mark.vm
GUESTS = ["debian13"]
# One GPU of the flawed test hardware takes no other value, and setpci does not say so.
FIXED = {("pcie_maxreadreq", "0002:01:00.0"): ("fail", 512)}


@pytest.fixture(scope="module")
def audited(play, controller, guests):
    """Audits the guest; what each check of a run-time fix found, by check and subject, and the report."""
    def audit():
        play("audit.yml", gpuhost_profile="full", gpuhost_dedicated=True, gpuhost_allow_busy=True).succeeded()
        folder = controller.reports / GUESTS[0]
        findings = json.loads((folder / "audit.json").read_text())["findings"]
        return {(one["check"], one["subject"]): (one["verdict"], one["actual"]) for one in findings
                if one["fix"]["class"] == "runtime"}, (folder / "system-improve.md").read_text()

    return audit


def test_the_commands_of_a_report_go_forth_and_back(guests, audited):
    guest = guests[GUESTS[0]]
    guest.run("testhw flawed")
    before, report = audited()
    todo = [one for one in actions(report, {check for check, _subject in before}) if one.runtime and one.do]
    assert {"cpu_governor", "pcie_maxreadreq", "swappiness"} & {one.check for one in todo}
    for action in todo:
        assert action.undo, action
        guest.run(action.do)
    now, _report = audited()
    done = {one.check for one in todo}
    assert {pair: found for pair, found in now.items() if pair[0] in done and found[0] == "fail"} == FIXED
    for action in reversed(todo):
        guest.run(action.undo)
    after, _report = audited()
    assert after == before
    print(f"{len(todo)} actions: {sum(len(one.do.splitlines()) for one in todo)} commands forth, "
          f"{sum(len(one.undo.splitlines()) for one in todo)} back")
