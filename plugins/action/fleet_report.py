# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._fleet import table
from ..plugin_utils._fleet.files import write_fleet
from ..plugin_utils._records.host_folder import RecordError
from ..plugin_utils._rollout import gate
from ..plugin_utils._rollout import rollout as rollout_state

ARGUMENTS = {"report_dir": {"type": "str", "default": "reports"}, "tell_rollout": {"type": "bool", "default": False},
             "csv": {"type": "bool", "default": False}}


class ActionModule(GuardedAction):
    """Makes the page of the fleet from what the audits left on the controller; asks no host for anything."""

    READS = False
    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        report_dir = str(arguments["report_dir"])
        try:
            told = {"rollout": self._tell(report_dir)} if arguments["tell_rollout"] else {}
            return {**result, "changed": False, **write_fleet(report_dir, arguments["csv"]), **told}
        except RecordError as problem:
            # Returned, not raised: a task may say with failed_when that it is no reason to stop. It is said anyway.
            Display().warning(f"the page of the fleet was not written: {problem}")
            return {**result, "failed": True, "msg": str(problem)}

    def _tell(self, report_dir: str) -> list[str]:
        """The table of the last rollout, shown and put down as shown; nothing where that was done when it ended."""
        rollout = next(rollout_state.newest(report_dir), None)
        if rollout is None or rollout.document.get("told_at"):
            return []
        if rollout.runs:
            lines = [f"Rollout {rollout.run_id} is under way: its table comes when it ends."]
        else:
            states = gate.decide(rollout, set(rollout.document["hosts"]))
            lines = table.rollout_table(rollout, states, every=Display().verbosity > 0)
            rollout.tell()
        self.console.show("\n".join(lines))
        return lines
