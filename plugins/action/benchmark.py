# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._audit.audit import PROBLEMS
from ..plugin_utils._benchmark import definition
from ..plugin_utils._benchmark import run as benchmark_run
from ..plugin_utils._benchmark.executor import executor
from ..plugin_utils._benchmark.series import Series
from ..plugin_utils._records import host_folder
from ..plugin_utils._render.text import one_line

ARGUMENTS = {
    "benchmark": {"type": "raw", "required": True},
    "sysroot": {"type": "str", "default": "/"},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
}


class ActionModule(GuardedAction):
    """Run the user's benchmark a given number of times, and write the record as the user who runs Ansible."""

    READS = False
    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        check_variables(task_vars, self._templar.template, "bandwidth", "benchmark")
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = untag(task_vars["inventory_hostname"])
        try:
            benchmark = definition.load_benchmark(untag(arguments["benchmark"]))
            folder = host_folder.HostFolder(arguments["report_dir"], host)
            run_id = host_folder.check_run_id(arguments["run_id"]) if arguments["run_id"] else host_folder.new_run_id()
            if self._task.check_mode:
                message = f"{host}: would run {benchmark.described()}"
                self.console.show(one_line(message))
                return {**result, "changed": False, "run_id": run_id, "msg": message}
            series = Series(benchmark, folder.path, run_id, self.console.show, loud=_loud(task_vars))
            series.measure(self._executor(benchmark.where, arguments["sysroot"], run_id, task_vars))
        except PROBLEMS as problem:
            raise AnsibleActionFail(str(problem)) from problem
        return {**result, "changed": False, **series.answer()}

    def _executor(self, where: str, sysroot: str, run_id: str, task_vars: dict[str, Any]) -> benchmark_run.Execute:
        def ask(arguments: dict[str, Any]) -> dict[str, Any]:
            return untag(self._execute_module(module_name="gpuhost.tuning.workload", task_vars=task_vars,
                                              module_args={"sysroot": sysroot, "run_id": run_id, **arguments}))

        return executor(where, ask)


def _loud(task_vars: dict[str, Any]) -> bool:
    """Whether each run is printed on its own line; with many hosts the lines would be interleaved."""
    return len(task_vars["ansible_play_hosts_all"]) == 1 or Display().verbosity > 0
