# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._intake.importing import import_files
from ..plugin_utils._intake.recorded_host import Refused
from ..plugin_utils._records.host_folder import RecordError
from ..plugin_utils._render.text import count

ARGUMENTS = {
    "files": {"type": "list", "elements": "str", "required": True},
    "name": {"type": "str"},
    "report_dir": {"type": "str", "default": "reports"},
}


class ActionModule(GuardedAction):
    """Convert files on the controller into recorded hosts; no host is contacted."""

    READS = False
    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "import")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        given = untag(arguments)
        try:
            hosts = import_files([os.path.expanduser(path) for path in given["files"]], given["name"] or None,
                                 given["report_dir"])
        except (Refused, RecordError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        self.console.show("\n".join(line for host in hosts for line in _lines(host)))
        return {**result, "changed": False, "hosts": hosts}


def _lines(host: dict[str, Any]) -> list[str]:
    """Terminal lines about the import of a host's files."""
    made = f" of {host['collected_at']}" if host["collected_at"] else ""
    also = f" and {count(len(host['files']) - 1, 'other file')}" if len(host["files"]) > 1 else ""
    return [f"{host['name']}: imported from {host['files'][0]}{also} ({host['kind']}{made})",
            *(f"  {note}" for note in host["notes"])]
