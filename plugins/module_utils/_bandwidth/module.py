# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Implementation of the module gpu_bandwidth."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._change.journal import check_run_id, new_run_id
from .._host.host import Host
from .gpus import Chosen, choose
from .measurement import Measurement, Options
from .nvbandwidth import Nvbandwidth
from .steps import order

PAGE = 4096
SIZE_LIMIT = 1 << 30
TIMEOUTS = range(5, 3601)
_TOOLS = {"driver": Measurement, "nvbandwidth": Nvbandwidth}


def measure(host: Host, params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """The result of the module. Raises NotMeasurable if nothing is measured, ValueError for invalid options."""
    options = read_options(params)
    chosen = choose(host, params["devices"], params["allow_busy"])
    _require_known(options, [gpu["bdf"] for gpu in chosen.gpus])
    measurement = _TOOLS[params["tool"]](host, chosen, options)
    if not check_mode:
        measurement.run()
    result = measurement.result()
    return {**result, "run_id": options.run_id,
            "msg": _would(chosen, options, params["tool"]) if check_mode else _tell(result)}


def read_options(params: Mapping[str, Any]) -> Options:
    """Parse the module's parameters. Raises ValueError."""
    sizes, timeout = params["sizes"], params["timeout"]
    bad = [size for size in sizes if size % PAGE or not PAGE <= size <= SIZE_LIMIT]
    if bad or not sizes:
        raise ValueError(f"sizes: {', '.join(map(str, bad)) or 'none'}: wanted multiples of {PAGE} bytes up to "
                         f"{SIZE_LIMIT}")
    if timeout not in TIMEOUTS:
        raise ValueError(f"timeout: {timeout}: wanted {TIMEOUTS[0]} to {TIMEOUTS[-1]} seconds")
    run_id = check_run_id(params["run_id"]) if params["run_id"] else new_run_id()
    return Options(params["pairs"], params.get("concurrent", False), params.get("steps", []), sorted(set(sizes)),
                   params["container"], timeout, run_id, params["library"])


def _require_known(options: Options, bdfs: list[str]) -> None:
    """ValueError for an unknown step name."""
    names = [step.name for step in order(bdfs, options.pairs, options.concurrent)]
    unknown = [name for name in options.steps if name not in names]
    if unknown:
        raise ValueError(f"steps: {', '.join(unknown)}: unknown steps; the steps are "
                         f"{', '.join(names)}")


def _would(chosen: Chosen, options: Options, tool: str) -> str:
    bdfs = [gpu["bdf"] for gpu in chosen.gpus]
    pairs = len(bdfs) * (len(bdfs) - 1) if options.pairs else 0
    steps = list(order(bdfs, options.pairs, options.concurrent and tool == "driver"))
    groups = sum(step.group is not None for step in steps)
    together = f", {groups} groups of concurrent copies" if groups else ""
    return (f"would measure {', '.join(bdfs)} and {pairs} ordered pairs{together} {options.place} with {tool}, at most "
            f"{options.timeout} s for each step")


def _tell(result: Mapping[str, Any]) -> str:
    """A line for each GPU and pair, and the reason if the measurement ended early."""
    lines = [f"{gpu['bdf']}: {gpu['verdict']}: {gpu['said']}" for gpu in result["gpus"]]
    lines += [f"{pair['from']} and {pair['to']}: {pair['verdict']}: {pair['said']}" for pair in result["pairs"]]
    lines += [f"{group['name']}: {group['verdict']}: {group['said']}" for group in result["concurrent"]]
    return "\n".join(lines + ([f"stopped: {result['stopped']}"] if result["stopped"] else []))
