# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""fleet.md: a summary of the fleet to paste into a ticket or a chat."""
from __future__ import annotations

from collections import Counter
from typing import Any

from .._checks.findings import PRIORITIES
from .._render.text import code, count, escape, table
from .fleet import Fleet

SHOWN_HOSTS = 10
SHOWN_ROWS = 50


def markdown(fleet: Fleet, made_at: str) -> str:
    lines = [f"# {count(len(fleet.hosts), 'GPU host')}", "", f"Made {made_at}: {_totals(fleet)}.", ""]
    failed = [(name, entry) for name, row in fleet.hosts.items() for entry in row["findings"] if entry[1] == "fail"]
    lines += [line for priority in PRIORITIES for line in _failing(fleet, failed, priority)]
    lines += _unknown(fleet) + _hosts(fleet) + _outliers(fleet) + _guests(fleet) + _drift(fleet)
    lines += _rollout(fleet) + _runs(fleet) + _problems(fleet)
    return "\n".join(lines).rstrip("\n") + "\n"


def _totals(fleet: Fleet) -> str:
    things, places = Counter(), 0
    for row in fleet.hosts.values():
        things.update(row["things"])
        places += sum(row["places"].values())
    fine = sum(not any(row["things"].values()) for row in fleet.hosts.values())
    found = ", ".join(f"{things[priority]} {priority}" for priority in PRIORITIES if things[priority])
    said = f"{count(things.total(), 'thing')} to do" + (f" ({found}) in {count(places, 'place')}" if found else "")
    return f"{said}; {count(fine, 'host')} with nothing to do"


def _failing(fleet: Fleet, failed: list[tuple[str, list]], priority: str) -> list[str]:
    hosts: dict[str, dict[str, None]] = {}
    values: dict[str, Counter] = {}
    for name, (check, _verdict, level, actual, _wanted, _reason, _fix, waived, *_rest) in failed:
        if level == priority and not waived:
            hosts.setdefault(check, {})[name] = None
            values.setdefault(check, Counter())[actual] += 1
    rows = [[code(check), escape(fleet.checks.get(check, {}).get("title", "")),
             f"{len(hosts[check])} of {len(fleet.hosts)}",
             ", ".join(code(text) for text, _number in values[check].most_common(3)), _names(hosts[check])]
            for check in sorted(hosts, key=lambda check: (-len(hosts[check]), check))]
    return _section(f"{priority}", ("check", "name", "hosts", "is", "which"), rows)


def _unknown(fleet: Fleet) -> list[str]:
    hosts: dict[str, dict[str, None]] = {}
    for name, row in fleet.hosts.items():
        for check, verdict, *_rest in row["findings"]:
            if verdict == "unknown":
                hosts.setdefault(check, {})[name] = None
    return _section("Unknown", ("check", "hosts", "which"), [
        [code(check), str(len(names)), _names(names)] for check, names in hosts.items()])


def _hosts(fleet: Fleet) -> list[str]:
    def weight(name: str) -> tuple:
        return (*(-fleet.hosts[name]["things"].get(priority, 0) for priority in PRIORITIES), name)

    rows = [[escape(name), escape(row["machine"]), *(str(row["things"].get(priority, 0)) for priority in PRIORITIES),
             str(row["verdicts"].get("unknown", 0)), row["at"]]
            for name, row in ((name, fleet.hosts[name]) for name in sorted(fleet.hosts, key=weight))]
    return _section("Hosts", ("host", "machine", *PRIORITIES, "unknown", "audited"), rows)


def _outliers(fleet: Fleet) -> list[str]:
    return _section("Odd ones within a model", ("model", "what", "most have", "but"), [
        [escape(one["model"]), code(one["what"]), f"{code(one['majority'])} ({one['having']} of {one['hosts']})",
         _cut([f"{escape(host)}: {code(text)}" for host, text in one["odd"].items()])] for one in fleet.outliers])


def _guests(fleet: Fleet) -> list[str]:
    titles = ("guest", "is", "nodes of its GPUs there", "and inside", "")
    return _section("Guests that are hosts of this fleet", titles, [
        [f"{escape(one['host'])} {code(one['subject'])}", escape(one["guest"]), _numbers(one["outside"]),
         _numbers(one["inside"]), escape(one["problem"])] for one in fleet.guests])


def _numbers(nodes: list[int]) -> str:
    return ", ".join(map(str, nodes)) or "not known"


def _drift(fleet: Fleet) -> list[str]:
    rows = [[escape(name), code(one["check"]), escape(one["subject"]) or "host", _end(one["was"]), _end(one["now"])]
            for name, row in fleet.hosts.items() for one in row["drift"]]
    return _section("Drift since the previous run", ("host", "check", "where", "was", "is"), rows)


def _end(end: list | None) -> str:
    return "not there" if end is None else f"{code(end[1])} ({end[0].replace('_', ' ')})"


def _rollout(fleet: Fleet) -> list[str]:
    if fleet.rollout is None:
        return []
    return _section(f"Rollout {fleet.rollout['run_id']}: {escape(fleet.rollout['ended'])}",
                    ("host", "batch", "state", "reason"), [list(map(escape, row)) for row in fleet.rollout["hosts"]])


def _runs(fleet: Fleet) -> list[str]:
    rows = [[escape(name), code(row["runs"][0]["id"]), row["runs"][0]["state"], escape(_outcomes(row["runs"][0])),
             escape("; ".join(row["runs"][0]["harm"]))] for name, row in fleet.hosts.items() if row["runs"]]
    return _section("Last runs", ("host", "run", "state", "outcomes", "harm"), rows)


def _outcomes(run: dict[str, Any]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in run["outcomes"].items()) or "nothing to change"


def _problems(fleet: Fleet) -> list[str]:
    return _section("Unusable records", ("host", "why"), [
        [escape(name), escape(text)] for name, text in fleet.problems.items()])


def _section(heading: str, head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    more = [f"... and {len(rows) - SHOWN_ROWS} more in index.html", ""] if len(rows) > SHOWN_ROWS else []
    return [f"## {heading}", "", *table(head, rows[:SHOWN_ROWS]), "", *more]


def _names(names: dict[str, None]) -> str:
    return _cut([escape(name) for name in names])


def _cut(texts: list[str]) -> str:
    more = len(texts) - SHOWN_HOSTS
    return ", ".join(texts[:SHOWN_HOSTS]) + (f" and {more} more" if more > 0 else "")
