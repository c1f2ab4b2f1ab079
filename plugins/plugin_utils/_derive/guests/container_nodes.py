# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Device nodes inside running containers, compared with those of the host.

A node is opened by its numbers. One created in another boot leads to the driver that has its major now, or to none; a
mount with create=file leaves a plain file if the host had no node when the container started.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..reading import known, lost, value
from .containers import CONTROL, UVM

_GPU = re.compile(r"/dev/nvidia\d+")
_JUDGED = re.compile(r"/dev/(nvidia.+|kfd)")
_KFD = "/dev/kfd"
# Names of the drivers' majors in /proc/devices, by path of the node (nv-chardev-numbers.h, uvm.c).
_OWNERS = ((re.compile(r"/dev/nvidia-uvm.*"), "nvidia-uvm"), (re.compile(r"/dev/nvidia-caps/.+"), "nvidia-caps"),
           (re.compile(r"/dev/nvidia(\d+|ctl|-modeset)"), "nvidia"))


class _Host(NamedTuple):
    nodes: dict[str, dict[str, Any]]    # by path
    majors: dict[str, int]              # by the name of the driver


def container_nodes(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The running containers that are given a GPU or use one; schemas/facts/derived.json explains the keys."""
    nvidia = facts["nvidia"]
    host = _Host({node["path"]: node for node in (*(value(nvidia["nodes"]) or []), *facts["guests"]["device_nodes"])
                  if node["type"] in ("c", "b")},
                 {entry["name"]: entry["major"] for entry in value(nvidia["majors"]) or []})
    containers = value(facts["guests"]["containers"]) or []
    given = {f"lxc:{container['id']}": container["devices"] for container in containers}
    unseen = next((fact["status"] for fact in (nvidia["nodes"], nvidia["majors"]) if fact["status"] != "ok"), None)
    return [_judge(entry, given.get(entry["name"], []), host, unseen)
            for entry in value(nvidia["container_nodes"]) or []]


def _judge(entry: Mapping[str, Any], devices: list[dict[str, Any]], host: _Host, unseen: str | None) -> dict[str, Any]:
    status = unseen or entry["nodes"]["status"]
    if status != "ok":
        why = "it has no /dev that could be seen" if status == "absent" and not unseen else status
        return {"name": entry["name"], "nodes": None, "wrong": lost(why), "compute_lost": False}
    inside = {node["path"]: node for node in entry["nodes"]["value"] if _JUDGED.fullmatch(node["path"])}
    sources = {target: device for device in devices
               if _JUDGED.fullmatch(target := device.get("target") or device["path"])}
    wrong = {path: difference for path, node in inside.items()
             if (difference := _difference(node, sources.get(path), host))}
    wrong |= {path: f"{path} is missing in it, although listed in {device['key']}" for path, device in sources.items()
              if path not in inside and device["path"] in host.nodes}
    return {"name": entry["name"], "nodes": len(inside), "wrong": known(list(wrong.values())),
            "compute_lost": _loses_compute(set(wrong), set(inside))}


def _difference(node: Mapping[str, Any], source: Mapping[str, Any] | None, host: _Host) -> str | None:
    """What is wrong with a node inside the container, None if it matches the host's."""
    path = node["path"]
    if node["type"] == "file":
        return f"{path} is a regular file in it, not a device node"
    wanted = host.nodes.get(source["path"] if source else path)
    if wanted is None:
        return _without_twin(node, host)
    if _numbers(node) == _numbers(wanted) or (source is None and _is_other_gpu(node, host)):
        return None
    return f"{path} is {_shown(node)} in it, {_shown(wanted)} on the host"


def _without_twin(node: Mapping[str, Any], host: _Host) -> str | None:
    """What is wrong with a node that the host lacks: unless it has the driver's major, it is from another boot."""
    owner = next((name for pattern, name in _OWNERS if pattern.fullmatch(node["path"])), None)
    if owner is None or host.majors.get(owner) == node["major"]:
        return None
    now = f"{owner} has the major {host.majors[owner]} now" if owner in host.majors else f"{owner} has no major"
    return f"{node['path']} is {_shown(node)} in it, {now}"


def _is_other_gpu(node: Mapping[str, Any], host: _Host) -> bool:
    """Whether the node is another GPU of the host: a container may have GPU 3 as its /dev/nvidia0."""
    return _GPU.fullmatch(node["path"]) is not None and any(
        _numbers(node) == _numbers(one) for path, one in host.nodes.items() if _GPU.fullmatch(path))


def _loses_compute(wrong: set[str], inside: set[str]) -> bool:
    """Whether compute fails: CUDA needs nvidiactl, nvidia-uvm and a GPU; ROCm needs /dev/kfd."""
    if wrong & {CONTROL, UVM, _KFD}:
        return True
    gpus = {path for path in wrong | inside if _GPU.fullmatch(path)}
    return bool(gpus) and gpus <= wrong


def _numbers(node: Mapping[str, Any]) -> tuple[str, int, int]:
    return node["type"], node["major"], node["minor"]


def _shown(node: Mapping[str, Any]) -> str:
    return f"{'block device ' if node['type'] == 'b' else ''}{node['major']}:{node['minor']}"
