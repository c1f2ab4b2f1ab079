# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The guests of a Proxmox VE node: which run, which are pinned, and which PCI devices VMs claim.

Sources: /etc/pve (pmxcfs, `man pmxcfs`), /run/qemu-server/<id>.pid for VMs; containers are in _pve/lxc.py.
"""
from __future__ import annotations

import re
from typing import NamedTuple

from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, OK, UNPARSABLE, NotRecorded, Reading, known, ok
from .._pci.address import DEVICES, covers, kernel_address
from . import config as pve
from .guest_state import read_vm_running
from .lxc import read_containers
from .sections import other_sections

PROXMOX = "proxmox"
NONE = "none"

_TRUE = ("1", "on", "yes", "true")
_CONF = re.compile(r"(\d+)\.conf")
_PROGRAM = "/usr/bin/pveversion"


class Configs(NamedTuple):
    """The configurations of this node's guests: readings of `[(id, sections)]` from read_configs()."""

    status: Reading         # from read_status()
    node: str               # from read_node(); empty without Proxmox VE
    containers: Reading
    vms: Reading


def read(host: Host, configs: Configs | None = None) -> dict:
    """The `guests` section of the facts. Pass `configs` if they were read before."""
    configs = read_all_configs(host) if configs is None else configs
    status, node, containers, vms = configs
    if not status.ok or status.value == NONE:
        return _section(status, containers, vms)
    return _section(status, known(lambda: read_containers(host, containers)), known(lambda: read_vms(host, vms, node)))


def read_all_configs(host: Host) -> Configs:
    """The configurations of all guests; none on a host without Proxmox VE."""
    status = known(lambda: read_status(host))
    if not status.ok:
        return Configs(status, "", status, status)
    if status.value == NONE:
        return Configs(status, "", ok([]), ok([]))
    node = known(lambda: read_node(host))
    return Configs(status, node, *(known(lambda kind=kind: read_configs(host, node, kind))
                                   for kind in ("lxc", "qemu-server")))


def read_status(host: Host) -> Reading:
    """`proxmox` or `none`.

    An existing /etc/pve that is empty (pmxcfs not mounted) or unreadable is never `none`: it may hide claims.
    """
    names = host.read_list("/etc/pve")
    if names.status == ABSENT:
        if host.exists(_PROGRAM) or host.exists("/etc/pve"):
            return Reading(UNPARSABLE, None, f"Proxmox VE is installed but /etc/pve is not a directory: {names.detail}")
        return ok(NONE)
    if not names.ok:
        return names if names.status == NOT_RECORDED else Reading(names.status, None, f"/etc/pve: {names.detail}")
    node = read_node(host)
    if not any(host.read_list(folder).status != ABSENT for kind in ("lxc", "qemu-server")
               for folder in _folders(node, kind)):
        return Reading(UNPARSABLE, None, f"/etc/pve has no guest directory for node {node}: pmxcfs may not be mounted")
    return ok(PROXMOX)


def _folders(node: str, kind: str) -> list[str]:
    """Folders with the configurations of a node's own guests; those of other nodes in /etc/pve/nodes do not count."""
    return [f"/etc/pve/local/{kind}", f"/etc/pve/nodes/{node}/{kind}", f"/etc/pve/{kind}"]


def read_node(host: Host) -> str:
    """The node's name in the cluster: the target of /etc/pve/local, else the first part of the host name."""
    return host.link_name("/etc/pve/local") or (host.read("/proc/sys/kernel/hostname").value or "").partition(".")[0]


def read_configs(host: Host, node: str, kind: str) -> Reading:
    """Every `<id>.conf` of a kind as `[(id, sections)]`, sorted by id; one unreadable file makes the reading unknown.

    pmxcfs always has the folders of both kinds; if only one exists, the other kind has no guests.
    """
    folder, names = next(((folder, names) for folder in _folders(node, kind)
                          for names in (host.read_list(folder),) if names.status != ABSENT), ("", ok([])))
    if not names.told().ok:
        return Reading(names.status, None, f"{folder}: {names.detail}")
    found = []
    for name in names.value:
        number = _CONF.fullmatch(name)
        if number is None:
            continue
        text = host.read(f"{folder}/{name}")
        if not text.told().ok:
            return Reading(text.status, None, f"{folder}/{name}: {text.detail}")
        found.append((number[1], pve.parse_sections(text.value)))
    return ok(sorted(found, key=lambda guest: int(guest[0])))


def read_vms(host: Host, configs: Reading, node: str) -> Reading:
    """The VMs: `[{id, name, running, lock, onboot, hostpci: [{key, value, mapping, bdfs, missing}], cpus, pinned}]`.

    A stopped VM claims the devices it names too, and so do pending changes. `configs` is from read_configs().
    """
    if not configs.ok:
        return configs
    mapping = host.read("/etc/pve/mapping/pci.cfg").map(lambda text: pve.parse_mapping(text, node))
    return ok([_vm(host, number, sections, mapping) for number, sections in configs.value])


