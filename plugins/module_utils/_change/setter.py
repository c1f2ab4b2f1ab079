# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Common code of the modules that set values: options, checks, results."""
from __future__ import annotations

from typing import Any

from .._host.host import Host
from .._host.reading import Reading
from .._tunables.wanted import Wanted
from .converge import KEEP, ON_REFUSAL, REPORT, Converged, converge
from .journal import Journal, check_run_id, new_run_id
from .tunable import CHANGED, REFUSED, WOULD_CHANGE, Change, Kind, Tunable

ARGUMENTS = {
    "values": {"type": "dict", "default": {}},
    "sysroot": {"type": "path", "default": "/"},
    "run_id": {"type": "str"},
    "on_refusal": {"type": "str", "choices": list(ON_REFUSAL), "default": KEEP},
    "lock_timeout": {"type": "float", "default": 10.0},
}


class BadValues(ValueError):
    """The requested values are invalid; one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))


def run_setter(module: Any, kind: Kind, host: Host, names: list[str], values: dict[str, Any]) -> None:
    """Run an AnsibleModule: read `names`, set `values`, exit or fail."""
    params = module.params
    try:
        result = set_values(kind, host, values, names, run_id=params["run_id"],
                            check_mode=module.check_mode, on_refusal=params["on_refusal"],
                            lock_timeout=params["lock_timeout"])
    except ValueError as bad:
        module.fail_json(msg=str(bad))
    diff = result.pop("diff")
    if module._diff:
        result["diff"] = diff
    refused = any(change["outcome"] == REFUSED for change in result["changes"])
    if refused and not module.check_mode and params["on_refusal"] != REPORT:
        module.fail_json(**result)
    module.exit_json(**result)


def set_values(kind: Kind, host: Host, values: dict[str, Any], names: list[str], *, run_id: str | None = None,
               check_mode: bool = False, on_refusal: str = KEEP, lock_timeout: float = 10.0) -> dict:
    """Read the named tunables and set `values`. Raises ValueError before anything is written."""
    run = check_run_id(run_id) if run_id else new_run_id()
    wanted = resolve_values(kind, values)
    set_too = {tunable.address for tunable in wanted}
    named = [tunable for tunable in find_tunables(kind, names) if tunable.address not in set_too]
    done = converge(kind.group(wanted) if wanted else [], Journal(host, run, lock_timeout), check_mode=check_mode,
                    on_refusal=on_refusal)
    readings = {tunable: tunable.read() for tunable in named}
    baseline = {tunable: reading.value for tunable, reading in readings.items() if reading.ok}
    for tunable in named:
        baseline.update((one, one.read().value) for one in kind.peers(tunable))
    readings.update((tunable, done.readings[tunable]) for tunable in wanted)
    return {**_answer(run, readings, {**baseline, **done.baseline}, done), **kind.details(list(readings))}


def resolve_values(kind: Kind, values: dict[str, Any]) -> dict[Tunable, Wanted]:
    """Resolve `values` to tunables and their wanted values. Raises BadValues with every problem."""
    problems = []
    parsed = {}
    for name, spec in values.items():
        try:
            parsed[name] = kind.parse(name, spec)
        except ValueError as bad:
            problems.append(f"{name}: {bad}")
    if problems:
        raise BadValues(problems)
    found: dict[str, tuple[Tunable, Wanted, str]] = {}
    # An exact name wins over a pattern that matches it too.
    for name, wanted in sorted(parsed.items(), key=lambda item: not kind.is_pattern(item[0])):
        try:
            tunables = kind.find(name)
        except (ValueError, LookupError) as bad:
            problems.append(f"{name}: {bad}")
            continue
        for tunable in tunables:
            other = found.get(tunable.address)
            if other and other[1] != wanted and kind.is_pattern(other[2]) == kind.is_pattern(name):
                problems.append(f"{tunable.address}: both {other[2]} and {name} set it, to different values")
            found[tunable.address] = (other[0] if other else tunable, wanted, name)
    if problems:
        raise BadValues(problems)
    order = {name: position for position, name in enumerate(parsed)}
    return {tunable: wanted for tunable, wanted, _name in sorted(found.values(), key=lambda entry: order[entry[2]])}


def find_tunables(kind: Kind, names: list[str]) -> list[Tunable]:
    """Find every tunable matched by `names`, once. Raises BadValues with every problem."""
    problems, found = [], {}
    for name in names:
        try:
            found.update((tunable.address, tunable) for tunable in kind.find(name))
        except (ValueError, LookupError) as bad:
            problems.append(f"{name}: {bad}")
    if problems:
        raise BadValues(problems)
    return list(found.values())


def _answer(run: str, readings: dict[Tunable, Reading], baseline: dict[Tunable, Any], done: Converged) -> dict:
    shown = {tunable.address: {"address": tunable.address, **reading._asdict()}
             for tunable, reading in readings.items()}
    return {
        "changed": any(_differs(change) for change in done.changes),
        "run_id": run,
        "readings": list(shown.values()),
        "changes": [change.as_result() for change in done.changes],
        "snapshot": {tunable.address.partition(":")[2]: value for tunable, value in baseline.items()
                     if value is not None},
        "diff": make_diff(done.changes),
        "msg": "\n".join(change.line() for change in done.changes),
    }


def _differs(change: Change) -> bool:
    """Whether the host was, or would be, changed."""
    return change.outcome in (CHANGED, WOULD_CHANGE) or \
        (change.outcome == REFUSED and change.after is not None and change.after != change.before)


def make_diff(changes: list[Change]) -> dict:
    """Make a diff of the changed tunables, one line `address = value` each."""
    differing = [change for change in changes if _differs(change)]
    return {
        "before": "".join(f"{change.address} = {change.before}\n" for change in differing),
        "after": "".join(f"{change.address} = {change.after}\n" for change in differing),
    }
