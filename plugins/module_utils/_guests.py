# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The guests of a Proxmox VE node: which run, which are pinned, and which GPUs they claim.

Sources: /etc/pve (pmxcfs, `man pmxcfs`), /proc/net/unix and /sys/fs/cgroup/lxc for containers,
/run/qemu-server/<id>.pid for VMs.
"""
from __future__ import annotations

import re

from . import _pve_config as pve
from ._device_majors import owners, read_majors
from ._guest_state import read_running_containers, read_unified, read_vm_running
from ._host import Host
from ._pci_address import covers
from ._reading import ABSENT, OK, UNPARSABLE, Reading, ok

PROXMOX = "proxmox"
NONE = "none"

_CONF = re.compile(r"(\d+)\.conf")
_PROGRAM = "/usr/bin/pveversion"
_GPU_PATH = re.compile(r"/dev/(nvidia[^/]*|nvidia-caps[^/]*/.*|dri(/.*)?|kfd|gdrdrv)|/dev")
_NVIDIA_NODE = re.compile(r"/dev/nvidia\d+")
NVIDIA_MAJOR = 195      # nv-chardev-numbers.h; minors 0 to 247 are GPUs
NVIDIA_GPU_MINORS = range(248)


def read(host: Host) -> dict:
    """The `guests` section of the facts."""
    status = read_status(host)
    if status.value == NONE:
        return _section(status, ok([]), ok([]))
    if not status.ok:
        return _section(status, Reading(*status), Reading(*status))
    node = read_node(host)
    return _section(status, read_containers(host, node), read_vms(host, node))


def read_status(host: Host) -> Reading:
    """`proxmox` or `none`.

    An /etc/pve that is there but empty (pmxcfs not mounted) or unreadable is never `none`: it hides claims.
    """
    names = host.read_list("/etc/pve")
    if names.status == ABSENT:
        if host.exists(_PROGRAM) or host.exists("/etc/pve"):
            return Reading(UNPARSABLE, None, f"Proxmox VE is installed but /etc/pve is no folder: {names.detail}")
        return ok(NONE)
    if not names.ok:
        return Reading(names.status, None, f"/etc/pve: {names.detail}")
    node = read_node(host)
    if not any(host.read_list(folder).status != ABSENT for kind in ("lxc", "qemu-server")
               for folder in _folders(node, kind)):
        return Reading(UNPARSABLE, None, f"/etc/pve holds no guests' folder of node {node}: pmxcfs may not be mounted")
    return ok(PROXMOX)


def _folders(node: str, kind: str) -> list[str]:
    """Where a node's own guests may lie; other nodes' guests are under /etc/pve/nodes too and never count."""
    return [f"/etc/pve/local/{kind}", f"/etc/pve/nodes/{node}/{kind}", f"/etc/pve/{kind}"]


def read_node(host: Host) -> str:
    """The node's name in the cluster: the target of /etc/pve/local, else the first part of the host name."""
    return host.link_name("/etc/pve/local") or (host.read("/proc/sys/kernel/hostname").value or "").partition(".")[0]


def read_configs(host: Host, node: str, kind: str) -> Reading:
    """Every `<id>.conf` of a kind as `[(id, sections)]` by id; one that cannot be read makes all of it unknown.

    pmxcfs has both kinds' folders always, so a kind without a folder, beside the other, has no guests.
    """
    folder, names = next(((folder, names) for folder in _folders(node, kind)
                          for names in (host.read_list(folder),) if names.status != ABSENT), ("", ok([])))
    if not names.ok:
        return Reading(names.status, None, f"{folder}: {names.detail}")
    found = []
    for name in names.value:
        number = _CONF.fullmatch(name)
        if number is None:
            continue
        text = host.read(f"{folder}/{name}")
        if not text.ok:
            return Reading(text.status, None, f"{folder}/{name}: {text.detail}")
        found.append((number[1], pve.parse_sections(text.value)))
    return ok(sorted(found, key=lambda guest: int(guest[0])))


def read_vms(host: Host, node: str) -> Reading:
    """The VMs: `[{id, name, running, lock, hostpci: [{key, value, bdfs}], cpus, pinned}]`.

    A stopped VM claims what it names as well, and so do changes that wait for its next start.
    """
    configs = read_configs(host, node, "qemu-server")
    if not configs.ok:
        return configs
    mapping = host.read("/etc/pve/mapping/pci.cfg").map(lambda text: pve.parse_mapping(text, node))
    known = {} if mapping.status == ABSENT else mapping.value
    return ok([_vm(number, sections, known, read_vm_running(host, number)) for number, sections in configs.value])


