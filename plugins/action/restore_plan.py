# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible import next_step
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._answers.modules import take_answer
from ..plugin_utils._plan import drift
from ..plugin_utils._records.host_folder import HostFolder, RecordError, new_run_id
from ..plugin_utils._render.text import clean

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
    "force": {"type": "list", "elements": "str", "default": []},
    "leave": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(GuardedAction):
    """Plan the restore of a host from its journal; separate tasks run the setters with the values."""

    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = untag(task_vars["inventory_hostname"])
        journal = untag(self._execute_module(
            module_name="gpuhost.tuning.journal_info", task_vars=task_vars,
            module_args={"sysroot": arguments["sysroot"], "run_id": arguments["run_id"]}))
        if journal.get("failed"):
            return {**result, **failure_of(journal, "journal_info failed without a message")}
        try:
            journal = take_answer("journal", journal)
        except ValueError as problem:
            raise AnsibleActionFail(str(problem)) from problem
        if journal["status"] not in ("ok", "absent"):
            raise AnsibleActionFail(f"the journal of the host cannot be read: {journal['detail']}")
        try:
            values = drift.leave(drift.force(journal["restore_values"], untag(arguments["force"])),
                                 untag(arguments["leave"]))
            message = self._nothing(journal, host, arguments) if not values else drift.to_restore(values)
        except (RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        for line in drift.unusable_lines(journal["unusable"]):
            Display().warning(clean(f"{host}: {line}"))
        shown = [f"{host}: {message}", *(f"  {entry['address']}: {what}: {entry['reason']}"
                                         for what, key in (("left alone", "left_alone"), ("expired", "expired"))
                                         for entry in journal[key])]
        comes_back = drift.come_back(values, journal["persisted"])
        if comes_back:
            shown += [f"  {address}: persisted, comes back at the next boot" for address in comes_back]
            shown += ["To take that out too:", *next_step.lines("persist", "-e", "gpuhost_persist_state=absent")]
        self.console.show("\n".join(clean(line) for line in shown))
        return {**result, "changed": False, "run_id": new_run_id(), "values": values, "said": message,
                "persisted": comes_back,
                "left_alone": journal["left_alone"]}

    def _nothing(self, journal: dict[str, Any], host: str, arguments: dict[str, Any]) -> str:
        if journal["left_alone"] and not arguments["run_id"]:
            return "nothing to restore now: values that were not restored are left alone"
        if journal["expired"]:
            return "nothing to restore: the guests whose CPUs were set were restarted or stopped since"
        if any(run["this_boot"] for run in journal["runs"]):
            return "nothing to restore: every value is back at its original value"
        folder = HostFolder(arguments["report_dir"], host)
        _lines, message = drift.without_journal(folder, arguments["run_id"], journal["boot_id"])
        return f"nothing to restore: {message}"
