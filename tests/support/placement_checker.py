# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that Proxmox VE accepts a proposed placement and the host can hold it; shares no code with the proposer.

The rules are those of qemu-server 8.0 to 9.2 (docs/placement.md): PVE/QemuServer/Memory.pm, config() and
hugepages_topology(); PVE/CpuSet.pm, parse_cpuset(); PVE/API2/Qemu.pm, update_vm_api. That each vCPU must be at a
node is QEMU's (hw/core/numa.c).
"""
from __future__ import annotations

import re
import shlex
from typing import Any

NUMBER_SETS = re.compile(r"\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*")
SETTABLE = re.compile(r"affinity|numa[0-7]?")
RAW_LINE = re.compile(r"lxc\.cgroup2?\.cpuset\.(?:cpus|mems): (\S+)")


def numbers(text: str, separator: str = ",") -> set[int]:
    """A list such as `0-3,8`; AssertionError for anything else."""
    found: set[int] = set()
    for part in text.split(separator):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        assert match, f"{text!r} is not a list"
        first, last = int(match[1]), int(match[2] or match[1])
        assert first <= last, f"{part!r} is a descending range"
        found.update(range(first, last + 1))
    return found


def configuration(guest: dict[str, Any]) -> dict[str, str]:
    """The placement settings of a VM in the facts, in the form of its configuration file."""
    said = guest["configured"]
    machine = said["vm"]
    found = {"memory": str(said["memory_mib"]), "sockets": str(machine["sockets"]),
             "cores": str(said["cores"] // machine["sockets"])}
    if said["cpus"]["status"] == "ok":
        found["affinity"] = said["cpus"]["value"]
    if machine["hugepages"] is not None:
        found["hugepages"] = machine["hugepages"]
    if machine["hotplug_memory"]:
        found["hotplug"] = "disk,memory"
    if machine["numa"]:
        found["numa"] = "1"
    for node in machine["numa_nodes"]:
        pairs = (("cpus", node["cpus"]), ("hostnodes", node["hostnodes"]), ("memory", node["memory_mib"]),
                 ("policy", node["policy"]))
        found[node["key"]] = ",".join(f"{key}={str(text).replace(',', ';')}" for key, text in pairs if text is not None)
    return found


def apply(settings: dict[str, str], command: str, number: str) -> dict[str, str]:
    """Apply `qm set` to a configuration; AssertionError for a command that it does not accept."""
    words = shlex.split(command, comments=True)
    assert words[:3] == ["qm", "set", number], command
    assert len(words) % 2 == 1 and len(words) > 3, command
    found, deleted = dict(settings), []
    for option, text in zip(words[3::2], words[4::2]):
        name = option.removeprefix("--")
        assert option.startswith("--") and text, command
        if name == "delete":
            deleted = text.split(",")
            continue
        assert SETTABLE.fullmatch(name), f"{name} is not ours to set"
        found[name] = text
    for name in deleted:
        assert SETTABLE.fullmatch(name) and f"--{name}" not in words, f"{name} is set and deleted"
        found.pop(name, None)
    return found


def check_vm(settings: dict[str, str], nodes: set[int], online: set[int]) -> dict[int, float]:
    """Fail if such a VM would not start; otherwise return MiB by the host nodes that its memory is bound to."""
    if "affinity" in settings:
        assert numbers(settings["affinity"]) <= online, f"CPUs {settings['affinity']} are not all online"
    huge = settings.get("hugepages")
    assert not huge or settings.get("numa") == "1", "numa needs to be enabled to use hugepages"
    if settings.get("numa") != "1":
        return {}
    virtual = {name: dict(part.split("=", 1) for part in text.split(","))
               for name, text in settings.items() if re.fullmatch(r"numa\d", name)}
    if "memory" in settings.get("hotplug", ""):
        assert not virtual, "cannot enable memory hotplugging with custom NUMA topology"
    bound: dict[int, float] = {}
    cpus: list[int] = []
    for name, node in virtual.items():
        assert set(node) <= {"cpus", "hostnodes", "memory", "policy"}, f"{name}: {node}"
        assert NUMBER_SETS.fullmatch(node["cpus"]), f"{name}: cpus"
        assert float(node.get("memory", 0)) > 0, f"missing NUMA {name} memory value"
        cpus += numbers(node["cpus"], ";")
        if "hostnodes" in node:
            assert NUMBER_SETS.fullmatch(node["hostnodes"]), f"{name}: hostnodes"
            at = numbers(node["hostnodes"], ";")
            assert at <= nodes, f"host NUMA node of {at} doesn't exist"
            assert node.get("policy") in ("preferred", "bind", "interleave"), f"{name}: policy for hostnode"
            for one in at:
                bound[one] = bound.get(one, 0) + float(node["memory"]) / len(at)
        if huge:
            check_huge_pages(huge, node)
    if virtual:
        total = sum(float(node["memory"]) for node in virtual.values())
        assert total == float(settings["memory"]), "total memory for NUMA nodes must be equal to vm static memory"
        assert sorted(cpus) == list(range(int(settings["sockets"]) * int(settings["cores"]))), "vCPUs and nodes"
    return bound


def check_huge_pages(size: str, node: dict[str, str]) -> None:
    assert re.fullmatch(r"\d", node.get("hostnodes", "")), "more than 1 hostnode value in numa node"
    memory = float(node["memory"])
    assert memory % 2 == 0, "memory size is not a positive even integer; cannot use for hugepages"
    assert size == "any" or memory % int(size) == 0, "not a multiple of the requested hugepages size"


def check(document: dict[str, Any], facts: dict[str, Any]) -> None:
    """Check a whole placement.json against the facts it is based on."""
    nodes = {node["id"]: node for node in facts["numa"]["nodes"]}
    online = numbers(facts["cpu"]["online"])
    said = {guest["subject"]: guest for guest in facts["placement"]["guests"]["value"]}
    asked: dict[int, float] = {}
    changed_at: set[int] = set()
    for entry in document["guests"]:
        if entry["proposed"]["cpus"] is not None and entry["changed"]:
            assert numbers(entry["proposed"]["cpus"]) <= online
        if entry["subject"].startswith("vm:"):
            bound = _vm(entry, said[entry["subject"]], set(nodes), online)
            for node, size in bound.items():
                asked[node] = asked.get(node, 0) + size
            changed_at |= set(bound) if entry["proposed"]["virtual_nodes"] else set()
        elif entry["subject"].startswith("lxc:"):
            file = f"/etc/pve/lxc/{entry['subject'][4:]}.conf"
            assert all(RAW_LINE.fullmatch(line) for line in entry["commands"])
            assert not entry["commands"] or entry["edit"].startswith(file)
    for node in changed_at:
        assert asked[node] <= nodes[node]["memory_kib"]["value"] >> 10, f"node {node} has not so much memory"


def _vm(entry: dict[str, Any], guest: dict[str, Any], nodes: set[int], online: set[int]) -> dict[int, float]:
    """The memory it binds, as configured or after the commands; undoing them must restore the configuration."""
    before = configuration(guest)
    if not entry["commands"]:
        return _bound_now(before)
    after = before
    for command in entry["commands"]:
        after = apply(after, command, guest["id"])
    assert after != before
    back = after
    for command in entry["undo"]:
        if "--revert" not in command:
            back = apply(back, command, guest["id"])
    assert back == before, "the way back does not lead there"
    return check_vm(after, nodes, online)


def _bound_now(settings: dict[str, str]) -> dict[int, float]:
    bound: dict[int, float] = {}
    for name, text in settings.items():
        node = dict(part.split("=", 1) for part in text.split(",")) if re.fullmatch(r"numa\d", name) else {}
        at = numbers(node["hostnodes"], ";") if "hostnodes" in node else set()
        for one in at:
            bound[one] = bound.get(one, 0) + float(node.get("memory", 0)) / len(at)
    return bound
