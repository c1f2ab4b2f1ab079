# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils._fleet_files import write_fleet
from ..plugin_utils._record import RecordError

ARGUMENTS = {"report_dir": {"type": "str", "default": "reports"}}


class ActionModule(ActionBase):
    """Makes the page of the fleet from what the audits left on the controller; asks no host for anything."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            return {**result, "changed": False, **write_fleet(str(arguments["report_dir"]))}
        except RecordError as problem:
            # Returned, not raised: a task may say with failed_when that it is no reason to stop. It is said anyway.
            Display().warning(f"the page of the fleet was not written: {problem}")
            return {**result, "failed": True, "msg": str(problem)}
