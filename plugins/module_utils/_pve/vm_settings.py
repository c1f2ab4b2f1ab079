# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Placement and virtual hardware settings of a VM: `man qm.conf`.

Proxmox VE's own parsers: parse_numa() and the format `pve-vm-cpu-conf` in PVE/QemuServer/{Memory,CPUConfig}.pm,
PVE/QemuServer/Machine.pm. This file only parses; it reads nothing.
"""
from __future__ import annotations

import re

from .._host.reading import ABSENT, UNPARSABLE, Reading, ok
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .config import parse_properties
from .cpu_models import CpuModel

_TRUE = ("1", "on", "yes", "true")
_NUMA = re.compile(r"numa\d+")
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_CPU_ARGUMENT = re.compile(r"(?:^|\s)--?cpu[\s=]")
DEFAULT_MEMORY_MIB = 512
DEFAULT_CPU = "kvm64"           # qemu-server's default if `cpu` is not set (CPUConfig.pm, get_cpu_options())


def configured(settings: list[tuple[str, str]], models: dict[str, CpuModel] | None) -> dict:
    """`configured` of a VM; schemas/facts/placement.json explains the keys.

    `models`: the cluster's custom CPU models by name; None if they could not be read.
    """
    last = dict(settings)
    sockets, cores = whole(last.get("sockets"), 1), whole(last.get("cores"), 1)
    numa = [numa_node(key, value) for key, value in last.items() if _NUMA.fullmatch(key)]
    # Without `numa`, QEMU gets none of the numaN (PVE/QemuServer/Memory.pm, config()).
    bound = [node["hostnodes"] for node in numa if node["hostnodes"] and last.get("numa") in _TRUE]
    return {
        "cores": sockets * cores, "memory_mib": memory_mib(last.get("memory"), DEFAULT_MEMORY_MIB),
        "cpus": number_list(last.get("affinity")),
        "memory_nodes": number_list(",".join(bound) or None),
        "cpulimit": limit(last.get("cpulimit")), "cpuunits": whole(last.get("cpuunits"), None),
        "addresses": [address.lower() for key, value in settings if re.fullmatch(r"net\d+", key)
                      for address in _MAC.findall(value)],
        "vm": {
            "sockets": sockets, "vcpus": whole(last.get("vcpus"), None), "numa": last.get("numa") in _TRUE,
            "numa_nodes": numa, **cpu(last, models),
            "arch": last.get("arch"), "machine": parse_properties(last.get("machine", ""), "type").get("type") or None,
            "hugepages": last.get("hugepages"), "keephugepages": last.get("keephugepages") in _TRUE,
            "hotplug_memory": "memory" in re.split(r"[,; ]+", last.get("hotplug", "")),
            "balloon_mib": whole(last.get("balloon"), None), "kvm": last.get("kvm", "1") in _TRUE,
            "uuid": parse_properties(last.get("smbios1", ""), "").get("uuid", "").lower() or None,
            "pcie": [key for key, value in last.items() if re.fullmatch(r"hostpci\d+", key)
                     and parse_properties(value, "host").get("pcie") in _TRUE],
        },
    }


def numa_node(key: str, value: str) -> dict:
    """`cpus=0-7;16,hostnodes=0-1,memory=65536,policy=bind` with lists in the kernel's format, `0-7,16`."""
    properties = parse_properties(value, "cpus")
    return {"key": key, "cpus": _commas(properties.get("cpus")), "hostnodes": _commas(properties.get("hostnodes")),
            "memory_mib": whole(properties.get("memory"), None), "policy": properties.get("policy")}


def cpu(last: dict[str, str], models: dict[str, CpuModel] | None) -> dict:
    """`{cpu_type, cpu_setting, cpu_model, cpu_flags, cpu_arguments}`: `custom-NAME` is a custom model of the cluster.

    A VM's own flags follow those of its model; the last occurrence wins. `cpu_setting` is the whole value.
    """
    properties = parse_properties(last.get("cpu", ""), "cputype")
    kind = properties.get("cputype") or DEFAULT_CPU
    flags = [flag for flag in properties.get("flags", "").split(";") if flag]
    model: str | None = kind
    if kind.startswith("custom-"):
        own = (models or {}).get(kind[len("custom-"):])
        model, flags = (None, flags) if own is None else (own.reported or DEFAULT_CPU, [*own.flags, *flags])
    return {"cpu_type": kind, "cpu_setting": last.get("cpu"), "cpu_model": model, "cpu_flags": flags,
            "cpu_arguments": bool(_CPU_ARGUMENT.search(last.get("args", "")))}


def memory_mib(text: str | None, otherwise: int) -> int | None:
    """`65536` or `current=65536` in MiB."""
    return otherwise if text is None else whole(parse_properties(text, "current").get("current"), None)


def number_list(text: str | None) -> Reading:
    """A list of CPUs or nodes in the kernel's format; absent if the setting is not made."""
    if not text:
        return Reading(ABSENT, None, "not set")
    try:
        return ok(format_cpulist(parse_cpulist(text.replace(" ", ""))))
    except ValueError as error:
        return Reading(UNPARSABLE, None, str(error))


def whole(text: str | None, otherwise: int | None) -> int | None:
    """A whole number; `otherwise` if there is none."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


def limit(text: str | None) -> float | None:
    """cpulimit in CPUs; None for 0, which means no limit."""
    try:
        found = float(text or 0)
    except ValueError:
        return None
    return found if 0 < found < 1 << 16 else None


def _commas(text: str | None) -> str | None:
    return text.replace(";", ",") if text else None
