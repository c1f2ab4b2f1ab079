# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Drift of a host from the values that were set, from its journal and the controller's records.

The journal on the host is authoritative for this boot. Without one the controller's record of the last run is used: if
its boot id differs, everything it set has expired.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils._boot_order.setting import agrees
from .._derive.persisted import persisted_values
from .._records.host_folder import HostFolder, RecordError, read_json
from .._render.text import count, show

BACK = "all settings changed since boot are restored"
FINE, DRIFT, EXPIRED, UNKNOWN = "fine", "drift", "expired", "unknown"
STATES = (DRIFT, UNKNOWN, EXPIRED, FINE)

# The order in which changes are restored: the reverse of that in which a tune makes them.
MODULES = {
    "pcie_maxreadreq": "gpuhost.tuning.pcie_maxreadreq",
    "guest_affinity": "gpuhost.tuning.guest_affinity",
    "module": "gpuhost.tuning.nvidia_module",
    "sysfs": "gpuhost.tuning.sysfs_attribute",
    "sysctl": "gpuhost.tuning.sysctl_snapshot",
}


def find_drift(expected: dict[str, dict[str, Any]], changes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The state of each value that was set (`expected_values` of journal_info).

    `changes` are what the setters would do, in check mode, to set them.
    """
    baselines = {f"{kind}:{name}": value["only_from"]
                 for kind, named in expected.items() for name, value in named.items()}
    return [_compare(change, baselines.get(change["address"])) for change in changes if change["wanted"] is not None]


def _compare(change: dict[str, Any], baseline: Any) -> dict[str, Any]:
    found = change["before"]
    line = {"address": change["address"], "expected": change["wanted"], "found": found, "reason": change["reason"]}
    if change["outcome"] == "unchanged":
        return {**line, "state": FINE, "reason": None}
    if found is None or change["outcome"] == "skipped":
        return {**line, "state": UNKNOWN}
    if found == baseline:
        reason = "back at its original value: a reset, a rebind or a manual change"
        return {**line, "state": EXPIRED, "reason": reason}
    if found == change["wanted"]:
        return {**line, "state": DRIFT}     # the value is ours, the device is not
    return {**line, "state": DRIFT, "reason": "changed by something else"}


def expired_guests(expired: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of guests that were restarted or stopped since their CPUs were set (`expired` of journal_info)."""
    return [{**one, "found": None, "state": EXPIRED} for one in expired]


def leave_persisted(lines: list[dict[str, Any]], message: str | None,
                    addresses: Iterable[str]) -> tuple[list[dict[str, Any]], str | None]:
    """The lines and the sentence without expired values that are persisted: those are evaluated separately."""
    addresses = set(addresses)
    left = [line for line in lines if line["state"] != EXPIRED or line["address"] not in addresses]
    return left, None if lines and not left else message


def come_back(values: dict[str, dict[str, Any]], section: dict[str, Any]) -> list[str]:
    """The addresses to be restored that are persisted with another value, which the next boot sets again."""
    persisted = persisted_values(section)
    restored = {f"{kind}:{name}": item["set"] for kind, named in values.items() for name, item in named.items()}
    return [address for address, value in restored.items()
            if address in persisted and not agrees(str(value), persisted[address])]


def driver_lines(mismatch: str | None) -> list[dict[str, Any]]:
    """A failing line if NVIDIA's driver and its libraries differ: no new process can use a GPU, whatever was set."""
    return [] if mismatch is None else [
        {"address": "nvidia", "expected": "driver and libraries of the same version", "found": mismatch, "state": DRIFT,
         "reason": "packages were upgraded while the driver was loaded: reboot, or reload it"}]


def without_journal(folder: HostFolder, run_id: str | None, boot_id: str | None) -> tuple[list[dict[str, Any]], str]:
    """Lines and a sentence from the controller's record, if the journal has nothing of this boot."""
    runs = [name for name in folder.runs() if (folder.run(name) / "plan.json").exists()]    # other runs only measured
    chosen = run_id or (runs[-1] if runs else None)
    if chosen is None:
        return [], f"nothing was changed since boot, and there is no record of a run in {folder.path}"
    try:
        plan = read_json(folder.run(chosen) / "plan.json")
    except RecordError as problem:
        return [], f"run {chosen} is not in the journal of this boot, and {problem}"
    planned = [change for change in plan["changes"] if change["outcome"] == "would_change"]
    if plan["boot_id"] != boot_id:
        message = f"run {chosen} belongs to another boot: the reboot reset its changes"
        state, reason = EXPIRED, f"set by run {chosen} in another boot"
    else:
        message = (f"run {chosen} is not in the journal although the host was not rebooted: it wrote nothing, or "
                   "/run/gpuhost was removed")
        state, reason = UNKNOWN, "not in the journal"
    return [{"address": change["address"], "expected": change["wanted"], "found": None, "state": state,
             "reason": reason} for change in planned], message


def name_origins(lines: list[dict[str, Any]], folder: HostFolder) -> list[dict[str, Any]]:
    """The lines, with `origin` in those that are not fine: who wanted the value, from the last run that planned it."""
    plans = {}
    for run_id in folder.runs():
        try:
            plans[run_id] = read_json(folder.run(run_id) / "plan.json")["changes"]
        except (RecordError, KeyError):     # a run that only measured has none
            continue
    said = {change["address"]: f"{change.get('origin') or 'a plan without an origin'}, run {run_id}"
            for run_id, changes in plans.items() for change in changes if change["outcome"] == "would_change"}
    return [line if line["state"] == FINE else {**line, "origin": said.get(line["address"])} for line in lines]


def unusable_lines(unusable: Iterable[dict[str, Any]]) -> list[str]:
    """Messages about unusable journal lines; what they refer to is not touched."""
    return [f"line {one['line']} of the journal cannot be used: {one['reason']}" for one in unusable]


def force(values: dict[str, dict[str, Any]], addresses: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Restore values without the guard `only_from` for the addresses that the user named.

    ValueError: one of them has no value to restore.
    """
    forced = {kind: dict(named) for kind, named in values.items()}
    for address in addresses:
        kind, _colon, name = address.partition(":")
        if name not in forced.get(kind, {}):
            known = sorted(f"{kind}:{name}" for kind, named in values.items() for name in named)
            raise ValueError(f"gpuhost_force lists {address}, which is not among the values to restore: "
                             f"{', '.join(known) or 'nothing'}")
        forced[kind][name] = {key: item for key, item in forced[kind][name].items() if key != "only_from"}
    return forced


def leave(values: dict[str, dict[str, Any]], gpus: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Restore values without those of some GPUs."""
    gpus = set(gpus)
    kept = {kind: {name: item for name, item in named.items() if kind != "pcie_maxreadreq" or name not in gpus}
            for kind, named in values.items()}
    return {kind: named for kind, named in kept.items() if named}


def tally(lines: Iterable[dict[str, Any]]) -> str:
    """`10 fine, 1 drift`."""
    lines = list(lines)
    counts = [(sum(line["state"] == state for line in lines), state) for state in STATES]
    return ", ".join(f"{number} {state}" for number, state in counts if number) or "nothing to verify"


def summary(lines: Iterable[dict[str, Any]], message: str | None) -> str:
    return tally(lines) + (f" ({message})" if message else "")


def all_is_back(journal: dict[str, Any], run_id: str | None) -> bool:
    """Whether the host was changed in this boot, by that run or any, and all of it was restored."""
    runs = [run for run in journal["runs"] if run["this_boot"] and run_id in (None, run["run_id"])]
    return bool(runs) and not (journal["expected_values"] or journal["left_alone"] or journal["expired"])


def describe(line: dict[str, Any]) -> str:
    """`sysctl:vm.swappiness: drift: wanted 10, found 35: something else changed it; wanted by ...`."""
    parts = [line["address"], line["state"], f"wanted {show(line['expected'])}, found {show(line['found'])}"]
    origin = f"; wanted by {line['origin']}" if line.get("origin") else ""
    return ": ".join(parts + ([line["reason"]] if line["reason"] else [])) + origin


def to_restore(values: dict[str, dict[str, Any]]) -> str:
    """`11 values to restore`."""
    return f"{count(sum(map(len, values.values())), 'value')} to restore"
