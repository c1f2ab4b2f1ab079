# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._audit.audit import PROBLEMS
from ..plugin_utils._experiment.machine import Machine
from ..plugin_utils._experiment.prepare import Prepared, prepare, read_before, schedule_lines
from ..plugin_utils._experiment.record import EXPERIMENT, LOCK, cut_short, hold, result_lines
from ..plugin_utils._experiment.session import BEFORE, ENDS, Session, summary_line
from ..plugin_utils._experiment.settings import ExperimentError
from ..plugin_utils._experiment.toggles import MODES, PLAN
from ..plugin_utils._records.host_folder import HostFolder, check_run_id, shown_path

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str", "required": True},
    "changes": {"type": "list", "elements": "dict", "required": True},
    "left_alone": {"type": "list", "elements": "str", "default": []},
    "benchmark": {"type": "raw", "required": True},
    "overrides": {"type": "dict", "default": {}},
    "mode": {"type": "str", "default": PLAN, "choices": list(MODES)},
    "only": {"type": "list", "elements": "str", "default": []},
    "blocks": {"type": "int", "default": 10},
    "matters": {"type": "float", "default": 2.0},
    "end": {"type": "str", "default": BEFORE, "choices": list(ENDS)},
    "seed": {"type": "int"},
    "budget_minutes": {"type": "float"},
    "pause_seconds": {"type": "float", "default": 30.0},
    "allow_busy": {"type": "bool", "default": False},
}


class ActionModule(GuardedAction):
    """Alternate between before and after on one host, measure in both states, and report the difference."""

    READS = False
    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "benchmark", "experiment")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        arguments, host = untag(arguments), untag(task_vars["inventory_hostname"])
        checked = self._task.check_mode
        try:
            run_id = check_run_id(arguments["run_id"])
            folder = HostFolder(arguments["report_dir"], host)
            machine = Machine(self._asker(arguments["sysroot"], task_vars), run_id, arguments["allow_busy"])
            with contextlib.nullcontext() if checked else hold(folder.path / LOCK, run_id):
                message = cut_short(folder, read_before(folder, run_id)["boot_id"], machine.left_behind)
                if message:
                    raise AnsibleActionFail(f"the experiment was not started: {message}")
                prepared = prepare(folder, run_id, arguments)
                self.console.show("\n".join(schedule_lines(host, run_id, prepared)))
                if checked:
                    return {**result, **_promise(prepared)}
                session = Session(folder, machine, prepared, arguments, self.console.show, _loud(task_vars))
                document = session.carry_out()
        except (*PROBLEMS, ExperimentError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        return {**result, **self._answer(host, folder, session, document), "budget": prepared.budget}

    def _asker(self, sysroot: str, task_vars: dict[str, Any]) -> Any:
        def ask(module: str, arguments: dict[str, Any], check: bool) -> Mapping[str, Any]:
            # A preflight call of a setter runs in check mode regardless of the play's mode.
            self._task.check_mode = check
            try:
                return untag(self._execute_module(module_name=module, task_vars=task_vars,
                                                  module_args={"sysroot": sysroot, **arguments}))
            finally:
                self._task.check_mode = False
        return ask

    def _answer(self, host: str, folder: HostFolder, session: Session, document: dict[str, Any]) -> dict[str, Any]:
        changed = [change for change in session.changes if change["outcome"] == "changed"]
        lines = [summary_line(host, document, session.changes), *result_lines(document)]
        self.console.show("\n".join(lines))
        answer = {"changed": bool(changed or document["drift"]), "changes": session.changes, "ended": document["ended"],
                  "arms": document["arms"], "record": shown_path(folder.run(document["run_id"]) / EXPERIMENT)}
        if session.complete:
            return answer
        return {**answer, "failed": True, "msg": f"{lines[0]}. See {answer['record']}"}


def _promise(prepared: Prepared) -> dict[str, Any]:
    return {"changed": False, "changes": [], "ended": "check mode: not started", "arms": [], "record": None,
            "budget": prepared.budget}


def _loud(task_vars: dict[str, Any]) -> bool:
    """Whether each run is printed on its own line; with many hosts the lines would be interleaved."""
    return len(task_vars["ansible_play_hosts_all"]) == 1 or Display().verbosity > 0
