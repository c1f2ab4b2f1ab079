# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values to persist, from a run, a user or a record: parsed, and checked by the setters.

What a setter would refuse permanently is refused here with the same message; a busy GPU is not such a reason.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from .._change.baseline import list_baselines, pair_lines
from .._change.journal import read_journal
from .._change.moment import BOOT_ID
from .._change.preflight import satisfied
from .._change.setter import BadValues, resolve_values, set_values
from .._change.tunable import REFUSED, Kind, Tunable
from .._host.host import Host
from .._kinds.kmod import ModuleKind
from .._kinds.maxreadreq import MaxReadRequest, MaxReadRequestKind
from .._kinds.sysctl import SysctlKind, family
from .._kinds.sysfs import SysfsKind
from .._tunables.guest_affinity import how_to_keep
from .._tunables.sysctl_rules import PAIRS
from .._tunables.wanted import Wanted

SYSCTL, GUESTS = "sysctl", "guest_affinity"
Values = dict[str, dict[str, Any]]


class ToPersist(NamedTuple):
    """Values by kind and name; unreadable ones are missing from `now` and `baseline`."""

    values: Values          # wanted values without guards
    now: Values             # current values
    baseline: Values        # values before the first run of this boot
    boot: Values            # values for gpuhost-boot, with guards

    @property
    def sysctls(self) -> dict[str, str]:
        """The sysctls in the order in which they must be written, without the half of a pair that is 0."""
        given = self.values.get(SYSCTL, {})
        ordered = dict.fromkeys(key for name in given for key in family(name) if key in given)
        off = {key for pair in PAIRS if set(pair) <= set(given) for key in pair if given[key] == "0"}
        return {key: given[key] for key in ordered if key not in off}

    def without(self, addresses: set[str]) -> ToPersist:
        return ToPersist(*(_without(part, addresses) for part in self))

    def differing(self) -> list[dict[str, Any]]:
        """Return `[{address, now, value}]` of the values that will change at the next boot."""
        return [{"address": f"{kind}:{name}", "now": self.now.get(kind, {}).get(name), "value": value}
                for kind, named in self.values.items() for name, value in named.items()
                if not _same(self.now.get(kind, {}).get(name), value)]


def resolve(host: Host, values: Values) -> ToPersist:
    """Resolve `values`. Raises BadValues with a line for each value that is invalid or that a setter refuses."""
    kinds: dict[str, Kind] = {SYSCTL: SysctlKind(host), "sysfs": SysfsKind(host), "module": ModuleKind(host),
                              "pcie_maxreadreq": MaxReadRequestKind(host, allow_busy=True)}
    unknown = [name for name, named in values.items() if name not in kinds or not isinstance(named, dict)]
    if GUESTS in unknown:
        raise BadValues(_passing(values[GUESTS]))
    if unknown:
        raise BadValues([f"{name}: wanted is a mapping of values below one of {', '.join(kinds)}" for name in unknown])
    found = ToPersist({}, {}, {}, {})
    if not any(values.values()):
        raise BadValues(["there is no value to persist: name some, or state absent takes out what there is"])
    problems = []
    for name, kind in kinds.items():
        plain = {key: _unguarded(spec) for key, spec in values.get(name, {}).items()}
        try:
            problems += _refusals(kind, host, plain)
            for tunable, wanted in resolve_values(kind, plain).items():
                _add(found, name, tunable, wanted)
        except BadValues as bad:
            problems += [f"{name}:{line}" for line in str(bad).splitlines()]
    if problems:
        raise BadValues(problems)
    found.baseline.update(read_baseline(host, found.now))
    return found


def _passing(guests: Any) -> list[str]:
    """Why the CPUs of running guests are not persisted, and what to do instead."""
    guests = guests if isinstance(guests, dict) else {}
    return [f"{GUESTS}:{name}: {how_to_keep(name, str(_unguarded(spec)))}" for name, spec in guests.items()] or [
        f"{GUESTS}: the CPUs of a running guest end with it and are not persisted"]


def read_baseline(host: Host, current: Values) -> Values:
    """Read the values before the first run of this boot from the journal, else the current ones."""
    before = {one["address"]: one["before"] for one in list_baselines(
        pair_lines(read_journal(host).value or []), host.read(BOOT_ID).value)}
    return {kind: {name: before.get(f"{kind}:{name}", value) for name, value in named.items()}
            for kind, named in current.items()}


def _refusals(kind: Kind, host: Host, values: dict[str, Any]) -> list[str]:
    if not values:
        return []
    done = set_values(kind, host, values, [], check_mode=True, on_refusal="report")
    return [f"{change['address']}: {change['reason']}" for change in done["changes"] if change["outcome"] == REFUSED]


def _add(found: ToPersist, kind: str, tunable: Tunable, wanted: Wanted) -> None:
    name = tunable.address.partition(":")[2]
    now = tunable.read()
    value = wanted.value
    if wanted.at_least:
        # systemd's files have no lower bounds: a value that is already higher is kept.
        value = now.value if now.ok and satisfied(tunable, wanted, now.value) else str(wanted.value)
    found.values.setdefault(kind, {})[name] = value
    if now.ok:
        found.now.setdefault(kind, {})[name] = now.value
    if kind != SYSCTL:
        identity = tunable.identity() if isinstance(tunable, MaxReadRequest) else None
        found.boot.setdefault(kind, {})[name] = {"set": value, "identity": identity} if identity else value


def _same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, str) and isinstance(other, str) and one.split() == other.split())


def _unguarded(spec: Any) -> Any:
    return spec["set"] if isinstance(spec, dict) and "set" in spec else spec


def _without(values: Values, addresses: set[str]) -> Values:
    kept = {kind: {name: value for name, value in named.items() if f"{kind}:{name}" not in addresses}
            for kind, named in values.items()}
    return {kind: named for kind, named in kept.items() if named}
