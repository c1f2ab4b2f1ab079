# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._placement import applied
from ..plugin_utils._records.host_folder import HostFolder, RecordError
from ..plugin_utils._render.text import clean, count

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
}
_HANDED_ON = ("changed", "changes", "msg", "diff", "failed")


class ActionModule(GuardedAction):
    """Pass the last audit's proposal, or the undo of an earlier run, to guest_placement; the record comes first."""

    READS = False
    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "placement")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host, present = untag(task_vars["inventory_hostname"]), arguments["state"] == "present"
        try:
            folder = HostFolder(arguments["report_dir"], host).path
            values = applied.proposed_values(folder) if present else applied.recorded_values(folder)
            if not values:
                self.console.show(clean(f"{host}: no other placement of a VM is proposed" if present else
                                        f"{host}: nothing was set here that could be taken back"))
                return {**result, "changed": False, "changes": []}
            at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            if present and arguments["sysroot"] == "/" and not self._task.check_mode:
                applied.record(folder, host, at, values)
            done = untag(self._execute_module(module_name="gpuhost.tuning.guest_placement", task_vars=task_vars,
                                              module_args={"values": values, "sysroot": arguments["sysroot"]}))
            if "changes" not in done:
                return {**result, **failure_of(done, "guest_placement failed without a message")}
            if not present and not self._task.check_mode:
                applied.forget(folder, host, at, [change["address"] for change in done["changes"]
                                                  if change["outcome"] in ("changed", "unchanged")])
        except RecordError as problem:
            raise AnsibleActionFail(str(problem)) from problem
        except (KeyError, TypeError) as problem:
            raise AnsibleActionFail(f"a record of the placement in {folder} is damaged or of another release "
                                    f"({problem!r}): audit the host again") from problem
        self._show(host, done)
        return {**result, **{name: done[name] for name in _HANDED_ON if name in done}}

    def _show(self, host: str, done: dict[str, Any]) -> None:
        made = sum(change["outcome"] in ("changed", "would_change") for change in done["changes"])
        self.console.show(clean(f"{host}: {count(made, 'VM')} of {len(done['changes'])} set, each for its next start"))
        for line in done["msg"].splitlines():
            self.console.show(clean(line))
