# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Parsers of Proxmox VE's guest configurations: /etc/pve/{lxc,qemu-server}/<id>.conf and /etc/pve/mapping/pci.cfg.

Formats: `man pct.conf`, `man qm.conf`; Proxmox VE's own parsers are parse_pct_config() in PVE/LXC/Config.pm,
parse_vm_config() in PVE/QemuServer.pm and PVE/Mapping/PCI.pm. This file only parses; it reads nothing.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .._pci.address import kernel_address
from . import arguments

PENDING = "PENDING"     # section with a VM's changes that apply at its next start

_SECTION = re.compile(r"\[([^\]]*)\]")
_SETTING = re.compile(r"([a-z][a-z0-9_.\-]*?)\s*[:=]\s*(.*)")
_MAP_LINE = re.compile(r"\s+map\s+(\S.*)")
# Libraries of NVIDIA's driver under their full names: libcuda.so.570.133.20.
_LIBRARY = re.compile(r"lib(?:cuda|cudadebugger|nvcuvid|nvidia-[\w-]+|nvoptix|(?:EGL|GLX|GLESv\d_CM|GLESv\d)_nvidia)"
                      r"\.so\.(\d{3}\.\d+(?:\.\d+)?)")
_TRUE = ("1", "on", "yes", "true")


class Device(NamedTuple):
    """A host path that is passed to a container."""

    key: str
    path: str
    optional: bool      # True: the container starts without it when the path is missing
    writable: bool      # False: `deny-write`
    target: str         # path inside the container


class Library(NamedTuple):
    """A driver library that is mounted into a container under its full (versioned) name."""

    path: str
    version: str
    optional: bool


def parse_sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Settings by section, in order: the current ones under `""`, snapshots and pending changes under their names.

    Both `key: value` and `key = value` are settings. Lines starting with `#` are the URL-encoded description.
    """
    settings: list[tuple[str, str]] = []
    sections = {"": settings}
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        section = _SECTION.fullmatch(line)
        if section is not None:
            name = PENDING if section[1].upper() == PENDING else section[1] or "[]"
            settings = sections.setdefault(name, [])
            continue
        setting = _SETTING.fullmatch(line)
        if setting is not None:
            settings.append((setting[1], setting[2].rstrip()))
    return sections


def parse_properties(value: str, default: str) -> dict[str, str]:
    """`41:00,pcie=1` as `{default: "41:00", "pcie": "1"}`: the part without a key gets the default key."""
    found = {}
    for part in value.split(","):
        key, equals, text = part.strip().partition("=")
        found[key if equals else default] = text if equals else key
    return found


def parse_mapping(text: str, node: str) -> dict[str, list[str]]:
    """mapping/pci.cfg as `{name: addresses on this node}`; a VM takes the first free one."""
    found: dict[str, list[str]] = {}
    name = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            name = line.strip()
            found[name] = []
            continue
        entry = _MAP_LINE.fullmatch(line)
        if entry is None or name is None:
            continue
        properties = parse_properties(entry[1].strip(), "path")
        if properties.get("node") == node:
            found[name] += parse_addresses(properties.get("path", ""))
    return found


def parse_mapping_nodes(text: str) -> dict[str, list[str]]:
    """mapping/pci.cfg as `{name: nodes of the cluster that have a device for it}`."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        entry = _MAP_LINE.fullmatch(line)
        if entry is not None and found:
            node = parse_properties(entry[1].strip(), "path").get("node")
            nodes = found[next(reversed(found))]
            if node and node not in nodes:
                nodes.append(node)
        elif line.strip() and not line[0].isspace() and not line.startswith("#"):
            found[line.strip()] = []
    return found


def parse_addresses(text: str) -> list[str]:
    """`0000:41:00.0;42:00` as addresses; a whole slot has no function. ValueError for anything else."""
    found = [kernel_address(part) for part in text.split(";")]
    if None in found:
        raise ValueError(f"{text!r} is not a list of PCI addresses")
    return found


def claimed_addresses(key: str, value: str, mapping: dict[str, list[str]] | None,
                      parent_of: Callable[[str], str | None] = lambda _path: None) -> list[str] | None:
    """The PCI addresses that `hostpciN` or `args` of a VM names; None if unknown.

    A mapping without an entry for this node yields no address: such a VM does not start here. `mapping` is None if
    the mappings could not be read. `parent_of` as in arguments.addresses().
    """
    if key == "args":
        return arguments.addresses(value, parent_of)
    properties = parse_properties(value, "host")
    if "mapping" in properties:
        return None if mapping is None else mapping.get(properties["mapping"], [])
    try:
        return parse_addresses(properties.get("host", ""))
    except ValueError:
        return None


def container_devices(settings: list[tuple[str, str]]) -> list[Device]:
    """The paths below /dev that `devN`, `mpN` and `lxc.mount.entry` pass to a container."""
    found = []
    for key, value in settings:
        if re.fullmatch(r"dev\d+", key):
            properties = parse_properties(value, "path")
            path = properties.get("path", "")
            found.append(Device(key, path, False, properties.get("deny-write") not in _TRUE, path))
        else:
            found += [Device(key, source, optional, True, f"/{target}")
                      for source, target, optional, _options in _mount(key, value)]
    return [device for device in found if device.path == "/dev" or device.path.startswith("/dev/")]


def _mount(key: str, value: str) -> list[tuple[str, str, bool, list[str]]]:
    """A list with at most one mount: source, target without its leading slash, whether it is optional, options."""
    if re.fullmatch(r"mp\d+", key):
        properties = parse_properties(value, "volume")
        return [(properties.get("volume", ""), properties.get("mp", "").lstrip("/"), False, [])]
    fields = [field.replace("\\040", " ") for field in value.split()]
    if key != "lxc.mount.entry" or not fields:
        return []
    options = fields[3].split(",") if len(fields) > 3 else []
    return [(fields[0], fields[1].lstrip("/") if len(fields) > 1 else "", "optional" in options, options)]


def container_libraries(settings: list[tuple[str, str]]) -> list[Library]:
    """The driver libraries that are mounted under a versioned name."""
    found = []
    for key, value in settings:
        for path, _target, optional, _options in _mount(key, value):
            name = _LIBRARY.fullmatch(path.rpartition("/")[2])
            if name is not None:
                found.append(Library(path, name[1], optional))
    return found


def mount_option(settings: list[tuple[str, str]], target: str, name: str) -> str | None:
    """The mount option `name=...` of the tmpfs mounted at `target` (`dev/shm`); None if there is none."""
    for key, value in settings:
        for source, where, _optional, options in _mount(key, value):
            if where == target and not source.startswith("/"):
                return next((option.partition("=")[2] for option in options if option.startswith(f"{name}=")), None)
    return None
