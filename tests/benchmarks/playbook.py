# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole ansible-playbook as something to measure."""
from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from measure import Command

from ansible_run import Controller


def play(controller: Controller, playbook: pathlib.Path, hosts: dict, *words: str,
         variables: Mapping[str, Any] | None = None, **more: Any) -> Command:
    """`more` are the callables of a Command."""
    inventory = controller.inventory(hosts)
    inventory = inventory.rename(inventory.with_name(f"{playbook.stem}-{len(list(controller.folder.iterdir()))}.json"))
    return Command([sys.executable, "-m", "ansible", "playbook", str(playbook), "-i", str(inventory),
                    "-e", json.dumps(variables or {}), *words], controller.environment(), **more)
