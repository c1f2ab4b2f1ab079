# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Configured and actual placement of each guest of a Proxmox VE node.

The configuration is read for every guest, the actual placement for running ones. Snapshot sections are ignored;
pending changes do not apply yet and are reported separately.
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .._pve import lxc_settings, vm_settings
from .._pve.config import PENDING
from .._pve.cpu_models import CpuModel, read_models
from .._pve.guest_state import read_unified, read_vm_pid
from .._pve.guests import Configs
from . import cgroup
from .numa_maps import read_huge_pages, with_huge_pages
from .threads import read_threads

_PENDING = (PENDING, "pve:pending")
_TRUE = ("1", "on", "yes", "true")
_ABOUT_PLACEMENT = re.compile(r"affinity|arch|balloon|cores|cpu|cpulimit|cpuunits|hostpci\d+|hugepages|keephugepages|"
                              r"machine|memory|numa\d*|sockets|vcpus|lxc\.cgroup2?\.cpuset\.(?:cpus|mems)")


def read_guests(host: Host, configs: Configs, guests: dict) -> Reading:
    """The guests with their placement, see schemas/facts/placement.json; `guests` are the facts of that name."""
    for part in (guests["containers"], guests["vms"]):
        if not part.ok:
            return Reading(part.status, None, part.detail)
    unified = read_unified(host)
    models = read_models(host) if configs.vms.value else {}
    sections = {kind: dict(part.value) for kind, part in (("lxc", configs.containers), ("vm", configs.vms))}
    found = [_container(host, guest, sections["lxc"][guest["id"]], unified) for guest in guests["containers"].value]
    return ok(found + [_vm(host, guest, sections["vm"][guest["id"]], models) for guest in guests["vms"].value])


def _container(host: Host, guest: dict, sections: dict, unified: bool | None) -> dict:
    configured = lxc_settings.configured(sections[""], unified)
    return {**_told("lxc", guest, sections), "configured": configured,
            "real": real_container(host, guest["id"], unified) if guest["running"] else None}


def _vm(host: Host, guest: dict, sections: dict, models: dict[str, CpuModel] | None) -> dict:
    configured = vm_settings.configured(sections[""], models)
    huge = configured["vm"]["hugepages"] is not None
    return {**_told("vm", guest, sections), "configured": configured,
            "real": real_vm(host, guest["id"], huge) if guest["running"] else None}


def _told(kind: str, guest: dict, sections: dict) -> dict:
    return {"subject": f"{kind}:{guest['id']}", "id": guest["id"], "kind": kind, "name": guest["name"],
            "running": guest["running"], "template": dict(sections[""]).get("template") in _TRUE,
            "pending": [f"{key}: {value}" for name in _PENDING for key, value in sections.get(name, [])
                        if _ABOUT_PLACEMENT.fullmatch(key) or key == "delete"]}


def real_container(host: Host, number: str, unified: bool | None) -> dict:
    """Actual placement of a container. Its processes are in lxc/<id>/ns and below, bound by lxc/<id>."""
    path = f"/lxc/{number}"
    inside = f"{path}/ns"
    if unified is False:
        return {"pid": None, "threads": _none(), **cgroup.read_old_group(host, path)}
    group = cgroup.read_group(host, path)
    bound = host.read(f"{cgroup.ROOT}{inside}/cpuset.cpus.effective").map(cgroup.normal)
    return {"pid": None, "threads": _none(), **group, "cpus": bound if bound.ok else group["cpus"]}


def real_vm(host: Host, number: str, huge: bool) -> dict:
    """Actual placement of a VM: its threads, and its cgroup's memory; `huge`: the VM uses huge pages."""
    pid = read_vm_pid(host, number)
    if not pid.ok:
        lost = Reading(pid.status, None, pid.detail)
        return {"pid": None, **dict.fromkeys(
            ("threads", "cpuset", "cpus", "memory_nodes", "cpu_limit", "memory_limit_kib", "memory"), lost)}
    text = host.read(f"/proc/{pid.value}/cgroup")
    path = text.map(cgroup.path_of).value
    group = cgroup.read_group(host, path) if path else cgroup.read_old_group(host, f"/qemu.slice/{number}.scope")
    threads = read_threads(host, pid.value)
    if huge:
        counted = cgroup.read_hugetlb(host, path) if path else Reading(ABSENT)
        counted = read_huge_pages(host, pid.value) if counted.status == ABSENT else counted
        group = {**group, "memory": with_huge_pages(group["memory"], counted)}
    return {"pid": pid.value, **group, **threads}


def _none() -> Reading:
    return Reading(ABSENT, None, "only a VM's threads are looked at")
