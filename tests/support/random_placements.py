# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random hosts with random guests, for property tests of proposals."""
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import neutral_facts
from neutral_facts import lacking, ok

KIB = 1 << 20       # per GiB


class Facts(dict):
    """All facts of a host; a failing test shows the randomly drawn ones."""

    def __repr__(self) -> str:
        gpus = [{name: gpu[name] for name in ("bdf", "numa_node", "claimed_by", "containers")} for gpu in self["gpus"]]
        return repr({"numa": self["numa"], "gpus": gpus, **{name: self["placement"][name] for name in (
            "cores", "l3", "guests")}})


def written(cpus: Any) -> str:
    """A list with every CPU separately, unlike our own format."""
    return ",".join(map(str, sorted(cpus)))


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Any]:
    """One or two sockets with one to four nodes each; some CPUs offline or isolated; caches reported or not."""
    sockets, per_socket, threads = draw(st.integers(1, 2)), draw(st.sampled_from((1, 1, 2, 4))), draw(st.integers(1, 2))
    cores = draw(st.integers(2, 8))
    count = sockets * per_socket
    total = count * cores
    offline = draw(st.sets(st.integers(1, total * threads - 1), max_size=3))
    facts = Facts(neutral_facts.epyc())
    siblings = [[core + shift * total for shift in range(threads)] for core in range(total)]
    online = [[cpu for cpu in group if cpu not in offline] for group in siblings]
    nodes = []
    for node in range(count):
        cpus = sorted(cpu for group in online[node * cores:(node + 1) * cores] for cpu in group)
        nodes.append({"node": f"node{node}", "id": node, "cpus": written(cpus) if cpus else "",
                      "package": node // per_socket, "memory_kib": ok(draw(st.integers(4, 256)) * KIB),
                      "free_kib": ok(KIB), "gpu": None, "distances": [
                          10 if other == node else 12 if other // per_socket == node // per_socket else 32
                          for other in range(count)]})
    facts["numa"] = {"nodes": nodes}
    isolated = draw(st.sets(st.sampled_from([cpu for group in online for cpu in group] or [0]), max_size=2))
    facts["cpu"].update(online=written(cpu for group in online for cpu in group), isolated=ok(written(isolated)),
                        kinds=draw(kinds(online)))
    groups = [group for group in online if group]
    step = draw(st.integers(1, cores))
    caches = [[cpu for group in online[first:min(first + step, end)] for cpu in group]
              for end in range(cores, total + 1, cores) for first in range(end - cores, end, step)]
    facts["placement"].update(cores=[written(group) for group in groups],
                              l3=[written(group) for group in caches if group] if draw(st.booleans()) else [])
    facts["gpus"] = []
    draw_guests(draw, facts, sorted(cpu for group in online for cpu in group), count)
    return facts


@st.composite
def kinds(draw: st.DrawFn, online: list[list[int]]) -> list[dict[str, str]]:
    if not draw(st.sampled_from((False, False, True))):
        return []
    half = len(online) // 2
    parts = (("performance cores", online[:half]), ("efficient cores", online[half:]))
    return [{"name": name, "cpus": written(cpu for group in groups for cpu in group)} for name, groups in parts]


def draw_guests(draw: st.DrawFn, facts: dict[str, Any], online: list[int], count: int) -> None:
    guests = [draw(guest(str(100 + place), online, count)) for place in range(draw(st.integers(0, 7)))]
    facts["placement"]["guests"] = ok(guests)
    facts["guests"]["containers"], facts["guests"]["vms"], facts["guests"]["ha"] = ok([]), ok([]), ok([])
    base = neutral_facts.epyc()["gpus"][0]
    for place in range(draw(st.integers(0, 8)) if guests else 0):
        owner = draw(st.sampled_from(guests))["subject"].split(":")
        node = draw(st.integers(-1, count - 1))
        claims = [{"vm": owner[1], "key": f"hostpci{place}", "value": ""}] if owner[0] == "vm" else []
        facts["gpus"].append({**base, "bdf": f"0000:{place + 1:02x}:00.0", "numa_node": ok(node), "users": ok([]),
                              "claimed_by": ok(claims), "containers": [owner[1]] if owner[0] == "lxc" else []})


