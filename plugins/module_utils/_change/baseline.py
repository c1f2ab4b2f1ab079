# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Baselines and restore plans from the journal: pure functions on its lines.

The baseline of a tunable is its first `before` since boot or since it was last restored. A `before` that differs from
what we left begins a new generation: something else changed the tunable, and restore goes back to that value.
A write with a start and no end may or may not have happened: its `before` and its wanted value both count as ours.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .tunable import CHANGED, REVERTED, UNCHANGED


class Write(NamedTuple):
    """One start line, with its end if there is one."""

    address: str
    before: Any
    wanted: Any
    after: Any
    outcome: str | None     # None: the run ended between start and end, or the value could not be read back
    run: str
    boot: str | None
    at: str
    identity: str | None
    restores: bool
    together: tuple[str, ...]   # addresses that change together with this one

    @property
    def known(self) -> bool:
        return self.outcome is not None


class Generation(NamedTuple):
    """The writes to one tunable since its baseline; `last` is what we left, None if unknown."""

    address: str
    before: Any
    writes: tuple[Write, ...]

    @property
    def last(self) -> Write:
        return self.writes[-1]

    def runs(self) -> list[str]:
        return list(dict.fromkeys(write.run for write in self.writes))


class Plan(NamedTuple):
    """The baselines and last values of tunables, with guards, and what is left alone and why."""

    restore: dict[str, dict[str, dict]]     # values to restore, the last written first
    expected: dict[str, dict[str, dict]]    # values that we left, for a setter in check mode
    left_alone: list[dict]              # {address, reason}


def pair_lines(lines: Iterable[dict]) -> list[Write]:
    """Pair start and end lines into writes, in the order of their starts. With one writer at a time, an end belongs to
    the last start of its address."""
    writes: list[Write] = []
    open_starts: dict[str, int] = {}
    for line in lines:
        address = line["address"]
        if line["event"] == "start":
            open_starts[address] = len(writes)
            writes.append(Write(address, line.get("before"), line.get("wanted"), None, None, str(line.get("run")),
                                line.get("boot"), str(line.get("at")), line.get("identity"),
                                bool(line.get("restores")), tuple(line.get("together", ()))))
        elif address in open_starts:
            position = open_starts.pop(address)
            if line.get("after") is not None:
                writes[position] = writes[position]._replace(after=line["after"], outcome=str(line.get("outcome")))
    return writes


def generations(writes: Iterable[Write], boot: str | None) -> tuple[dict[str, Generation], dict[str, str]]:
    """Return this boot's open generation of each tunable, and for the others how their last one ended."""
    alive: dict[str, Generation] = {}
    ended: dict[str, str] = {}
    for write in writes:
        if write.boot != boot:
            continue
        address, generation = write.address, alive.get(write.address)
        if generation is not None and not _foreign(generation.last, write):
            alive[address] = generation._replace(writes=(*generation.writes, write))
        elif write.restores and write.known:
            continue        # the restore of a closed generation: its `before` is no baseline
        else:
            alive[address] = Generation(address, write.before, (write,))
        if write.known and _is_back(write, alive[address].before):
            del alive[address]
            ended[address] = f"its value is again {write.after!r} since run {write.run}"
    return alive, ended


def _is_back(write: Write, baseline: Any) -> bool:
    """Whether the baseline is there again. The text read back after a restore may differ from it although the kernel
    makes no difference: of a guest's threads, one may have ended since."""
    return write.after == baseline or (write.restores and write.wanted == baseline
                                       and write.outcome in (CHANGED, UNCHANGED, REVERTED))


def _foreign(last: Write, write: Write) -> bool:
    """Whether something else changed the value, or the device, between two of our writes."""
    if write.restores:
        return False
    return write.identity != last.identity or (last.known and write.before != last.after)


def plan_back(writes: Iterable[Write], boot: str | None, run: str | None = None) -> Plan:
    """Plan the restore to the baselines or, with `run`, to the values before that run."""
    writes = list(writes)
    alive, ended = generations(writes, boot)
    latest = {write.address: write for write in writes}
    asked = dict.fromkeys(write.address for write in reversed(writes) if run is None or write.run == run)
    plan = Plan({}, {}, [])
    for address in asked:
        generation = alive.get(address)
        reason = _left_out(generation, ended.get(address), run)
        if reason is None:
            before = next(write.before for write in generation.writes if run in (None, write.run))
            # A run killed while it wrote its start lines may have named more addresses than it recorded.
            held = [latest[one] for one in generation.last.together if one in latest and one not in alive]
            _add(plan, generation, before, held)
        elif run is not None:
            plan.left_alone.append({"address": address, "reason": reason})
    return plan


def _left_out(generation: Generation | None, end: str | None, run: str | None) -> str | None:
    if generation is None:
        return end or "it was set before the last boot, which reset it"
    if run is None or generation.last.run == run:
        return None
    if run in generation.runs():
        return f"run {generation.last.run} changed it afterwards"
    return "changed by something else since"


def _add(plan: Plan, generation: Generation, before: Any, held: Iterable[Write]) -> None:
    """Add the restore of one tunable; `held` are those that change together with it and are at their baseline."""
    last = generation.last
    identity = {} if last.identity is None else {"identity": last.identity}
    ours = {"only_from": last.after} if last.known else _guard_of_unfinished(generation)
    _put(plan.restore, last.address, {"set": before, **ours, **identity, "restores": True})
    left = last.after if last.known else last.wanted
    if left is not None:
        _put(plan.expected, last.address, {"set": left, "only_from": before, **identity})
    for write in held:
        if write.known:
            _put(plan.restore, write.address, {"set": write.after, "only_from": write.after, "restores": True})


def _guard_of_unfinished(generation: Generation) -> dict[str, Any]:
    """Return the guard after an unfinished write: its `before` and its wanted value both count as ours.
    A side effect has no wanted value, and any value is accepted.
    """
    last = generation.last
    return {} if last.wanted is None else {"only_from": [last.before, last.wanted]}


def _put(values: dict[str, dict[str, dict]], address: str, value: dict) -> None:
    kind, _colon, name = address.partition(":")
    values.setdefault(kind, {})[name] = value


def summarize_runs(writes: Iterable[Write], boot: str | None) -> list[dict]:
    """List every run in the journal, oldest first: `run_id, boot_id, this_boot, started, unfinished, writes`."""
    runs: dict[tuple[str, str | None], dict] = {}
    for write in writes:
        run = runs.setdefault((write.run, write.boot), {
            "run_id": write.run, "boot_id": write.boot, "this_boot": write.boot == boot, "started": write.at,
            "unfinished": 0, "writes": []})
        run["unfinished"] += not write.known
        run["writes"].append({"address": write.address, "before": write.before, "wanted": write.wanted,
                              "after": write.after, "outcome": write.outcome, "identity": write.identity,
                              "at": write.at, "restores": write.restores})
    return list(runs.values())


def list_baselines(writes: Iterable[Write], boot: str | None) -> list[dict]:
    """List every tunable not at its baseline: `address, before, left, unfinished, identity, runs, since`."""
    alive, _ended = generations(writes, boot)
    return [{"address": one.address, "before": one.before, "left": one.last.after, "unfinished": not one.last.known,
             "identity": one.last.identity, "runs": one.runs(), "since": one.writes[0].at} for one in alive.values()]
