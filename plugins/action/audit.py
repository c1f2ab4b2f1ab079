# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import datetime
from typing import Any

from ansible import constants as C
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.utils.color import stringc
from ansible.utils.display import Display

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible import next_step, piped_reader, variables
from ..plugin_utils._ansible.next_step import become_hint
from ..plugin_utils._ansible.ssh_session import start_no_master
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._answers.facts import take_packed
from ..plugin_utils._answers.limits import OutOfTime, memory_limit
from ..plugin_utils._audit import last_run
from ..plugin_utils._audit.audit import PROBLEMS, Audit
from ..plugin_utils._experiment.record import cut_short
from ..plugin_utils._plan.kept import kept_changes
from ..plugin_utils._records.host_folder import RecordError
from ..plugin_utils._render.changes import outcome_counts
from ..plugin_utils._render.text import clean, count, one_line
from ..plugin_utils._report.terminal import full_report, no_paint, short_line
from ..plugin_utils._rollout import rollout

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
    "link_samples": {"type": "int", "default": 0},
    "csv": {"type": "bool", "default": False},
    "fail_on": {"type": "str", "default": "", "choices": ["", "P0", "P1", "P2"]},
    "stage": {"type": "str", "default": "audit", "choices": ["audit", "compare", "before", "after"]},
    "run_id": {"type": "str"},
    "changes": {"type": "list", "elements": "dict", "default": []},
    "variables": {"type": "dict", "default": {}},
}


