# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Facts about a Proxmox VE node's guests that only an audit needs, not a change: part of the section `guests`.

Sources: /etc/pve/ha/{resources,groups,rules}.cfg (`man ha-manager`), /etc/pve/nodes, /dev; this host's unit files and
udev rules (`man systemd.unit`, `man udev`).
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok, settle
from .config import parse_mapping_nodes
from .guests import PROXMOX, read_node
from .section_config import parse_section_config

_MAKER = re.compile(r"^[^#\n]*\bnvidia[-_](modprobe|uvm)\b", re.MULTILINE)
_BEFORE = re.compile(r"^Before=.*\bpve-guests\.service\b", re.MULTILINE)
_UNITS = "/etc/systemd/system"
# Folders, and whether to open only files with the driver's name in theirs: distributions ship many files.
_MAKERS = ((_UNITS, ".service", False), (f"{_UNITS}/multi-user.target.wants", ".service", True),
           ("/etc/udev/rules.d", ".rules", False), ("/usr/lib/udev/rules.d", ".rules", True))
_KINDS = {"ct": "lxc", "vm": "vm"}
_TRUE = ("1", "on", "yes", "true")


def read_details(host: Host, guests: dict) -> dict:
    """`{node, cluster_nodes, ha, mappings, device_nodes, node_makers}` for the section returned by guests.read()."""
    def proxmox() -> bool:
        return guests["status"].value == PROXMOX

    def containers() -> list[dict]:
        return guests["containers"].value or []

    def managed() -> Reading:
        return read_ha(host) if proxmox() else guests["status"].map(lambda _none: [])

    def mapped() -> bool:
        return any(named["mapping"] for vm in guests["vms"].value or [] for named in vm["hostpci"])

    return settle({
        "node": lambda: read_node(host) if proxmox() else None,
        "cluster_nodes": lambda: host.list("/etc/pve/nodes") if proxmox() else [],
        "ha": managed,
        "mappings": lambda: read_mappings(host) if mapped() and managed().value else [],
        "device_nodes": lambda: read_device_nodes(host, {device["path"] for container in containers()
                                                         for device in container["devices"]}),
        "node_makers": lambda: read_node_makers(host) if any(
            container["gpu_devices"] for container in containers()) else [],
    })


def read_device_nodes(host: Host, paths: set[str]) -> list[dict]:
    """`[{path, type, major, minor}]` of the device nodes at these paths, or directly in folders at these paths.

    /dev itself is not listed as a folder.
    """
    folders: dict[str, dict] = {}
    found = {}
    for path in sorted(paths - {"/dev"}):
        for folder in (path.rpartition("/")[0], path):
            if folder not in folders:
                folders[folder] = host.device_nodes(folder).value or {}
            inside = folders[folder]
            if path in inside or folder == path:
                found.update({path: inside[path]} if path in inside else inside)
                break
    return [{"path": path, **{key: found[path][key] for key in ("type", "major", "minor")}} for path in sorted(found)]


# -- high availability ------------------------------------------------------------------------------------------------

def parse_nodes(text: str) -> list[str]:
    """The node names of `pve1:2,pve2`, without priorities."""
    return [part.strip().partition(":")[0] for part in text.split(",") if part.strip()]


def read_ha(host: Host) -> Reading:
    """The guests that high availability manages: `[{guest, state, nodes, strict}]`.

    `nodes` are named by a group (up to Proxmox VE 8) or a node-affinity rule, None for any; with `strict` the guest
    runs on no other node.
    """
    resources = host.read("/etc/pve/ha/resources.cfg").map(parse_section_config)
    if resources.status == ABSENT:
        return ok([])
    parts = [host.read(f"/etc/pve/ha/{name}.cfg") for name in ("groups", "rules")]
    failed = next((part for part in (resources, *parts) if not part.ok and part.status != ABSENT), None)
    if failed is not None:
        return failed
    groups, rules = (parse_section_config(part.value or "") for part in parts)
    return ok([_managed(kind, number, settings, groups, rules) for kind, number, settings in resources.value
               if kind in _KINDS])


def _managed(kind: str, number: str, settings: dict, groups: list, rules: list) -> dict:
    nodes, strict = None, False
    for _kind, name, group in groups:
        if name == settings.get("group"):
            nodes, strict = parse_nodes(group.get("nodes", "")), group.get("restricted") in _TRUE
    for rule_kind, _name, rule in rules:
        if (rule_kind == "node-affinity" and rule.get("disable") not in _TRUE
                and f"{kind}:{number}" in parse_resources(rule.get("resources", ""))):
            nodes, strict = parse_nodes(rule.get("nodes", "")), rule.get("strict") in _TRUE
    return {"guest": f"{_KINDS[kind]}:{number}", "state": settings.get("state", "started"), "nodes": nodes,
            "strict": strict}


def read_mappings(host: Host) -> list[dict]:
    """The PCI mappings of /etc/pve/mapping/pci.cfg and the nodes with a device for each: `[{name, nodes}]`."""
    text = host.read("/etc/pve/mapping/pci.cfg").value or ""
    return [{"name": name, "nodes": nodes} for name, nodes in parse_mapping_nodes(text).items()]


def parse_resources(text: str) -> list[str]:
    """Split `ct:101,vm:200`."""
    return [part.strip() for part in text.split(",")]


# -- what makes device nodes ------------------------------------------------------------------------------------------

def read_node_makers(host: Host) -> list[dict]:
    """The unit files and udev rules that create NVIDIA's device nodes: `[{path, ordered}]`.

    The kernel does not create /dev/nvidia-uvm: nvidia-modprobe does, or a udev rule with mknod. `ordered`: it runs
    before Proxmox VE starts guests; udev acts when the module is loaded, so only units can be too late.
    """
    found = []
    for folder, ending, by_name in _MAKERS:
        for name in host.list(folder):
            if not name.endswith(ending) or (by_name and "nvidia" not in name):
                continue
            text = host.read(f"{folder}/{name}", 1 << 16).value or ""
            if _MAKER.search(text):
                found.append({"path": f"{folder}/{name}", "ordered": ending == ".rules" or bool(_BEFORE.search(text))})
    return found
