# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._audit.audit import PROBLEMS
from ..plugin_utils._checks import catalogue
from ..plugin_utils._records import host_folder
from ..plugin_utils._records.host_folder import shown_path

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "checks": {"type": "list", "elements": "str", "default": []},
    "anonymise": {"type": "bool", "default": False},
    "writable": {"type": "bool", "default": False},
    "max_bytes": {"type": "int", "default": 64 << 20},
}
SPARE = 16 << 20            # bytes for headers and names around the files
FORWARDED = ("sysroot", "anonymise", "writable", "max_bytes")


class ActionModule(GuardedAction):
    """Read a host with host_record and write the archive as the user who runs Ansible."""

    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "record")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            folder = host_folder.HostFolder(arguments["report_dir"], untag(task_vars["inventory_hostname"]))
            asked = catalogue.asked_tunables(catalogue.load(untag(arguments["checks"])))
            read = self._execute_module(
                module_name="gpuhost.tuning.host_record", task_vars=task_vars,
                module_args={**{name: arguments[name] for name in FORWARDED}, "tunables": asked})
            if read.get("failed") or "archive" not in read:
                return {**result, **failure_of(read, "host_record failed without a message")}
            if not isinstance(read["archive"], str) or len(read["archive"]) > 2 * (arguments["max_bytes"] + SPARE):
                raise ValueError("the host returned an invalid archive: more bytes than max_bytes "
                                 f"{arguments['max_bytes']} allows, or not text")
            path = folder.path / "recording.tar.gz"
            host_folder.write_bytes(path, base64.b64decode(untag(read["archive"]), validate=True))
        except PROBLEMS as problem:
            raise AnsibleActionFail(str(problem)) from problem
        return {**result, "changed": False, "recording": shown_path(path), "files": read["files"],
                "sha256": read["sha256"]}
