# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether guests and processes run on the CPUs local to their GPUs, by configuration and now."""
from __future__ import annotations

from typing import Any

from ..reading import hidden, known, lost
from .situation import Cpus, Placed, Topology, as_cpus, of_process, shown


def judge_cpus(one: Placed, host: Topology, gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """A reading of sentences; lost if a CPU list is invalid or the node of a GPU is not known.

    If CPUs are bound, those count, and the current ones if they differ; if not, any that the next start may use.
    """
    if one.unsettled:
        return lost(one.unsettled)
    found, lacking = _of_processes(one, host, gpus) if one.configured is None else _of_guest(one, host)
    return known(found) if found or lacking is None else lost(lacking)


def where(one: Placed) -> str:
    """The CPUs that a guest is bound to, or that processes may use, in words."""
    bound, now = one.bound(), one.now()
    if bound is not None:
        return f"bound to CPUs {shown(bound)}"
    return "bound to no CPUs" + (f", on {shown(now)} now" if now is not None else "")


def misplaced(cpus: Cpus, one: Placed, host: Topology) -> list[str]:
    """What is wrong with these CPUs: GPUs at none of their nodes, and CPUs at nodes without its GPUs.

    The latter is no fault if it has more CPUs than the nodes of its GPUs.
    """
    on = host.nodes_of(cpus)
    found = [f"{bdf} is at node{node} ({shown(host.cpus[node])})" for bdf, node in one.gpus
             if node is not None and node not in on]
    strays = cpus & host.online - host.near(one.nodes)
    if found or not one.nodes or not strays or (one.demand() or 0) > len(host.near(one.nodes)):
        return found
    names = ", ".join(f"node{node}" for node in host.nodes_of(strays))
    return [f"CPUs {shown(strays)} are at {names}, where none of its GPUs is"]


def _of_guest(one: Placed, host: Topology) -> tuple[list[str], str | None]:
    """What is wrong, and why part of it is not known."""
    bound, now = (one.configured or {})["cpus"], (one.entry["real"] or {}).get("cpus")
    lacking = hidden([bound] if now is None else [bound, now])
    if bound["status"] == "unparsable":
        return [], "what it is bound to is no list of CPUs"
    if lacking:
        return [], lacking
    cpus, runs_on = as_cpus(bound), one.now()
    if cpus is None:
        return _unbound(one, host), None
    found = misplaced(cpus, one, host)
    if not found and runs_on is not None and not runs_on <= cpus:
        found = [f"it runs on {shown(runs_on)} until it is started anew: {problem}"
                 for problem in misplaced(runs_on, one, host)]
    return found, None


def _unbound(one: Placed, host: Topology) -> list[str]:
    """What is wrong without binding: nothing if its GPUs are at all nodes, or if it has more CPUs than their nodes."""
    near = host.near(one.nodes)
    demand = one.demand()
    if not one.nodes or host.online <= near or (demand or 0) > len(near):
        return []
    now = one.now()
    at = f", {shown(now)} now" if now is not None and now != host.online else ""
    if one.kind == "lxc" and demand is not None:
        return [f"Proxmox VE picks {demand} CPUs at random at each start{at}"]
    return [f"it may run on all CPUs of the host{at}"]


def _of_processes(one: Placed, host: Topology, gpus: list[dict[str, Any]]) -> tuple[list[str], str | None]:
    """Each process judged by the GPUs that it uses itself; identical sentences are merged."""
    by_problem: dict[str, list[str]] = {}
    unread = hidden(process["cpus"] for process in one.entry["processes"])
    if unread:
        return [], unread
    for process in one.entry["processes"]:
        cpus = as_cpus(process["cpus"])
        if cpus is None:        # it ended meanwhile
            continue
        own = of_process(one, process["pid"], gpus, set(host.cpus))
        problems = misplaced(cpus, own, host)
        if problems and cpus >= host.online:
            problems = ["may run on all CPUs of the host"]
        for problem in problems:
            by_problem.setdefault(problem, []).append(f"{process['command']} ({process['pid']})")
    return [f"{', '.join(who)}: {problem}" for problem, who in by_problem.items()], None
