# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._checks.desired_state import addresses, desired_values
from ..plugin_utils._checks.user_yaml import read_variable
from ..plugin_utils._plan.persist import find_run, lasting
from ..plugin_utils._records.host_folder import HostFolder, RecordError, new_run_id
from ..plugin_utils._render.text import clean, count

ARGUMENTS = {
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
    "values": {"type": "raw", "default": {}},
}


class ActionModule(GuardedAction):
    """Choose the values to persist on a host; a separate task runs the module that writes them."""

    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "persist")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = untag(task_vars["inventory_hostname"])
        given = untag(arguments["values"])
        try:
            # A named run takes precedence over values, which may be the ones set for every tune.
            if given and not arguments["run_id"]:
                run_id, values = new_run_id(), desired_values(read_variable(given, "gpuhost_values", {}))
                origin = f"gpuhost_values ({given})" if isinstance(given, str) else "gpuhost_values"
            else:
                run_id, values = find_run(HostFolder(arguments["report_dir"], host), arguments["run_id"])
                origin = f"run {run_id}"
        except (RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        values, left = lasting(values)
        if not values:
            raise AnsibleActionFail("\n".join([f"{origin} holds no value that could be made to last", *left]))
        shown = [f"{host}: {count(len(addresses(values)), 'value')} of {origin}", *(f"  {line}" for line in left)]
        self.console.show("\n".join(map(clean, shown)))
        return {**result, "changed": False, "run_id": run_id, "values": values, "origin": origin}
