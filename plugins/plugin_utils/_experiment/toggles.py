# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The toggles of an experiment: the changes of a plan, with dependent changes grouped.

All changes of one check form one toggle, whatever the number of devices, and so do tunables that the kernel couples.
MaxReadReq and modules are switched only together with everything else in the plan: rewriting a link register over and
over, or loading and unloading a module below a workload, is neither a fair comparison nor safe for the host.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._change.tunable import WOULD_CHANGE
from ...module_utils._tunables.sysctl_rules import PAIRS, WATCHDOGS
from ...module_utils._tunables.sysfs_rules import CPUFREQ
from .._render.text import count

PLAN, ONE_AT_A_TIME, LEAVE_ONE_OUT = "plan", "one_at_a_time", "leave_one_out"
MODES = (PLAN, ONE_AT_A_TIME, LEAVE_ONE_OUT)
MOST_TOGGLES = 8        # each adds two runs to every block

AT_ONCE, NEW_ALLOCATIONS, WORKLOAD_RESTART = TAKES_EFFECT = ("at_once", "new_allocations", "workload_restart")
_AS_A_WHOLE = ("pcie_maxreadreq", "module")
_NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
_ONE_CPU = re.compile(r"/cpu\d+/")


class Toggle(NamedTuple):
    """Changes that are made and undone together."""

    name: str
    changes: tuple[Mapping[str, Any], ...]      # as in a plan

    @property
    def addresses(self) -> list[str]:
        return [change["address"] for change in self.changes]

    @property
    def checks(self) -> list[tuple[str, str | None]]:
        """The findings that this would fix: check and subject, without duplicates."""
        return list(dict.fromkeys((change["check"], change["subject"]) for change in self.changes if change["check"]))

    @property
    def takes_effect(self) -> str:
        """When the last of its changes takes effect; a change of no known check is taken for the slowest."""
        return max((change["takes_effect"] or WORKLOAD_RESTART for change in self.changes), key=TAKES_EFFECT.index)

    @property
    def values(self) -> dict[str, dict[str, Any]]:
        """The wanted values, in the form of a plan."""
        shape: dict[str, dict[str, Any]] = {}
        for change in self.changes:
            kind, _colon, name = change["address"].partition(":")
            shape.setdefault(kind, {})[name] = change["wanted"]
        return shape


class Excluded(NamedTuple):
    """A planned change that is not compared, and why."""

    address: str
    reason: str


def choose(planned: Iterable[Mapping[str, Any]], named: Sequence[str]) -> list[Mapping[str, Any]]:
    """The changes that would be made, or those among them that the user named by check or address.

    ValueError: a name that matches none of them.
    """
    changes = [change for change in planned if change["outcome"] == WOULD_CHANGE]
    for name in named:
        if not any(name in (change["check"], change["address"]) for change in changes):
            there = ", ".join(dict.fromkeys(change["check"] or change["address"] for change in changes))
            raise ValueError(f"gpuhost_experiment_changes lists {name}, which is not planned on this host. "
                             f"Planned: {there or 'nothing'}")
    return [change for change in changes if not named or change["check"] in named or change["address"] in named]


def make_toggles(changes: Iterable[Mapping[str, Any]], mode: str,
                 starts_anew: bool) -> tuple[list[Toggle], list[Excluded]]:
    """The toggles of an experiment, and the changes that it cannot compare.

    `starts_anew`: the workload of every run starts after the switch, either with the benchmark or by a restart.
    ValueError: nothing is left, or more toggles than can be distinguished.
    """
    fair, left_out = [], []
    for toggle in _group(changes):
        reason = _unfair(toggle, mode, starts_anew)
        if reason is None:
            fair.append(toggle)
        else:
            left_out += [Excluded(address, reason) for address in toggle.addresses]
    if not fair:
        message = "; ".join(dict.fromkeys(f"{one.address}: {one.reason}" for one in left_out))
        raise ValueError("there is nothing to compare: " + (
            message or "nothing would be changed on this host. Set values to test in gpuhost_values"))
    if mode != PLAN and len(fair) > MOST_TOGGLES:
        raise ValueError(f"{count(len(fair), 'toggle')} are planned, and at most {MOST_TOGGLES} can be compared "
                         f"individually: {', '.join(toggle.name for toggle in fair)}. Select some of them with "
                         f"gpuhost_experiment_changes, or compare the whole plan with gpuhost_experiment_mode: {PLAN}")
    return fair, left_out


def _unfair(toggle: Toggle, mode: str, starts_anew: bool) -> str | None:
    if mode != PLAN and any(kind in _AS_A_WHOLE for kind in toggle.values):
        return f"MaxReadReq and modules are compared only as part of the whole plan (gpuhost_experiment_mode: {PLAN})"
    if toggle.takes_effect != AT_ONCE and not starts_anew:
        return f"cannot be compared fairly: it takes effect with {toggle.takes_effect}, and the benchmark only drives "\
               "a workload that runs already. Give gpuhost_benchmark the command that restarts it (restart)"
    return None


def _group(changes: Iterable[Mapping[str, Any]]) -> list[Toggle]:
    """Group changes by what they share: their check, or a coupling in the kernel."""
    groups: list[tuple[set[str], list[Mapping[str, Any]]]] = []
    for change in changes:
        keys, members = {_own_key(change), *_coupled(change["address"])}, [change]
        for other in [group for group in groups if group[0] & keys]:
            groups.remove(other)
            keys, members = keys | other[0], [*other[1], *members]
        groups.append((keys, members))
    order = {id(change): position for position, change in enumerate(changes)}
    groups = sorted(groups, key=lambda group: order[id(group[1][0])])
    return [Toggle(_name(members), tuple(members)) for _keys, members in groups]


def _own_key(change: Mapping[str, Any]) -> str:
    return f"check {change['check']}" if change["check"] else _ONE_CPU.sub("/cpu*/", change["address"])


def _coupled(address: str) -> list[str]:
    kind, _colon, name = address.partition(":")
    if kind == "sysctl":
        return [" ".join(keys) for keys in (*PAIRS, WATCHDOGS) if name in keys]
    if kind == "sysfs" and (name.startswith(f"{CPUFREQ}/") or name == _NO_TURBO):
        return [CPUFREQ]        # governor, preference, boost and limits
    return []


def _name(changes: Sequence[Mapping[str, Any]]) -> str:
    """`numa_balancing`, `cpu_governor + cpu_boost`, `sysctl:vm.laptop_mode`."""
    return " + ".join(dict.fromkeys(change["check"] or _ONE_CPU.sub("/cpu*/", change["address"])
                                    for change in changes))
