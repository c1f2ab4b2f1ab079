# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Guests of a Proxmox VE node that use its GPUs: which GPUs they get, where they run, and what does not work."""
from __future__ import annotations

import re
from typing import Any

from ....module_utils._pci.address import covers
from ..reading import known, lost
from . import containers as rules
from . import ha, startable
from .claims import untold_devices

_SIZE = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MIB = 1 << 20
_SHM_OF_A_GPU_MIB = 1024


def gpu_containers(facts: dict[str, Any], gpus: list[dict[str, Any]], peers: ha.Peers) -> list[dict[str, Any]]:
    """The containers that are given GPUs, by any path or rule, without templates; schemas/facts/derived.json explains
    the keys."""
    containers = startable.containers(facts["guests"])
    if not containers:
        return []
    host = rules.of_host(facts)
    found = []
    for container in containers:
        if not container["gpu_devices"]:
            continue
        subject = f"lxc:{container['id']}"
        own = [gpu for gpu in gpus if container["id"] in gpu["containers"]]
        managed = ha.managed(facts, subject)
        found.append({
            **_guest(container, subject, own), **rules.judge_devices(container, host),
            "privileged": not container["unprivileged"],
            "libraries_given": len(container["libraries"]),
            "reboot": rules.reboot_risks(container, host, container["onboot"] or managed is not None),
            "managed": managed is not None,
            "ha": managed and {
                **managed, "elsewhere": ha.container_elsewhere(container, facts, managed["nodes"], peers)},
            "rdma": any(device["path"].startswith("/dev/infiniband") for device in container["devices"]),
            "memlock": container["memlock"], "shm_mib": size_mib(container["shm_size"]),
            "shm_wanted_mib": _SHM_OF_A_GPU_MIB * len(own),
        })
    return found


def gpu_vms(facts: dict[str, Any], gpus: list[dict[str, Any]], peers: ha.Peers) -> list[dict[str, Any]]:
    """The VMs that name PCI devices of the host, without templates."""
    found = []
    for vm in startable.vms(facts["guests"]):
        if not vm["hostpci"]:
            continue
        own = [gpu for gpu in gpus if any(covers(bdf, gpu["bdf"]) for named in vm["hostpci"]
                                          for bdf in named["bdfs"] or [])]
        subject = f"vm:{vm['id']}"
        managed = ha.managed(facts, subject)
        found.append({
            **_guest(vm, subject, own), "problems": _problems(vm), "untold": untold_devices(vm),
            "devices": _devices(vm),
            "managed": managed is not None,
            "ha": managed and {**managed, "elsewhere": ha.vm_elsewhere(vm, facts, managed["nodes"], peers)},
        })
    return found


def _guest(guest: dict[str, Any], subject: str, gpus: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": guest["id"], "subject": subject, "name": guest["name"], "running": guest["running"],
            "gpus": [{"bdf": gpu["bdf"], "numa_node": gpu["numa_node"]} for gpu in gpus]}


def _devices(vm: dict[str, Any]) -> dict[str, Any]:
    """A reading of what keeps the VM from starting; lost if nothing known does but a device is not known."""
    problems, untold = _problems(vm), untold_devices(vm)
    return lost("unparsable", untold) if untold and not problems else known(problems)


def _problems(vm: dict[str, Any]) -> list[str]:
    """What keeps the VM from starting with its devices."""
    found = []
    for named in vm["hostpci"]:
        found += [f"{named['key']}: the host has no device {bdf}" for bdf in named["missing"]]
        if named["mapping"] and named["bdfs"] == []:
            found.append(f"{named['key']}: the mapping {named['mapping']} has no device on this node")
    return found


def size_mib(text: str | None) -> int | None:
    """The size of a tmpfs in MiB; None if it is not given or is a percentage (Documentation/filesystems/tmpfs.rst)."""
    size = _SIZE.fullmatch(text or "")
    return None if size is None else (int(size[1]) << _SHIFTS[size[2].lower()]) // _MIB