@st.composite
def guest(draw: st.DrawFn, number: str, online: list[int], count: int) -> dict[str, Any]:
    running = draw(st.booleans())
    bound = draw(st.none() | st.sets(st.sampled_from(online), min_size=1))
    is_vm = draw(st.booleans())
    sockets, cores = draw(st.integers(1, 2)), draw(st.integers(1, 12))
    memory = draw(st.integers(1, 64)) * 1024 if draw(st.booleans()) else draw(st.integers(16, 40000))
    machine = draw(virtual(sockets * cores, memory, count)) if is_vm else None
    memory = machine.pop("memory") if machine else memory
    nodes = {number for node in (machine or {}).get("numa_nodes", []) if node["hostnodes"]
             for number in map(int, node["hostnodes"].split(","))}
    limit = sockets * cores if is_vm else draw(st.none() | st.integers(1, 24))
    cpus = ok(written(bound)) if bound else lacking()
    now = draw(st.just(bound or set(online)) | st.sets(st.sampled_from(online), min_size=1))
    rows = [{"node": node, "anon_kib": draw(st.integers(0, 8)) * KIB, "shmem_kib": 0, "file_kib": 0, "hugetlb_kib": 0}
            for node in range(count)]
    return {"subject": f"{'vm' if is_vm else 'lxc'}:{number}", "id": number, "kind": "vm" if is_vm else "lxc",
            "name": draw(st.none() | st.text(max_size=5)), "running": running, "template": False,
            "pending": draw(st.sampled_from(([], [], [], ["memory: 4096"], ["balloon: 0"]))),
            "configured": {"cores": limit, "memory_mib": memory, "cpus": cpus,
                           "memory_nodes": ok(written(nodes)) if nodes else lacking(), "cpulimit": None,
                           "cpuunits": None, "addresses": [], "vm": machine and {
                               **dict.fromkeys(("vcpus", "arch", "machine", "balloon_mib", "uuid", "cpu_model",
                                                "cpu_setting")),
                               "sockets": sockets, "cpu_type": "host", "cpu_flags": [], "cpu_arguments": False,
                               "keephugepages": False, "kvm": True, "pcie": [], **machine}},
            "real": {"pid": None, "threads": lacking(), "cpuset": lacking(), "cpus": ok(written(now)),
                     "memory_nodes": lacking(), "cpu_limit": ok(None), "memory_limit_kib": ok(None),
                     "memory": ok(rows) if draw(st.booleans()) else lacking("denied")} if running else None}


@st.composite
def virtual(draw: st.DrawFn, vcpus: int, memory: int, count: int) -> dict[str, Any]:
    """The virtual nodes of a VM that can start, its memory, huge pages, and hotplug."""
    huge = draw(st.sampled_from((None, None, None, "2", "1024", "any")))
    memory = max(1, memory // 2048) * 2048 if huge == "1024" else memory // 4 * 4
    hotplug = draw(st.sampled_from((False, False, True)))
    nodes = []
    if draw(st.booleans()) and vcpus > 1 and not hotplug:
        half = vcpus // 2
        for place, (cpus, size) in enumerate(((range(half), memory // 2), (range(half, vcpus), memory - memory // 2))):
            at = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=1 if huge else 2))
            nodes.append({"key": f"numa{place}", "cpus": written(cpus), "hostnodes": written(at), "memory_mib": size,
                          "policy": "bind"})
    return {"numa": bool(nodes) or huge is not None or draw(st.booleans()), "numa_nodes": nodes, "hugepages": huge,
            "hotplug_memory": hotplug, "memory": memory}
