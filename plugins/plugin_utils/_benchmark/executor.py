# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Run the command of a benchmark on the host by the module, or on the controller while the host reports its state."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._host.host import Host
from ...module_utils._workload.workload import run_workload
from .definition import CONTROLLER
from .run import Execute


def executor(where: str, ask: Execute) -> Execute:
    """The callable for measure_once() and restart() that runs a command at `where`.

    `ask` runs the module `workload` on the host with the given arguments.
    """
    if where != CONTROLLER:
        return ask
    return lambda arguments: _run_here(ask, arguments)


def _run_here(ask: Execute, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run here and answer like the module, with the host's state: the load generator here loads the server there."""
    options = {name: value for name, value in arguments.items() if name != "conditions"}
    wanted = arguments.get("conditions", True)
    before = ask({}) if wanted else {}
    if before.get("failed"):
        return before
    try:
        result = run_workload(Host("/"), **options)
    except ValueError as error:
        return {"failed": True, "msg": str(error)}
    after = ask({}) if wanted else {}
    problem = result.pop("problem") or (after["msg"] if after.get("failed") else None)
    if wanted:
        result["conditions"] = {"before": before["conditions"]["before"],
                                "after": (after.get("conditions") or {}).get("after")}
    return {**result, "failed": True, "msg": problem} if problem else result
