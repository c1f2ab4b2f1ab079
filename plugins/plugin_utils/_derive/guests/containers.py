# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a container's device rules and library mounts work, now and after the next boot.

A node is opened by its numbers, so rules are checked against the nodes' current numbers. Sources:
Documentation/admin-guide/cgroup-v2.rst (device controller); include/linux/fs.h, CHRDEV_MAJOR_DYN_*; pve-container,
src/PVE/LXC.pm: update_lxc_config(), which looks devN up at each start; lxc, src/lxc/cgroups/cgroup2_devices.c.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..reading import value

# Majors that the kernel allocates in the order in which drivers load. 195 is NVIDIA's own and fixed.
DYNAMIC_MAJORS = frozenset((*range(234, 255), *range(384, 512)))
UVM, CONTROL = "/dev/nvidia-uvm", "/dev/nvidiactl"
_CONTROL_NUMBERS = (195, 255)       # nv-chardev-numbers.h
_OF_GPUS = ("nvidia", "gdrdrv", "kfd", "drm")
_GPU = re.compile(r"/dev/nvidia\d+")
_JUDGED = re.compile(r"/dev/(nvidia.+|kfd)")
_NVIDIA = re.compile(r"/dev/nvidia(\d+|ctl|-modeset|-uvm|-uvm-tools|-caps/.+)")


class Host(NamedTuple):
    """The host's facts that its containers depend on."""

    nodes: dict[str, dict]          # by path
    uvm_major: int | None
    driver_version: str | None
    node_makers: list[dict]


def of_host(facts: Mapping[str, Any]) -> Host:
    majors = {entry["name"]: entry["major"] for entry in value(facts["nvidia"]["majors"]) or []}
    return Host({node["path"]: node for node in facts["guests"]["device_nodes"]}, majors.get("nvidia-uvm"),
                value(facts["nvidia"]["driver_version"]), facts["guests"]["node_makers"])


def judge_devices(container: dict[str, Any], host: Host) -> dict[str, Any]:
    """The device and library keys of `gpu_containers`; schemas/facts/derived.json explains them."""
    blocked = _blocked(container, host)
    unowned, foreign, moved = _stale(container, host)
    # Without a GPU, nvidiactl or nvidia-uvm CUDA fails. The other nodes serve displays, profilers and MIG: they are
    # listed as well, but alone they are no failure.
    lost = any(_GPU.fullmatch(path) or path in (UVM, CONTROL) for path in blocked)
    return {
        "blocked": list(blocked.values()) if lost else [],
        # A major of another GPU driver is only listed if a node is blocked: the rule was meant for that node.
        "stale": unowned + foreign + (moved if lost else []), "foreign": bool(foreign),
        "overbroad": _overbroad(container),
        "libraries": [f"{_name(library)} is of version {library['version']}" for library in container["libraries"]
                      if host.driver_version and library["version"] != host.driver_version],
        "device_line": _device_line(container),
    }


def reboot_risks(container: dict[str, Any], host: Host, by_itself: bool) -> list[str]:
    """What another kernel or driver, or just the next boot, would break; `by_itself`: it starts with the host."""
    risks = [f"{rule['value']} is {', '.join(rule['owners'])} only until the next boot" for rule in container["allow"]
             if _counts_on(container, rule, host)]
    risks += [f"{_name(library)} will be missing after a driver update"
              + (", and it starts without it" if library["optional"] else ", and then it does not start")
              for library in container["libraries"]]
    if computes(container) and not container["hook"]:
        risks += _late_node(container, host, by_itself)
    return risks


def computes(container: dict[str, Any]) -> bool:
    """Whether it is given a GPU of NVIDIA's driver, so that CUDA needs /dev/nvidia-uvm."""
    return any(_GPU.fullmatch(path) for path in container["gpu_devices"])


def passed_on(container: Mapping[str, Any]) -> list[str]:
    """The paths passed by devN; the container does not start without them."""
    return [device["path"] for device in container["devices"] if _is_passed_on(device)]