def _vm(number: str, sections: dict, mapping: dict | None, running: bool | None) -> dict:
    settings = sections[""]
    named = [(key, value, claim) for section, claim in (("", ""), (pve.PENDING, " (pending)"))
             for key, value in sections.get(section, []) if re.fullmatch(r"hostpci\d+", key) and value]
    named += [(key, value, "") for key, value in settings if key == "args" and "vfio-pci" in value]
    last = dict(settings)
    numa = [value for key, value in settings if re.fullmatch(r"numa\d+", key)]
    return {
        "id": number, "name": last.get("name"), "running": running, "lock": last.get("lock"),
        "hostpci": [{"key": key + claim, "value": value, "bdfs": pve.claimed_addresses(key, value, mapping)}
                    for key, value, claim in named],
        "cpus": last.get("affinity"),
        "pinned": bool(last.get("affinity")) or (bool(numa) and all("hostnodes=" in value for value in numa)),
    }


def read_containers(host: Host, node: str) -> Reading:
    """The containers: `[{id, name, running, lock, gpu_devices, devices, allow, ignored, cpus, pinned}]`."""
    configs = read_configs(host, node, "lxc")
    if not configs.ok:
        return configs
    running = read_running_containers(host)
    unified = read_unified(host)
    majors = read_majors(host).value or []
    nodes = sorted(path for path in host.device_nodes("/dev").value or {} if _NVIDIA_NODE.fullmatch(path))
    return ok([_container(number, sections[""], number in running.value if running.ok else None, unified, majors, nodes)
               for number, sections in configs.value])


def _container(number: str, settings: list, running: bool | None, unified: bool | None, majors: list,
               nodes: list[str]) -> dict:
    dead = {True: "lxc.cgroup.", False: "lxc.cgroup2."}.get(unified)
    ignored = [f"{key}: {value}" for key, value in settings if dead and key.startswith(dead)]
    live = [(key, value) for key, value in settings if not (dead and key.startswith(dead))]
    devices, rules = pve.container_devices(live), pve.container_rules(live)
    last = dict(live)
    cpus = last.get("lxc.cgroup2.cpuset.cpus") or last.get("lxc.cgroup.cpuset.cpus")
    return {
        "id": number, "name": last.get("hostname"), "running": running, "lock": last.get("lock"),
        "gpu_devices": gpu_devices(live, devices, rules, nodes),
        "devices": [device._asdict() for device in devices],
        "allow": [{**rule._asdict(), "owners": owners(majors, rule.major)} for rule in rules],
        # `cores` is no pinning: pvestatd moves such a container's cpuset about.
        "ignored": ignored, "cpus": cpus, "pinned": bool(cpus),
    }


def gpu_devices(settings: list, devices: list[pve.Device], rules: list[pve.Rule], nodes: list[str]) -> list[str]:
    """Paths of GPU nodes that a container is given; `nodes` are the host's /dev/nvidia<minor>.

    A container that is handed none by path may make or mount them itself: then the allow-list, or NVIDIA's hook,
    says which it may use.
    """
    found = {device.path for device in devices if _GPU_PATH.fullmatch(device.path)}
    if not any(_NVIDIA_NODE.fullmatch(path) or path == "/dev" for path in found):
        for rule in rules:
            if rule.kind == "c" and rule.major == NVIDIA_MAJOR:
                if rule.minor is None:
                    found.update(nodes)
                elif rule.minor in NVIDIA_GPU_MINORS:
                    found.add(f"/dev/nvidia{rule.minor}")
        if any(key == "lxc.hook.mount" and value.endswith("/nvidia") for key, value in settings):
            found.update(nodes)
    return sorted(found)


def _section(status: Reading, containers: Reading, vms: Reading) -> dict:
    guests = (containers.value or []) + (vms.value or [])
    lacking = next((Reading(part.status, None, part.detail) for part in (containers, vms) if not part.ok), None)
    if lacking is None and any(guest["running"] is None for guest in guests):
        lacking = Reading(UNPARSABLE, None, "which guests run cannot be told: neither sockets nor control groups")
    running = [guest for guest in guests if guest["running"]]
    return {
        "status": status, "containers": containers, "vms": vms,
        "running": lacking or ok(len(running)),
        "unpinned_running": lacking or ok(sum(not guest["pinned"] for guest in running)),
    }


def claims(guests: dict, bdf: str) -> Reading:
    """Who names the PCI function `bdf`: `[{vm, key, value}]`, of the section that read() gave.

    Whatever hides a claim (an unreadable configuration, a form that is not understood) makes the answer unknown.
    """
    if not guests["vms"].ok:
        return Reading(guests["vms"].status, None, guests["vms"].detail)
    found = []
    for vm in guests["vms"].value:
        for named in vm["hostpci"]:
            if named["bdfs"] is None:
                return Reading(UNPARSABLE, None, f"VM {vm['id']}: {named['key']}: {named['value']} is not understood")
            if any(covers(address, bdf) for address in named["bdfs"]):
                found.append({"vm": vm["id"], "key": named["key"], "value": named["value"]})
    return Reading(OK, found)


def containers_given(guests: dict, nodes: list[str]) -> list[str]:
    """Ids of the containers that are given one of a GPU's `nodes`, by its path or by a folder above it."""
    return [container["id"] for container in guests["containers"].value or []
            if any(node == path or node.startswith(path + "/") for path in container["gpu_devices"] for node in nodes)]
