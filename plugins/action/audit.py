# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.color import stringc
from ansible.utils.display import Display

from ..plugin_utils._audit import PROBLEMS, Audit
from ..plugin_utils._plain import plain
from ..plugin_utils._report_terminal import full_report, short_line

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "profile": {"type": "str", "default": "inference"},
    "checks": {"type": "list", "elements": "str", "default": []},
    "waivers": {"type": "raw", "default": []},
    "overrides": {"type": "dict", "default": {}},
    "values": {"type": "raw", "default": {}},
    "only": {"type": "list", "elements": "str", "default": []},
    "skip": {"type": "list", "elements": "str", "default": []},
    "include": {"type": "list", "elements": "str", "default": []},
    "dedicated": {"type": "bool", "default": False},
    "allow_busy": {"type": "bool", "default": False},
    "fail_on": {"type": "str", "default": "", "choices": ["", "P0", "P1", "P2"]},
    "stage": {"type": "str", "default": "audit", "choices": ["audit", "compare", "before", "after"]},
    "run_id": {"type": "str"},
    "changes": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(ActionBase):
    """Reads a host with host_info, judges it here and writes records and reports as the user who runs Ansible."""

    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            audit = Audit(plain(task_vars["inventory_hostname"]), plain(arguments))
            read = self._execute_module(
                module_name="gpuhost.tuning.host_info", task_vars=task_vars,
                module_args={"sysroot": arguments["sysroot"], "tunables": audit.named_tunables()})
            if read.get("failed") or "facts" not in read:
                return {**result, **read}
            outcome = audit.judge(plain(read["facts"]))
        except PROBLEMS as problem:
            raise AnsibleActionFail(str(problem)) from problem
        self._show(audit, alone=len(task_vars["ansible_play_hosts_all"]) == 1)
        return {**result, "changed": False, **outcome}

    def _show(self, audit: Audit, alone: bool) -> None:
        display = Display()
        if alone or display.verbosity > 0:
            display.display(full_report(audit.document, audit.paths(), stringc))
        else:
            display.display(short_line(audit.document))
