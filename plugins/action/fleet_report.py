# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._audit import last_run
from ..plugin_utils._fleet import table
from ..plugin_utils._fleet.files import Summary, write_fleet
from ..plugin_utils._fleet.gather import gather
from ..plugin_utils._fleet.statistics import statistics
from ..plugin_utils._records.host_folder import RecordError
from ..plugin_utils._rollout import gate
from ..plugin_utils._rollout import rollout as rollout_state

ARGUMENTS = {"report_dir": {"type": "str", "default": "reports"}, "tell_rollout": {"type": "bool", "default": False},
             "gather": {"type": "list", "elements": "str", "default": []},
             "csv": {"type": "bool", "default": False}, "run_id": {"type": "str"},
             "stats": {"type": "str", "choices": ["audit", "tune_runtime", "verify"]}}


class ActionModule(GuardedAction):
    """Write the fleet page from the audits on the controller; no host is contacted."""

    READS = False
    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        self.collect_no_garbage()
        result = self.begin(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        report_dir = str(arguments["report_dir"])
        try:
            taken = gather(report_dir, [str(folder) for folder in arguments["gather"]])
            told = {"rollout": self._tell(report_dir)} if arguments["tell_rollout"] else {}
            told |= {"gathered": taken} if arguments["gather"] else {}
            return {**result, "changed": False, **told,
                    **write_fleet(report_dir, arguments["csv"], self._summary(untag(arguments), task_vars))}
        except RecordError as problem:
            # Returned, not raised, so that failed_when of a task can ignore it; the warning is shown in any case.
            Display().warning(f"the fleet page was not written: {problem}")
            return {**result, "failed": True, "msg": str(problem)}

    @staticmethod
    def _summary(arguments: dict[str, Any], task_vars: dict[str, Any]) -> Summary | None:
        """Statistics of this play's hosts on which a workflow can branch."""
        playbook, report_dir, run_id = arguments["stats"], arguments["report_dir"], arguments["run_id"]
        if not playbook:
            return None
        hosts = untag(task_vars["ansible_play_hosts_all"])
        states = last_run.states(report_dir, last_run.this_run(task_vars)) if playbook == "audit" else {}
        if playbook == "tune_runtime" and run_id:
            states = rollout_state.states_of(report_dir, run_id)
        states = {host: states[host] for host in hosts if host in states}
        return lambda rows, page: {"ansible_stats": statistics(playbook, run_id, hosts, states, rows, page)}

    def _tell(self, report_dir: str) -> list[str]:
        """Print the table of the last rollout and record that; empty if it was printed when the rollout ended."""
        rollout = next(rollout_state.newest(report_dir), None)
        if rollout is None or rollout.document.get("told_at"):
            return []
        if rollout.runs:
            lines = [f"Rollout {rollout.run_id} is in progress: its table is printed when it ends."]
        else:
            states = gate.decide(rollout, set(rollout.document["hosts"]))
            lines = table.rollout_table(rollout, states, every=Display().verbosity > 0)
            rollout.tell()
        self.console.show("\n".join(lines))
        return lines
