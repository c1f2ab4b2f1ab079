# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._answers.facts import take
from ..plugin_utils._answers.limits import time_limit
from ..plugin_utils._audit.audit import PROBLEMS
from ..plugin_utils._bandwidth.expected import SLOW_BELOW_PERCENT
from ..plugin_utils._bandwidth.run import Measurement
from ..plugin_utils._bandwidth.scope import DESPITE
from ..plugin_utils._records.host_folder import shown_path
from ..plugin_utils._render.text import clean

ARGUMENTS = {
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
    "devices": {"type": "list", "elements": "str", "default": []},
    "pairs": {"type": "bool", "default": True},
    "concurrent": {"type": "bool", "default": True},
    "sizes": {"type": "list", "elements": "int", "default": []},
    "tool": {"type": "str", "default": "driver", "choices": ["driver", "nvbandwidth"]},
    "container": {"type": "str"},
    "timeout": {"type": "int"},
    "library": {"type": "str"},
    "allow_busy": {"type": "bool", "default": False},
    "despite": {"type": "list", "elements": "str", "default": [], "choices": list(DESPITE)},
    "slow_below": {"type": "int", "default": SLOW_BELOW_PERCENT},
}


class ActionModule(GuardedAction):
    """Check from the facts whether a host may be measured, measure it, and write the record."""

    READS = False
    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "bandwidth", "benchmark")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host, arguments = untag(task_vars["inventory_hostname"]), untag(arguments)
        try:
            measurement = Measurement(host, arguments)
            with time_limit(self.seconds):
                read = self._execute_module(module_name="gpuhost.tuning.host_info", task_vars=task_vars,
                                            module_args={"sysroot": arguments["sysroot"]})
            if read.get("failed") or "facts" not in read:
                return {**result, **failure_of(read, "host_info failed without a message")}
            measurement.take_facts(take(untag(read["facts"])))
            if measurement.nothing_to_do:
                return {**result, **self._skip(host, measurement.nothing_to_do)}
            return {**result, "changed": False, **self._measure(measurement, task_vars)}
        except PROBLEMS as problem:
            raise AnsibleActionFail(str(problem)) from problem

    def _measure(self, measurement: Measurement, task_vars: dict[str, Any]) -> dict[str, Any]:
        answer = self._ask(measurement, task_vars)
        if answer.get("skipped"):
            return self._skip(measurement.host, answer.get("msg", "the module skipped it"))
        if answer.get("failed") and "gpus" not in answer:
            return answer       # unchanged: ansible-core shows more of an error than its message
        if self._task.check_mode:
            return self._skip(measurement.host, f"check mode: {answer['msg']}")
        slow = measurement.take(untag(answer))
        if slow:
            second = self._ask(measurement, task_vars, slow)
            if "gpus" in second:
                measurement.take_again(untag(second))
        harm = measurement.keep()
        self.console.show("\n".join(clean(line) for line in measurement.lines()))
        outcome = {"run_id": measurement.run_id, "record": shown_path(measurement.path), **measurement.outcome()}
        return {**outcome, "failed": True, "msg": f"{'; '.join(harm)}. See {outcome['record']}"} if harm else outcome

    def _ask(self, measurement: Measurement, task_vars: dict[str, Any], steps: Sequence[str] = ()) -> dict[str, Any]:
        try:
            return self._execute_module(module_name="gpuhost.tuning.gpu_bandwidth", task_vars=task_vars,
                                        module_args=measurement.module_arguments(steps))
        except AnsibleConnectionFailure as lost:
            # Among the possible causes of a lost connection, a hung host must be reported.
            measurement.lost(str(lost))
            raise

    def _skip(self, host: str, reason: str) -> dict[str, Any]:
        # Ansible does not show the message of a skipped task.
        self.console.show(clean(f"{host}: bandwidth was not measured: {reason}"))
        return {"changed": False, "skipped": True, "msg": reason}
