# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = """
name: task_results
type: aggregate
short_description: Write what every task returned to a file
description: One JSON document a line, for tests/support/ansible_run.py. The file is named by GPUHOST_TASK_RESULTS.
"""

import json
import os

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_results"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self._play = ""

    def v2_playbook_on_play_start(self, play):
        self._play = play.get_name()

    def v2_runner_on_ok(self, result):
        self._task(result, "ok")

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._task(result, "failed", ignore_errors)

    def v2_runner_on_skipped(self, result):
        self._task(result, "skipped")

    def v2_runner_on_unreachable(self, result):
        self._task(result, "unreachable")

    def v2_playbook_on_stats(self, stats):
        self._write({"stats": {host: stats.summarize(host) for host in sorted(stats.processed)}})

    def _task(self, result, outcome, ignored=False):
        task = result.task
        self._write({"play": self._play, "task": task.get_name(), "action": task.action, "host": result.host.get_name(),
                     "outcome": outcome, "ignored": bool(ignored), "result": result.result})

    @staticmethod
    def _write(document):
        with open(os.environ["GPUHOST_TASK_RESULTS"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(document, default=str) + "\n")
