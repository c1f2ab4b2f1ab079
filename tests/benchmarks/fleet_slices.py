# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet audited in slices, as AWX cuts a job: four controllers at once with one report folder, against one alone."""
from __future__ import annotations

import concurrent.futures
import json
import pathlib
import shutil
import time
from collections.abc import Iterable

from fleet_audit import planted
from over_ssh import Meter, SshCost, fleet_of, table

from ansible_run import Controller
from checkout import REPOSITORY
from fleet import Fleet

SLICES = 4


def measure(controller: Controller, _rounds: int, hosts: int = 1000, key_exchange: str | None = None) -> str:
    """One run each: of a slice alone, then of all slices at once."""
    reports = controller.folder / "shared"
    with fleet_of(controller.folder / "fleet-slices", planted(controller, hosts), key_exchange) as fleet:
        cut = [dict(list(fleet.inventory().items())[number::SLICES]) for number in range(SLICES)]
        meters = [_meter(controller, fleet, number) for number in range(SLICES)]
        costs = {}
        for title, numbers in ((f"one slice, {len(cut[0])} hosts", [0]), (f"{SLICES} slices, {hosts}", range(SLICES))):
            shutil.rmtree(reports, ignore_errors=True)
            costs[title] = _at_once([(meters[number], cut[number]) for number in numbers], reports)
    records = [json.loads(file.read_text()) for file in reports.glob("*/audit.json")]
    if len(records) != hosts or {len(record["facts"]["gpus"]) for record in records} != {8}:
        raise SystemExit(f"the slices wrote {len(records)} records, not {hosts}")
    page = (reports / "index.html").stat().st_size
    return table(f"{hosts} hosts with 8 GPUs over ssh in {SLICES} slices at once, one run", costs, next(iter(costs)),
                 f"linear, at most {SLICES} times; the page has {page / 1e6:.1f} MB, the peak is of one controller")


def _meter(controller: Controller, fleet: Fleet, number: int) -> Meter:
    """A controller with its own home, for the same hosts."""
    folder = controller.folder / f"slice{number}"
    folder.mkdir()
    return Meter(Controller(folder), fleet)


def _at_once(slices: Iterable[tuple[Meter, dict]], reports: pathlib.Path) -> SshCost:
    def run(one: tuple[Meter, dict]) -> SshCost:
        meter, hosts = one
        command = meter.play_on(REPOSITORY / "playbooks" / "audit.yml", hosts,
                                variables={"gpuhost_report_dir": str(reports)})
        return meter.run_here(command)[0]

    slices = list(slices)
    before, start = slices[0][0].on_the_hosts(), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(SLICES) as pool:
        costs = list(pool.map(run, slices))
    wall = time.perf_counter() - start
    return SshCost(wall, sum(cost.cpu for cost in costs), slices[0][0].on_the_hosts() - before,
                   sum(cost.own for cost in costs), max(cost.peak for cost in costs))