def rules_counted_on(container: Mapping[str, Any], facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Its rules by a dynamic major that alone give it access to a node."""
    host = of_host(facts)
    return [rule for rule in container["allow"] if _counts_on(container, rule, host)]


# -- access to the given nodes ---------------------------------------------------------------------------------------

def _blocked(container: dict[str, Any], host: Host) -> dict[str, str]:
    """A sentence for each node, by path, that the container needs but may not open."""
    if container["hook"] or container["allows_everything"]:
        return {}
    by_number = _passed_on(container, host)
    found = {}
    for device in container["devices"]:
        path, node = device["path"], host.nodes.get(device["path"])
        if node is None or not _JUDGED.fullmatch(path) or path in found:
            continue
        if _is_passed_on(device) and not device["writable"]:
            found[path] = f"{path} has deny-write, but the driver is opened for writing"
        elif _numbers(node) not in by_number and not _allowed(container, *_numbers(node)):
            found[path] = f"{path} is {node['major']}:{node['minor']}, not allowed by any rule"
    if computes(container):
        found |= {path: f"{path} is missing in its configuration" for path in _not_given(container, host, by_number)
                  if path not in found}
    return found


def _not_given(container: dict[str, Any], host: Host, by_number: set[tuple]) -> list[str]:
    """The nodes, besides the GPU's, that CUDA needs but the container is not given and cannot create or open."""
    paths = {device["path"] for device in container["devices"]}
    wanted = [(CONTROL, _CONTROL_NUMBERS), (UVM, (host.uvm_major, 0))]
    return [path for path, (major, minor) in wanted if major is not None and path not in paths and "/dev" not in paths
            and (container["unprivileged"] or not (("c", major, minor) in by_number
                                                   or _allowed(container, "c", major, minor)))]


def _allowed(container: dict[str, Any], kind: str, major: int, minor: int) -> bool:
    """Whether a rule lets the node be opened for reading and writing. A lone `a` is a mode, not a rule."""
    return any(rule["value"] != "a" and rule["kind"] in ("a", kind) and rule["major"] in (None, major)
               and rule["minor"] in (None, minor) and _opens(rule) for rule in container["allow"])


def _opens(rule: dict[str, Any]) -> bool:
    return {"r", "w"} <= set(rule["access"])


def _is_passed_on(device: dict[str, Any]) -> bool:
    return re.fullmatch(r"dev\d+", device["key"]) is not None


def _passed_on(container: Mapping[str, Any], host: Host) -> set[tuple]:
    """The numbers that devN allows: those the nodes had when the container was started."""
    return {_numbers(host.nodes[device["path"]]) for device in container["devices"]
            if _is_passed_on(device) and device["writable"] and device["path"] in host.nodes}


def _numbers(node: dict[str, Any]) -> tuple[str, int, int]:
    return node["type"], node["major"], node["minor"]


# -- rules with a wrong number -----------------------------------------------------------------------------------------

def _stale(container: dict[str, Any], host: Host) -> tuple[list[str], list[str], list[str]]:
    """Rules that give the container nothing: by a major without a driver, of an unrelated driver, and of another GPU
    driver."""
    given = {node["major"] for device in container["devices"] for node in _nodes_at(device["path"], host)}
    unowned, foreign, moved = [], [], []
    for rule in container["allow"]:
        major, owners = rule["major"], rule["owners"]
        if rule.get("path") or rule["kind"] != "c" or major in given:
            continue
        if major not in DYNAMIC_MAJORS and not rule.get("hint"):
            continue
        if not owners:
            unowned.append("; ".join(filter(None, (f"{rule['value']}: no driver has the major {major}",
                                                   rule.get("hint")))))
            continue
        kind = moved if _of_gpus(owners) else foreign
        kind.append(f"{rule['value']}: the major {major} is {', '.join(owners)}")
    return unowned, foreign, moved


def _nodes_at(path: str, host: Host) -> list[dict[str, Any]]:
    return [node for name, node in host.nodes.items() if name == path or name.startswith(f"{path}/")]


def _of_gpus(owners: list[str]) -> bool:
    return any(owner.startswith(_OF_GPUS) for owner in owners)


def _overbroad(container: dict[str, Any]) -> list[str]:
    kinds = {"a": "every device", "b": "every block device", "c": "every character device"}
    found = ["a: every device"] if container["allows_everything"] else []
    return found + [f"{rule['value']}: {kinds[rule['kind']]}" for rule in container["allow"]
                    if rule["kind"] and rule["value"] != "a" and rule["major"] is None
                    and {"r", "w"} & set(rule["access"])]


# -- the next boot ----------------------------------------------------------------------------------------------------

def _counts_on(container: Mapping[str, Any], rule: dict[str, Any], host: Host) -> bool:
    """Whether only this rule gives access to a node, and its major is one that the kernel reassigns."""
    if rule.get("path") or rule["kind"] != "c" or rule["major"] not in DYNAMIC_MAJORS:
        return False        # a path is looked up at each start
    if not (_of_gpus(rule["owners"]) and _opens(rule)):
        return False
    passed_on = {number[1] for number in _passed_on(container, host)}
    mounted = any(node["major"] == rule["major"] for device in container["devices"]
                  if not _is_passed_on(device) for node in _nodes_at(device["path"], host))
    return rule["major"] not in passed_on and (mounted or "nvidia-uvm" in rule["owners"])


def _late_node(container: dict[str, Any], host: Host, by_itself: bool) -> list[str]:
    """Why nvidia_uvm's node may not exist yet when the container starts; empty if it does."""
    if not host.node_makers:
        return [f"nothing creates {UVM} at boot: no unit and no udev rule runs nvidia-modprobe"]
    if by_itself and not any(maker["ordered"] for maker in host.node_makers):
        return [f"{host.node_makers[0]['path']} creates {UVM}, but without Before=pve-guests.service"]
    return []


def _name(library: dict[str, Any]) -> str:
    return library["path"].rpartition("/")[2]


def _device_line(container: dict[str, Any]) -> str | None:
    """The command that gives it the same devices by devN; None if it has them so already."""
    passed_on = {device["path"] for device in container["devices"] if _is_passed_on(device) and device["writable"]}
    paths = {path for path in (*container["gpu_devices"], *(device["path"] for device in container["devices"]))
             if _NVIDIA.fullmatch(path)}
    if computes(container):
        paths |= {CONTROL, UVM}
    wanted = sorted(paths - passed_on, key=lambda path: (not _GPU.fullmatch(path), path))
    taken = {device["key"] for device in container["devices"] if device["path"] not in wanted}
    free = (f"dev{number}" for number in range(256) if f"dev{number}" not in taken)
    given = " ".join(f"-{key} {path},mode=0666" for key, path in zip(free, wanted))
    return f"pct set {container['id']} {given}" if given else None
