# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The section "Bandwidth" of a host's report: what was measured, what is slow or wrong, and what was left out."""
from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._checks.findings import value
from .._records import host_folder
from .._render.section import Section, Table
from .._render.text import binary_size, count
from .expected import is_slow
from .heatmap import bandwidth_drawing
from .record import HARMFUL, RECORD, SCHEMA_BANDWIDTH, SLOW, every, name_of, tally

HEADING = "Bandwidth"
FILE = "bandwidth.svg"
_SHOWN = 8
_TOOLS = {"driver": "the driver library", "nvbandwidth": "nvbandwidth"}
_GPU_HEAD = ["GPU", "model", "NUMA node", "from host", "to host", "within", "link under load", "verdict"]
_GROUP_HEAD = ["concurrent copies", "together", "slowest", "verdict"]
_PATH_HEAD = ["path", "pairs", "expected", "writes", "reads", "latency, us"]


def read(folder: pathlib.Path, facts: Mapping[str, Any]) -> Section | None:
    """The section for the newest record in a host's folder; None if the host was never measured."""
    newest = host_folder.read_document(folder / RECORD, SCHEMA_BANDWIDTH)
    if newest is None:
        return None
    older = _older(folder, newest)
    drawing = bandwidth_drawing([older, newest] if older else [newest])
    return Section(HEADING, [*_notes(newest, older), *_stale(newest, facts)], [*_tables(newest), *_groups(newest)],
                   {FILE: drawing} if drawing else {})


