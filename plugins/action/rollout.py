# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import time
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.template import Templar

from ..plugin_utils._action.guarded import GuardedAction, failure_of
from ..plugin_utils._ansible import variables
from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._answers.facts import take_packed
from ..plugin_utils._answers.limits import OutOfTime, time_limit
from ..plugin_utils._records import host_folder
from ..plugin_utils._render.text import clean, count, one_line
from ..plugin_utils._rollout import batches, gate, recheck
from ..plugin_utils._rollout import rollout as rollout_state
from ..plugin_utils._rollout.alone import alone

ARGUMENTS = {
    "stage": {"type": "str", "required": True, "choices": ["begin", "soak", "again", "gate", "restored"]},
    "report_dir": {"type": "str", "default": "reports"},
    "run_id": {"type": "str"},
    "folder": {"type": "str"},
    "host": {"type": "str"},
    "soak_seconds": {"type": "int", "default": 30},
    "look_again": {"type": "int", "default": 100},
    "max_failed": {"type": "int", "default": 0},
}
REGISTERED = "rollout_batch"      # the playbook's variable with the result of stage `begin`


class ActionModule(GuardedAction):
    """Take a rollout from batch to batch. Only the stage `again` contacts a host, and no host makes it fail."""

    READS = False
    _supports_check_mode = True

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            return {**result, "changed": False, **getattr(self, f"_{arguments['stage']}")(untag(arguments), task_vars)}
        except (host_folder.RecordError, ValueError) as problem:
            raise AnsibleActionFail(str(problem)) from problem

    # -- begin ------------------------------------------------------------------------------------------------

    def _begin(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts, batch = untag(task_vars["ansible_play_hosts_all"]), untag(task_vars["ansible_play_batch"])
        folder = self._under_way(hosts[:hosts.index(batch[0])], task_vars)
        if folder is None:
            self._require_sound_variables(hosts, task_vars)
            rollout = self._start(arguments, hosts)
        else:
            rollout = rollout_state.load(folder)
            gate.require_passed(rollout)
        rollout.document["batches"].append({"hosts": batch, "passed": None})
        rollout.save()
        if len(hosts) > 1:
            self._say(f"rollout {rollout.run_id}, batch {len(rollout.batches)}: {count(len(batch), 'host')}, "
                      f"{len(rollout.reached)} of {len(hosts)} with it")
        return {"run_id": rollout.run_id, "folder": str(rollout.folder), "batch": len(rollout.batches)}

    def _start(self, arguments: dict[str, Any], hosts: list[str]) -> rollout_state.Rollout:
        run_id, check = arguments["run_id"] or host_folder.new_run_id(), bool(self._task.check_mode)
        if check:
            return rollout_state.start(arguments["report_dir"], run_id, hosts, check)
        with alone(arguments["report_dir"], hosts, datetime.datetime.now(datetime.timezone.utc)):
            return rollout_state.start(arguments["report_dir"], run_id, hosts, check)

    def _require_sound_variables(self, hosts: list[str], task_vars: dict[str, Any]) -> None:
        """Check the variables of all hosts of the play before the first is changed; only gpuhost_* are templated."""
        found: dict[str, list[str]] = {}
        for host in hosts:
            known = task_vars["hostvars"].raw_get(host)
            templar = Templar(loader=self._loader, variables=known)
            for line in variables.problems(known, templar.template):
                found.setdefault(line, []).append(host)
        if found:
            raise ValueError("nothing was changed: " + "; ".join(
                line if len(named) == len(hosts) else f"{line} (of {', '.join(named)})"
                for line, named in found.items()))

    @staticmethod
    def _under_way(earlier: list[str], task_vars: dict[str, Any]) -> str | None:
        """The folder of the rollout that ran the previous batch, from its hosts' registered results."""
        for host in reversed(earlier):
            registered = task_vars["hostvars"][host].get(REGISTERED)
            if registered and "folder" in registered:
                return untag(registered["folder"])
        return None

    # -- between batches --------------------------------------------------------------------------------------

    def _soak(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        rollout = rollout_state.load(arguments["folder"])
        states = gate.decide(rollout, self._alive(task_vars))
        good = (rollout_state.CHANGED, rollout_state.UNCHANGED)
        fine = {host for host, entry in states.items() if entry["state"] in good}
        changed = [host for host in rollout.batches[-1] if states[host]["state"] == rollout_state.CHANGED]
        if rollout.is_last or rollout.document["check"] or not changed \
                or len(gate.bad(states)) > arguments["max_failed"]:
            return {"hosts": [], "seconds": 0}
        rollout.document["soaks_until"] = time.time() + arguments["soak_seconds"]
        rollout.save()
        self._say(f"soaking for {count(arguments['soak_seconds'], 'second')}")
        time.sleep(arguments["soak_seconds"])
        looked = rollout.document["looked"]
        chosen = batches.look_again(rollout.batches, fine, arguments["look_again"], looked)
        looked.update(dict.fromkeys(chosen, len(rollout.batches)))
        rollout.save()
        return {"hosts": chosen, "seconds": arguments["soak_seconds"]}

    def _again(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        host = arguments["host"]
        rollout = rollout_state.load(arguments["folder"])
        entry = rollout.entry(host)
        if entry is None:
            raise ValueError(f"{host} was not reached by rollout {rollout.run_id}")
        state, reasons = self._look_at(host, rollout, entry, task_vars)
        if reasons:
            rollout.note(host, state, reasons)
            self._say(f"{host}: rechecked: {state}: {'; '.join(reasons)}")
        return {"host": host, "state": state, "reasons": reasons}

    def _look_at(self, host: str, rollout: rollout_state.Rollout, entry: dict[str, Any],
                 task_vars: dict[str, Any]) -> tuple[str, list[str]]:
        """The state of the host that the task is delegated to, and why it differs from the state it was left in."""
        changed = entry.get("changed", {})
        try:
            before = host_folder.read_json(rollout.records_of(host).run(rollout.run_id) / "before.json")
            with time_limit(self.seconds):
                read = untag(self._execute_module(
                    module_name="gpuhost.tuning.host_info", task_vars=task_vars,
                    module_args={"sysroot": entry["sysroot"], "tunables": sorted(changed), "packed": True}))
        except OutOfTime:
            return rollout_state.FAILED, [f"it did not answer within {self.seconds:g} s (gpuhost_timeout)"]
        except AnsibleConnectionFailure as lost:
            return rollout_state.UNREACHABLE, [one_line(str(lost))]
        except host_folder.RecordError as problem:
            return rollout_state.FAILED, [one_line(str(problem))]
        if read.get("failed") or "facts_packed" not in read:
            return rollout_state.FAILED, [one_line(failure_of(read, "host_info failed without a message")["msg"])]
        try:
            facts = take_packed(untag(read["facts_packed"]))
        except ValueError as problem:
            return rollout_state.FAILED, [one_line(str(problem))]
        harm = recheck.harm(before, facts)
        if harm:
            return rollout_state.HARMED, harm
        drift = recheck.drift(changed, facts)
        return (rollout_state.DRIFTED, drift) if drift else (entry["state"], [])

    def _gate(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        rollout = rollout_state.load(arguments["folder"])
        states = gate.decide(rollout, self._alive(task_vars))
        stopped = gate.verdict(rollout, states, arguments["max_failed"])
        gate.record(rollout, states, stopped)
        if len(states) > 1 and not stopped:
            self._say(f"gate after batch {len(rollout.batches)}: passed, {len(gate.bad(states))} of "
                      f"{count(len(rollout.reached), 'host')} failed so far")
        answer = {"failed_hosts": gate.bad(states), "passed": not stopped}
        return {**answer, "failed": True, "msg": stopped} if stopped else answer

    def _restored(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        host = untag(task_vars["inventory_hostname"])
        rollout_state.note(arguments["report_dir"], arguments["run_id"], host, rollout_state.RESTORED)
        return {}

    @staticmethod
    def _alive(task_vars: dict[str, Any]) -> set[str]:
        return set(untag(task_vars["ansible_play_hosts"]))

    def _say(self, text: str) -> None:
        self.console.show(clean(text))
