# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = """
name: fleet
type: aggregate
short_description: One table of the fleet at the end of a run
version_added: 0.1.0
author:
  - gpuhost.tuning contributors (@gpuhost)
description:
  - After a playbook over several hosts it prints one line for each host, after an audit the number of findings, after a
    rollout the outcome of the host and its reason. With more than 40 hosts those without findings are only counted,
    unless C(-v) is given.
  - After an interrupted rollout the table is printed from its record.
  - After a rollout the fleet page is written again, with the state of every host.
  - Enable it with C(callbacks_enabled = gpuhost.tuning.fleet) in the section C([defaults]) of C(ansible.cfg). The
    playbooks do the same without it.
"""

import atexit
import os
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.console import prints_text
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.untag import untag
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet import table
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.files import write_fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import one_line
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import gate
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout as rollout_state

AUDIT = "gpuhost.tuning.audit"
ROLLOUT = "gpuhost.tuning.rollout"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "gpuhost.tuning.fleet"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._audits: dict[str, Any] = {}
        self._folders: list[str] = []
        self._lost: set[str] = set()
        # After an interrupt, Ansible calls no statistics hook. Workers are forks; their exit must not run this.
        atexit.register(self._show, os.getpid())

    def v2_runner_on_ok(self, result: Any) -> None:
        self._see(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._see(result)
        # A rollout task fails for all hosts, not for the one that it happened to run on.
        if not ignore_errors and result.task.action != ROLLOUT:
            self._lose(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._lose(result, "unreachable")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._show(os.getpid())

    def _see(self, result: Any) -> None:
        if result.task.action == AUDIT and "summary" in result.result:
            self._audits[result.host.get_name()] = untag(result.result["summary"])
        elif result.task.action == ROLLOUT and "folder" in result.result:
            folder = untag(result.result["folder"])
            if folder not in self._folders:
                self._folders.append(folder)

    def _lose(self, result: Any, what: str) -> None:
        host = result.host.get_name()
        self._lost.add(host)
        if result.task.action == AUDIT:
            self._audits.setdefault(host, f"{what}: {one_line(result.result.get('msg', ''))}")

    def _show(self, process: int) -> None:
        if process != os.getpid():
            return
        every = self._display.verbosity > 0
        for folder in self._folders:
            try:
                rollout = rollout_state.load(folder)
                states = gate.decide(rollout, set(rollout.document["hosts"]) - self._lost)
            except host_folder.RecordError as problem:
                self._display.warning(str(problem))
                continue
            if len(states) > 1:
                self._say(table.rollout_table(rollout, states, every))
                self._finish(rollout)
        if not self._folders and len(self._audits) > 1:
            self._say(table.audit_table(self._audits, every))
        self._folders, self._audits = [], {}

    def _finish(self, rollout: rollout_state.Rollout) -> None:
        """Write the fleet page again: the last batch's gate, or the interrupt, has only now been recorded."""
        try:
            rollout.tell()
            write_fleet(str(rollout.folder.parents[1]))
        except host_folder.RecordError as problem:
            self._display.warning(str(problem))

    def _say(self, lines: list[str]) -> None:
        if not prints_text():
            return
        self._display.display("\n".join(lines))
