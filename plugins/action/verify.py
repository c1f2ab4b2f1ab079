# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._answers.facts import take_packed
from ..plugin_utils._answers.limits import memory_limit
from ..plugin_utils._answers.modules import take_answer
from ..plugin_utils._audit.outputs import note_verify
from ..plugin_utils._derive.persisted import persisted_values
from ..plugin_utils._plan import drift
from ..plugin_utils._plan import reboot as plan_reboot
from ..plugin_utils._plan.kept import Kept
from ..plugin_utils._records.host_folder import HostFolder, RecordError
from ..plugin_utils._render.text import clean

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
}


class ActionModule(GuardedAction):
    """Compare the values set according to the journal with the current ones, on every device; writes nothing."""

    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = untag(task_vars["inventory_hostname"])
        # The setters run in check mode only.
        self._task.check_mode = True
        try:
            folder = HostFolder(arguments["report_dir"], host)
            journal = take_answer("journal", self._ask("gpuhost.tuning.journal_info", {"run_id": arguments["run_id"]},
                                                       arguments, task_vars))
            lines, message = drift.leave_persisted(*self._compare(journal, folder, arguments, task_vars),
                                                   persisted_values(journal["persisted"]))
            lines = drift.name_origins(lines, folder) + drift.driver_lines(journal["driver_mismatch"])
            for line in drift.unusable_lines(journal["unusable"]):
                Display().warning(clean(f"{host}: {line}"))
            reboot = self._after_reboot(journal["boot_id"], folder, arguments, task_vars)
            kept = Kept(journal["persisted"])
            note_verify(folder, arguments["run_id"], "; ".join([drift.summary(lines, message), *kept.tally()]))
        except (RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        return {**result, "changed": False, **self._answer(host, lines, message, reboot, kept)}

    def _compare(self, journal: dict[str, Any], folder: HostFolder, arguments: dict[str, Any],
                 task_vars: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
        if journal["status"] not in ("ok", "absent"):
            raise ValueError(f"the journal of the host cannot be read: {journal['detail']}")
        expired = drift.expired_guests(journal["expired"])
        if not journal["expected_values"]:
            if expired:
                return expired, None
            if drift.all_is_back(journal, arguments["run_id"]):
                return [], drift.BACK
            return drift.without_journal(folder, arguments["run_id"], journal["boot_id"])
        changes = []
        for kind, values in journal["expected_values"].items():
            options = {"values": values, "on_refusal": "report"}
            if kind == "pcie_maxreadreq":
                options["allow_busy"] = True    # nothing is written, so a busy GPU can be verified as well
            changes += take_answer("changes", self._ask(drift.MODULES[kind], options, arguments, task_vars))["changes"]
        return drift.find_drift(journal["expected_values"], changes) + expired, None

    def _after_reboot(self, boot_id: str | None, folder: HostFolder, arguments: dict[str, Any],
                      task_vars: dict[str, Any]) -> dict[str, Any]:
        """What the last reboot broke or changed, if the controller has an audit of the previous boot."""
        document = plan_reboot.previous(folder, boot_id)
        if document is None:
            return {"since": None, "broken": [], "changed": []}
        read = self._ask("gpuhost.tuning.host_info", {"tunables": [], "packed": True}, arguments, task_vars)
        with memory_limit():
            return plan_reboot.compare_boots(document, take_packed(read.get("facts_packed")))

    def _ask(self, module: str, options: dict[str, Any], arguments: dict[str, Any],
             task_vars: dict[str, Any]) -> dict[str, Any]:
        answer = untag(self._execute_module(module_name=module, task_vars=task_vars,
                                            module_args={"sysroot": arguments["sysroot"], **options}))
        if answer.get("failed"):
            raise AnsibleActionFail(f"{module}: {failure_of(answer, 'failed without a message')['msg']}")
        return answer

    def _answer(self, host: str, lines: list[dict[str, Any]], message: str | None,
                reboot: dict[str, Any], kept: Kept) -> dict[str, Any]:
        shown = [f"{host}: {message if message == drift.BACK else drift.summary(lines, message)}"]
        shown += [f"  {drift.describe(line)}" for line in lines if line["state"] != drift.FINE]
        shown += kept.shown(host)
        broken = [text for one in reboot["broken"] for text in plan_reboot.describe(**one)]
        if reboot["since"]:
            shown.append(f"{host}: {plan_reboot.tally(reboot)}")
            shown += [f"  {text}" for text in [*reboot["changed"], *broken]]
        self.console.show("\n".join(clean(line) for line in shown))
        by_state = {state: [line for line in lines if line["state"] == state] for state in drift.STATES}
        return {**by_state, **kept.answer(), "said": message, "broken": reboot["broken"],
                "changed_by_reboot": reboot["changed"], "broken_msg": "\n".join(broken),
                "msg": "\n".join(map(drift.describe, by_state[drift.DRIFT]))}