class ActionModule(GuardedAction):
    """Read a host with host_info, evaluate it on the controller, and write records and reports as the current user."""

    _supports_check_mode = True
    _requires_connection = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        self.collect_no_garbage()
        result = self.begin(tmp, task_vars)
        named = self._take_variables(task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = untag(task_vars["inventory_hostname"])
        arguments = {**untag(arguments), "check": self._task.check_mode, "named": named,
                     "run": last_run.this_run(task_vars)}
        hosts = untag(task_vars["ansible_play_hosts_all"])
        try:
            for warning in (*variables.check(task_vars, self._templar.template), *self._check_role(task_vars)):
                Display().warning(warning)
            audit = Audit(host, arguments)
            read = self._read({"sysroot": arguments["sysroot"], "tunables": audit.named_tunables(),
                               "link_samples": arguments["link_samples"]}, task_vars)
            if read.get("failed") or "facts_packed" not in read:
                failed = failure_of(read, "host_info failed without a message")
                _note(host, hosts, arguments, rollout.FAILED, failed["msg"])
                return {**result, **failed}
            with memory_limit():
                outcome = audit.judge(take_packed(untag(read.pop("facts_packed"))))
            _note_end(hosts, host, arguments, last_run.FINDINGS if outcome["gate"]["exceeded"] else last_run.OK)
        except AnsibleConnectionFailure as lost:
            _note(host, hosts, arguments, rollout.UNREACHABLE, str(lost))
            raise
        except AnsibleError as error:
            hint = become_hint(str(error))
            if hint is None:
                raise
            _note(host, hosts, arguments, rollout.FAILED, str(error))
            raise AnsibleActionFail(f"{clean(one_line(error))}. {hint}") from None
        except (OutOfTime, MemoryError):
            _note(host, hosts, arguments, rollout.FAILED, "evaluating its data took too long or too much memory")
            raise
        except PROBLEMS as problem:
            _note(host, hosts, arguments, rollout.FAILED, str(problem))
            raise AnsibleActionFail(str(problem)) from problem
        if arguments["stage"] == "before":
            self._tell_of_experiment(audit, task_vars)
        self._show(audit, outcome, alone=len(hosts) == 1)
        return {**result, "changed": False, **outcome}

    def _read(self, options: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """The result of host_info, run as a script over a pipelining connection if possible, else as a module."""
        python = self._known_python(task_vars)
        if python is None or not self._connection.is_pipelining_enabled():
            return self._execute_module(module_name="gpuhost.tuning.host_info", task_vars=task_vars,
                                        module_args={**options, "packed": True})
        if self._task.args.get("stage", "audit") in ("audit", "compare"):    # others are followed by further tasks
            start_no_master(self._connection)
        # Isolated: ignores the environment, imports no installed packages.
        command = f"{self._compute_environment_string()} {python} -I -S -".strip()
        script = piped_reader.script({**options, "timeout": self.seconds})
        done = self._low_level_execute_command(command, in_data=script.encode("ascii"))
        return piped_reader.answer(done["rc"], done["stdout"], done["stderr"])

    def _known_python(self, task_vars: dict[str, Any]) -> str | None:
        """The Python of the host; None if it is not known yet: discovery is left to Ansible."""
        if self._task.delegate_to:
            return None
        configured = C.config.get_config_value("INTERPRETER_PYTHON", variables=task_vars)
        python = untag(self._templar.template(configured))
        if python.startswith("auto"):
            python = untag(task_vars.get("ansible_facts", {}).get("discovered_interpreter_python"))
        return python

    def _take_variables(self, task_vars: dict[str, Any]) -> dict[str, str]:
        """Fill in the task's options from variables; returns the variable that each option came from."""
        named = untag(self._task.args.get("variables", {}))
        try:
            found = variables.options(named, task_vars, self._templar.template)
        except ValueError as problem:
            raise AnsibleActionFail(str(problem)) from problem
        given = {option: chosen for option, chosen in found.items() if option not in self._task.args}
        self._task.args = {**{option: chosen.value for option, chosen in given.items()}, **self._task.args}
        return {option: chosen.variable for option, chosen in given.items()}

    def _check_role(self, task_vars: dict[str, Any]) -> list[str]:
        """Warnings about misspelt options of this task's role; the playbook runs the task without the role."""
        options = {names[0] for names in untag(self._task.args.get("variables", {})).values()}
        role = self._task._role
        if role is None:
            return variables.check_role("audit", options, task_vars, ()) if options else []
        passed = {*(role.vars or {}), *role.get_role_params(), *self._task.get_vars()}
        known = options | set(role.get_default_vars())
        return variables.check_role(role.get_name().rpartition(".")[2], known, task_vars, passed)

    def _tell_of_experiment(self, audit: Audit, task_vars: dict[str, Any]) -> None:
        """Warn if an interrupted experiment left values behind that are about to be changed."""
        def left_behind(run_id: str) -> dict[str, Any]:
            return untag(self._execute_module(
                module_name="gpuhost.tuning.journal_info", task_vars=task_vars,
                module_args={"sysroot": audit.arguments["sysroot"], "run_id": run_id})).get("restore_values", {})

        try:
            message = cut_short(audit.folder, audit.document["boot_id"], left_behind)
        except RecordError as problem:
            message = str(problem)
        if message:
            Display().warning(clean(f"{audit.host}: {message}"))

    def _show(self, audit: Audit, outcome: dict[str, Any], alone: bool) -> None:
        if alone or Display().verbosity > 0:
            paint = stringc if self.console.prints else no_paint
            self.console.show(full_report(audit.document, audit.paths(), paint, audit.remarks, audit.groups))
            for text in _next_steps(audit, outcome) if alone else ():
                self.console.show(text)
        else:
            given = audit.arguments
            changes = {"before": outcome.get("planned"), "after": given["changes"]}.get(given["stage"])
            self.console.show(short_line(audit.document, audit.groups) if changes is None
                              else clean(f"{audit.host}: {outcome_counts(changes)}"))


def _next_steps(audit: Audit, outcome: dict[str, Any]) -> list[str]:
    """Suggested next commands for the same hosts."""
    stage, given = audit.arguments["stage"], audit.arguments
    if audit.document["facts"].get("source"):
        return []           # an imported report, not a live host
    planned = sum(finding["fix"]["planned"] for finding in audit.document["findings"])
    if stage == "audit" and planned and audit.document["facts"]["identity"]["kind"] != "container":
        return [f"Next, to see the {count(planned, 'change')} that a tune would make at run time and can undo:",
                *next_step.lines("tune_runtime", "--check", "--diff")]
    if stage == "before" and given["check"] and outcome["plan"]:
        return ["Next, to make these changes:", *next_step.lines("tune_runtime")]
    if stage == "after" and any(change["outcome"] == "changed" for change in given["changes"]):
        return ["Next, to check later for drift, and to undo the changes:",
                *next_step.lines("verify"), *next_step.lines("restore"), *_keep(audit)]
    return []


def _keep(audit: Audit) -> list[str]:
    """The command that persists the run, if not all of it is persisted yet."""
    changed = [change for change in audit.arguments["changes"] if change["outcome"] == "changed"]
    if len(kept_changes(audit.document["facts"]["persisted"], changed)["same"]) == len(changed):
        return []
    return ["Or to keep it after a reboot:", *next_step.lines("persist", "-e", f"gpuhost_run_id={audit.run_id}")]


def _note_end(hosts: list[str], host: str, arguments: dict[str, Any], state: str) -> None:
    """Record for pipelines how the audit ended; audits within a tune or verify do not count as its result."""
    if arguments["stage"] == "audit":
        at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        last_run.note(arguments["report_dir"], arguments["run"], hosts, host, state, at, last_run.began())


def _note(host: str, hosts: list[str], arguments: dict[str, Any], state: str, reason: str) -> None:
    """Record that the audit ended here and, if it is part of a rollout, that the host's run did."""
    with contextlib.suppress(*PROBLEMS):
        _note_end(hosts, host, arguments, last_run.UNREACHABLE if state == rollout.UNREACHABLE else last_run.FAILED)
    if not arguments["run_id"] or arguments["stage"] not in ("before", "after"):
        return
    message = f"{'not audited after its changes: ' if arguments['stage'] == 'after' else ''}{clean(one_line(reason))}"
    with contextlib.suppress(*PROBLEMS):    # the folder or the id may be the problem itself
        rollout.note(arguments["report_dir"], arguments["run_id"], host, state, reasons=[message])
