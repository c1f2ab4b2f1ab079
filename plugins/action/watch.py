# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import getpass
import os
import shutil
import sys
import time
from typing import Any

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import PREFIX, check_variables
from ..plugin_utils._audit import last_run
from ..plugin_utils._records.host_folder import RecordError
from ..plugin_utils._watch import schedule
from ..plugin_utils._watch.lines import lines
from ..plugin_utils._watch.watch import watch

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "report_dir": {"type": "str", "default": "reports"},
    "textfile_dir": {"type": "str"},
    "fail_on_change": {"type": "bool", "default": False},
    "schedule": {"type": "str", "choices": [schedule.TIMER, schedule.CRON, schedule.AWX]},
    "minutes": {"type": "int", "default": 60},
}
_OF_THE_SCHEDULE = ("gpuhost_watch_schedule", "gpuhost_watch_minutes")


class ActionModule(GuardedAction):
    """Report on the controller what changed in this run's audits; write a systemd user timer on request."""

    READS = False
    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "watch")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        arguments = untag(arguments)
        if not 1 <= arguments["minutes"] <= schedule.DAY:
            raise AnsibleActionFail(f"gpuhost_watch_minutes: wanted 1 to {schedule.DAY}, found {arguments['minutes']}")
        try:
            ended = last_run.states(arguments["report_dir"], last_run.this_run(task_vars))
            found = watch(arguments["report_dir"], arguments["hosts"], ended, arguments["textfile_dir"] or "",
                          time.time())
            planned = self._schedule(arguments) if arguments["schedule"] else {}
        except (RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        self.console.show("\n".join(["", *lines(found["hosts"], found["missing"]), *planned.get("say", ())]))
        return {**result, "changed": False, **planned, **found, **self._end(found, arguments["fail_on_change"])}

    @staticmethod
    def _end(found: dict[str, Any], fail_on_change: bool) -> dict[str, Any]:
        changed = [host for host, seen in found["hosts"].items() if seen["changes"]]
        if found["missing"]:
            return {"failed": True, "different": bool(changed),
                    "msg": f"not audited: {', '.join(f'{host} ({why})' for host, why in found['missing'].items())}"}
        if changed and fail_on_change:
            return {"failed": True, "different": True, "msg": f"changed: {', '.join(changed)}"}
        return {"different": bool(changed)}

    def _schedule(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = untag(load_extra_vars(self._loader))
        ours = {name: value for name, value in given.items()
                if name.startswith(PREFIX) and name not in _OF_THE_SCHEDULE}
        left = sorted(given.keys() - ours.keys() - set(_OF_THE_SCHEDULE) - {"ansible_version"})
        if left:
            Display().warning(f"the schedule has none of the variables {', '.join(left)}: put them into the inventory")
        ours["gpuhost_report_dir"] = os.path.abspath(os.path.expanduser(arguments["report_dir"]))
        program = shutil.which(sys.argv[0]) or sys.argv[0]
        playbook = os.path.abspath(context.CLIARGS["args"][0])
        if not os.path.exists(playbook):
            playbook = context.CLIARGS["args"][0]       # gpuhost.tuning.watch
        command = schedule.words(os.path.abspath(program), context.CLIARGS, playbook, ours)
        return {"command": command, **_planned(arguments["schedule"], command, arguments["minutes"])}


def _planned(kind: str, command: list[str], minutes: int) -> dict[str, Any]:
    if kind == schedule.CRON:
        return {"say": ["Add this line with crontab -e:", schedule.cron_line(command, os.getcwd(), minutes)]}
    if kind == schedule.AWX:
        return {"say": ["Give the job template of this playbook a schedule with this rrule:",
                        schedule.awx_schedule(minutes)]}
    folder = schedule.write_units(schedule.units(command, os.getcwd(), minutes), os.environ)
    return {"units": str(folder), "say": [f"Written: {folder}/{schedule.NAME}.service and .timer. To enable it:",
                                          *schedule.enable_commands(_user())]}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):     # a uid without a passwd entry, as in a container
        return str(os.getuid())