def _older(folder: pathlib.Path, newest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The previous record of the same place: other limits apply in a container."""
    for run_id in sorted(filter(host_folder.RUN_ID.fullmatch, os.listdir(folder)), reverse=True):
        if run_id >= newest["run_id"]:
            continue
        # An older record that cannot be used must not hide the newest one.
        with contextlib.suppress(host_folder.RecordError, KeyError):
            record = host_folder.read_document(folder / run_id / RECORD, SCHEMA_BANDWIDTH)
            if record and record["where"] == newest["where"]:
                return record
    return None


def _notes(record: Mapping[str, Any], older: Mapping[str, Any] | None) -> list[str]:
    sizes = " to ".join(binary_size(size) for size in sorted({min(record["sizes"]), max(record["sizes"])})
                        ) if record["sizes"] else "an unknown size"
    where = "on the host" if record["where"] == "host" else f"in container {record['where'].partition(':')[2]}"
    message = ", ".join(f"{number} {verdict.replace('_', ' ')}" for verdict, number in tally(record).items())
    groups = record.get("concurrent", [])
    parts = [count(len(record["gpus"]), "GPU"), *([count(len(record["pairs"]), "ordered pair")] if record["pairs"]
                                                  else []), *([count(len(groups), "group")] if groups else [])]
    notes = [f"Measured {record['measured_at']} {where} in run {record['run_id']} with {_TOOLS[record['tool']]}, "
             f"driver {record['driver_version'] or 'unknown'}, copies of {sizes}, data compared.",
             f"{' and '.join(parts)}: {message or 'nothing'}."]
    notes += _unsound(record)
    if record["stopped"]:
        notes.append(f"The measurement stopped: {record['stopped']}")
    notes += [f"Not measured: {one['subject']}: {one['reason']}" for one in record["not_measured"]]
    if older:
        notes.append(f"Before and after: run {older['run_id']} of {older['measured_at']} beside this one.")
    return [*notes, "Expected values are the maximum of the narrowest link on the path, by its speed, lanes and "
                    f"MaxPayload; results below {record['slow_below_percent']:g} % of it are slow."]


def _unsound(record: Mapping[str, Any]) -> list[str]:
    """A sentence for each error; slow copies are all in the tables, and only the first ones are listed here."""
    wrong = [one for verdict in HARMFUL for one in every(record) if one["verdict"] == verdict]
    slow = [one for one in every(record) if one["verdict"] == SLOW]
    message = [f"{name_of(one)}: {one['verdict'].replace('_', ' ')}: {one['said']}" for one in [*wrong, *slow[:_SHOWN]]]
    more = len(slow) - _SHOWN
    return [*message, f"{count(more, 'more is', 'more are')} slow, see the tables."] if more > 0 else message


def _stale(record: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Why the figures may not match the present state of the host."""
    found = []
    boot = value(facts["identity"].get("boot_id"))
    if boot and record["boot_id"] and boot != record["boot_id"]:
        found.append("The host was rebooted since: measure again.")
    now = {gpu["bdf"]: gpu for gpu in facts["gpus"] if gpu["vendor"] == "10de"}
    then = {gpu["bdf"]: gpu["uuid"] for gpu in record["gpus"]}
    known = {*then, *(one["subject"] for one in record["not_measured"])}
    changed = [f"{bdf} is gone" for bdf in then if bdf not in now]
    changed += [f"{bdf} is new" for bdf in now if bdf not in known]
    changed += [f"{bdf} is another card" for bdf, uuid in then.items()
                if bdf in now and uuid and value(now[bdf].get("uuid"), uuid) != uuid]
    if changed:
        found.append(f"The hardware has changed since: {', '.join(changed)}. Measure again.")
    return found


def _tables(record: Mapping[str, Any]) -> Iterable[Table]:
    rows = [[gpu["bdf"], gpu["name"] or "-", _number(gpu["numa_node"]), _copy(gpu["h2d"]), _copy(gpu["d2h"]),
             _copy(gpu["d2d"]), _link(gpu["link"]), gpu["verdict"].replace("_", " ")] for gpu in record["gpus"]]
    if rows:
        yield Table("Copies of each GPU, GB/s (of expected)", _GPU_HEAD, rows)
    pairs = record["pairs"]
    if not pairs:
        return
    yield Table("Transfers between GPUs by their path, GB/s", _PATH_HEAD, _by_path(pairs))
    names = list(dict.fromkeys(bdf for pair in pairs for bdf in (pair["from"], pair["to"])))
    for way, caption in (("write", "Writes from row to column, GB/s"), ("read", "Reads by row from column, GB/s")):
        cells = {(pair["from"], pair["to"]): _transfer(pair, way, record["slow_below_percent"]) for pair in pairs}
        yield Table(caption, ["", *names], [
            [row, *("" if row == column else cells.get((row, column), "-") for column in names)] for row in names])


def _groups(record: Mapping[str, Any]) -> Iterable[Table]:
    rows = [[one["name"], _copy(one if one["gb_s"] is not None else None), _slowest(one),
             one["verdict"].replace("_", " ")] for one in record.get("concurrent", [])]
    if rows:
        yield Table("Concurrent copies, GB/s (of expected)", _GROUP_HEAD, rows)


def _slowest(group: Mapping[str, Any]) -> str:
    measured = [flow for flow in group["flows"] if flow["gb_s"] is not None]
    if not measured:
        return "-"
    flow = min(measured, key=lambda one: one["gb_s"])
    return f"{flow['from']} -> {flow['to']}: {_copy(flow)}"


def _by_path(pairs: list[dict[str, Any]]) -> list[list[str]]:
    rows = []
    for path in dict.fromkeys(pair["path"] for pair in pairs):
        those = [pair for pair in pairs if pair["path"] == path]
        expected = [pair["expected_gb_s"] for pair in those if pair["expected_gb_s"] is not None]
        why = "; ".join(dict.fromkeys(pair["expected_why"] for pair in those if pair["expected_gb_s"] is None))
        latencies = [pair[way]["latency_us"] for pair in those for way in ("write", "read")
                     if pair[way] and pair[way]["latency_us"] is not None]
        rows.append([path, str(len(those)), _range(expected) if expected else f"nothing: {why}",
                     *(_range([pair[way]["gb_s"] for pair in those if pair[way]]) for way in ("write", "read")),
                     _range(latencies)])
    return rows


def _range(numbers: list[float]) -> str:
    if not numbers:
        return "-"
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"


def _copy(figures: Mapping[str, Any] | None) -> str:
    if not figures:
        return "-"
    expected = figures.get("expected_gb_s")
    return f"{figures['gb_s']:.1f}" + ("" if expected is None else f" of {expected:.1f}")


def _transfer(pair: Mapping[str, Any], way: str, percent: float) -> str:
    """A figure, followed by its verdict unless sound or slow; without a figure, the verdict."""
    verdict = pair["verdict"].replace("_", " ")
    if not pair[way]:
        return verdict
    unsound = pair["verdict"] in HARMFUL or is_slow(pair[way]["gb_s"], pair["expected_gb_s"], percent)
    return f"{pair[way]['gb_s']:.1f}" + (f" {verdict}" if unsound else "")


def _link(link: Mapping[str, Any] | None) -> str:
    return f"{link['speed_gt_s']:g} GT/s x{link['width']}" if link else "-"


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)