def _vm(host: Host, number: str, sections: dict, mapping: Reading) -> dict:
    settings = sections[""]
    named = [(key, value, claim) for section, claim in (("", ""), (pve.PENDING, " (pending)"))
             for key, value in sections.get(section, [])
             if (re.fullmatch(r"hostpci\d+", key) and value) or (key == "args" and "vfio-pci" in value)]
    last = dict(settings)
    numa = [value for key, value in settings if re.fullmatch(r"numa\d+", key)]
    return {
        "id": number, "name": last.get("name"), "running": known(lambda: read_vm_running(host, number)),
        "lock": last.get("lock"), "onboot": last.get("onboot") in _TRUE, "template": last.get("template") in _TRUE,
        "hostpci": [_hostpci(host, key, value, claim, mapping) for key, value, claim in named],
        "other_sections": other_sections(sections),
        "cpus": last.get("affinity"), "memory_nodes": _memory_nodes(numa),
        "pinned": bool(last.get("affinity")) or (bool(numa) and all("hostnodes=" in value for value in numa)),
    }


def _memory_nodes(numa: list[str]) -> str | None:
    """`0,2-3`: the host nodes that numaN binds memory to (`hostnodes=0;2-3`, `man qm.conf`); None for any."""
    found = [pve.parse_properties(value, "cpus").get("hostnodes") for value in numa]
    return ",".join(nodes.replace(";", ",") for nodes in found if nodes) or None


def _hostpci(host: Host, key: str, value: str, claim: str, mapping: Reading) -> dict:
    bdfs = _claimed(host, key, value, mapping)
    return {"key": key + claim, "value": value, "mapping": pve.parse_properties(value, "host").get("mapping"),
            "bdfs": bdfs, "missing": known(lambda: [bdf for bdf in bdfs or [] if not _exists(host, bdf)])}


def _claimed(host: Host, key: str, value: str, mapping: Reading) -> list[str] | None:
    """The addresses that the setting names; None if unknown, also because a recording lacks the file."""
    names = {} if mapping.status == ABSENT else None if mapping.status == NOT_RECORDED else mapping.value
    try:
        return pve.claimed_addresses(key, value, names, lambda path: read_mediated_parent(host, path))
    except NotRecorded:
        return None


def read_mediated_parent(host: Host, path: str) -> str | None:
    """The parent PCI device of a mediated device: /sys/bus/mdev/devices/<uuid> links to a folder below it
    (Documentation/driver-api/vfio-mediated-device.rst). None for a device that does not exist now."""
    try:
        folders = host.resolve(path).split("/")
    except OSError:
        return None
    addresses = [kernel_address(folder) for folder in folders]
    return next((address for address in reversed(addresses) if address and host.exists(f"{DEVICES}/{address}")), None)


def _exists(host: Host, address: str) -> bool:
    """Whether the PCI function exists; for a slot without a function, whether its first function exists."""
    return host.exists(f"{DEVICES}/{address if '.' in address else address + '.0'}")


def _section(status: Reading, containers: Reading, vms: Reading) -> dict:
    running = known(lambda: _running(containers, vms))
    return {"status": status, "containers": containers, "vms": vms, "running": running.map(len),
            "unpinned_running": running.map(lambda guests: sum(not guest["pinned"] for guest in guests))}


def _running(containers: Reading, vms: Reading) -> Reading:
    """The running guests. Raises NotRecorded."""
    lacking = next((Reading(part.status, None, part.detail) for part in (containers, vms) if not part.ok), None)
    if lacking is not None:
        return lacking
    guests = containers.value + vms.value
    if any(guest["running"] is None for guest in guests):
        return Reading(UNPARSABLE, None, "which guests are running is not known: neither sockets nor control groups "
                                         "are readable")
    return ok([guest for guest in guests if guest["running"]])


def claims(guests: dict, bdf: str) -> Reading:
    """The VMs that claim the PCI function `bdf`: `[{vm, key, value}]`, from the section returned by read().

    Known claims are returned in any case. Without one, anything that may hide a claim (an unreadable configuration,
    a device whose address is unknown) makes the answer unknown. A template claims nothing, as it cannot be started
    (qemu-server, src/PVE/QemuServer.pm: vm_start()); a clone of it is a VM of its own.
    """
    if not guests["vms"].ok:
        return Reading(guests["vms"].status, None, guests["vms"].detail)
    found, untold = [], []
    for vm in guests["vms"].value:
        for named in () if vm["template"] else vm["hostpci"]:
            claim = {"vm": vm["id"], "key": named["key"], "value": named["value"]}
            if named["bdfs"] is None:
                untold.append(claim)
            elif any(covers(address, bdf) for address in named["bdfs"]):
                found.append(claim)
    if untold and not found:
        one = untold[0]
        return Reading(UNPARSABLE, None, f"VM {one['vm']}: {one['key']}: {one['value']}: the devices could not be "
                                         "determined")
    return Reading(OK, found)
