# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = """
name: whole_json
type: stdout
short_description: The whole run as one JSON document on standard output
description: Stands for the callbacks of other collections that print JSON there.
"""

import json
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.untag import untag


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "whole_json"

    def __init__(self) -> None:
        super().__init__()
        self.results: list[dict[str, Any]] = []

    def v2_runner_on_ok(self, result: Any) -> None:
        self.results.append({"host": result.host.get_name(), "action": result.task.action,
                             "result": untag(result.result)})

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self.v2_runner_on_ok(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._display.display(json.dumps(self.results))
