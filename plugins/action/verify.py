# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils import _reboot, _way_back
from ..plugin_utils._outputs import note_verify
from ..plugin_utils._plain import plain
from ..plugin_utils._record import HostFolder, RecordError
from ..plugin_utils._settings import heed
from ..plugin_utils._text import clean

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
}


class ActionModule(ActionBase):
    """Holds what the journal says was set against what is, on every device, and writes nothing."""

    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        heed(task_vars, self._templar.template)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = plain(task_vars["inventory_hostname"])
        # The setters are only asked what they would do.
        self._task.check_mode = True
        try:
            folder = HostFolder(arguments["report_dir"], host)
            journal = self._ask("gpuhost.tuning.journal_info", {"run_id": arguments["run_id"]}, arguments, task_vars)
            lines, said = self._compare(journal, folder, arguments, task_vars)
            lines += _way_back.driver_lines(journal["driver_mismatch"])
            reboot = self._after_reboot(journal["boot_id"], folder, arguments, task_vars)
            note_verify(folder, arguments["run_id"], _way_back.tally(lines) + (f" ({said})" if said else ""))
        except (RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        return {**result, "changed": False, **self._answer(host, lines, said, reboot)}

    def _compare(self, journal: dict[str, Any], folder: HostFolder, arguments: dict[str, Any],
                 task_vars: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
        if journal["status"] not in ("ok", "absent"):
            raise ValueError(f"the journal of the host cannot be read: {journal['detail']}")
        if not journal["expected_values"]:
            return _way_back.without_journal(folder, arguments["run_id"], journal["boot_id"])
        changes = []
        for kind, values in journal["expected_values"].items():
            options = {"values": values, "on_refusal": "report"}
            if kind == "pcie_maxreadreq":
                options["allow_busy"] = True    # nothing is written: a GPU at work is verified like any other
            changes += self._ask(_way_back.MODULES[kind], options, arguments, task_vars)["changes"]
        return _way_back.compare(journal["expected_values"], changes), None

    def _after_reboot(self, boot_id: str | None, folder: HostFolder, arguments: dict[str, Any],
                      task_vars: dict[str, Any]) -> dict[str, Any]:
        """What the last reboot broke and changed, where the controller has an audit of the boot before."""
        document = _reboot.previous(folder, boot_id)
        if document is None:
            return {"since": None, "broken": [], "changed": []}
        read = self._ask("gpuhost.tuning.host_info", {"tunables": []}, arguments, task_vars)
        return _reboot.compare(document, read["facts"])

    def _ask(self, module: str, options: dict[str, Any], arguments: dict[str, Any],
             task_vars: dict[str, Any]) -> dict[str, Any]:
        answer = plain(self._execute_module(module_name=module, task_vars=task_vars,
                                            module_args={"sysroot": arguments["sysroot"], **options}))
        if answer.get("failed"):
            raise AnsibleActionFail(f"{module}: {answer.get('msg', 'failed without a message')}")
        return answer

    def _answer(self, host: str, lines: list[dict[str, Any]], said: str | None,
                reboot: dict[str, Any]) -> dict[str, Any]:
        shown = [f"{host}: {_way_back.tally(lines)}" + (f" ({said})" if said else "")]
        shown += [f"  {_way_back.describe(line)}" for line in lines if line["state"] != _way_back.FINE]
        broken = [text for one in reboot["broken"] for text in _reboot.describe(**one)]
        if reboot["since"]:
            shown.append(f"{host}: {_reboot.tally(reboot)}")
            shown += [f"  {text}" for text in [*reboot["changed"], *broken]]
        Display().display("\n".join(clean(line) for line in shown))
        by_state = {state: [line for line in lines if line["state"] == state] for state in _way_back.STATES}
        return {**by_state, "said": said, "broken": reboot["broken"], "changed_by_reboot": reboot["changed"],
                "broken_msg": "\n".join(broken), "msg": "\n".join(map(_way_back.describe, by_state[_way_back.DRIFT]))}
