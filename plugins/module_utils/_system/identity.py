# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind of machine (bare metal, VM, container) and its operating system."""
from __future__ import annotations

import json
import re

from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, Reading, known
from . import firmware as firmware_module
from .cpuinfo import read_cpuinfo

BARE_METAL = "bare_metal"
VM = "vm"
CONTAINER = "container"
UNKNOWN = "unknown"

# The link text of /proc/<pid>/ns/pid in the initial PID namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h
INITIAL_PID_NAMESPACE = f"pid:[{0xEFFFFFFC}]"
DPKG_LIMIT = 64 << 20   # bytes; the status file of a Proxmox host is one to two MiB

# Words in system vendor and product that occur only in the SMBIOS tables of hypervisors.
_HYPERVISORS = (
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
    ("Bochs", "bochs"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("VMware", "vmware"),
    ("VirtualBox", "oracle"),
    ("innotek GmbH", "oracle"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "microsoft"),
    ("OpenStack", "openstack"),
)
_S390 = "IBM/S390"      # vendor_id of mainframes; no others except x86 have such a line
_OS_RELEASE_LINE = re.compile(r"^([A-Z_]+)=(?:\"(.*)\"|'(.*)'|(.*?))\s*$", re.MULTILINE)


def read(host: Host, cpuinfo: Reading | None = None, firmware: dict | None = None) -> dict:
    """Read the facts' section `identity`. `cpuinfo` and `firmware` can be passed, if already read."""
    cpuinfo = read_cpuinfo(host) if cpuinfo is None else cpuinfo
    firmware = firmware_module.read(host) if firmware is None else firmware
    told = known(lambda: read_container(host) or read_kept(host) or judge_machine(
        cpuinfo, firmware, host.read("/sys/hypervisor/type")))
    told = (told,) * 3 if isinstance(told, Reading) else told
    return {
        "hostname": host.read("/proc/sys/kernel/hostname"),
        "boot_id": host.read("/proc/sys/kernel/random/boot_id"),
        **dict(zip(("kind", "technology", "evidence"), told)),
        "os": read_os(host),
        "proxmox": read_proxmox(host),
    }


def read_container(host: Host) -> tuple[str, str | None, str] | None:
    """Return kind, technology and evidence if this is a container, else None.

    A file /.dockerenv proves nothing: it remains in images that are booted as machines.
    """
    first, named = host.read("/proc/1/environ"), host.read("/run/systemd/container")
    namespace = host.read_link("/proc/self/ns/pid")
    told = first.value or "" if first.ok else ""
    manager = next((entry.partition("=")[2] for entry in told.split("\0") if entry.startswith("container=")), None)
    if manager is not None:
        return CONTAINER, manager or None, f"the first process was started with container={manager}"
    if named.ok:
        return CONTAINER, named.value.strip() or None, f"/run/systemd/container says {named.value.strip()}"
    if namespace.ok and namespace.value != INITIAL_PID_NAMESPACE:
        return CONTAINER, None, f"its PID namespace is {namespace.value}, the machine's own is {INITIAL_PID_NAMESPACE}"
    if not namespace.ok:        # the initial namespace is not a container's
        for reading in (first, named, namespace):
            reading.told()
    return None


def read_kept(host: Host) -> tuple[str, str | None, str] | None:
    """Read recorded/machine.json of a recorded host whose processor flags are not recorded."""
    kept = Reading(ABSENT) if host.live else host.recorded("machine.json").map(json.loads)
    found = kept.value if kept.ok else None
    if not isinstance(found, dict) or found.get("kind") not in (BARE_METAL, VM):
        return None
    technology, evidence = found.get("technology"), found.get("evidence")
    return found["kind"], technology if isinstance(technology, str) else None, str(evidence)[:200]


def judge_machine(cpuinfo: Reading, firmware: dict, hypervisor: Reading) -> tuple[str, str | None, str]:
    """Return kind, technology and evidence of a machine that is not a container."""
    if hypervisor.ok and hypervisor.value:
        return VM, hypervisor.value.strip(), f"/sys/hypervisor/type says {hypervisor.value.strip()}"
    flags = cpuinfo.value.flags if cpuinfo.ok else frozenset()
    if not flags:       # on x86 they reveal every hypervisor that has such a file
        hypervisor.told()
        cpuinfo.told()
    names_of = [firmware[name] for name in ("system_vendor", "product_name")]
    if flags:           # they suffice without names; a recording may have either name or none
        names_of = [Reading(ABSENT) if reading.status == NOT_RECORDED else reading for reading in names_of]
    vendor, product = (reading.value or "" for reading in names_of)
    names = f"{vendor} {product}".strip()
    technology, word = find_hypervisor(names)
    if "hypervisor" in flags:
        named = f" and the firmware reports {word}" if word else ""
        return VM, technology, f"the CPUs have the flag hypervisor{named}"
    if technology and not product.endswith(".metal"):       # EC2's names of bare-metal machines
        return VM, technology, f"the firmware reports {word}"
    # The flag exists only on x86: elsewhere its absence means nothing (arch/x86/kernel/cpu/hypervisor.c).
    if flags and cpuinfo.value.vendor not in (None, _S390):
        named = NOT_RECORDED not in [firmware[name].status for name in ("system_vendor", "product_name")]
        return BARE_METAL, None, "the CPUs do not have the flag hypervisor" + (
            " and the firmware reports none" if named else "; the recording does not have what the firmware names")
    if names:
        return BARE_METAL, None, f"the firmware reports {names}, which is not a hypervisor"
    return UNKNOWN, None, "neither the CPU flags nor the firmware tables could be read"


def find_hypervisor(names: str) -> tuple[str, str] | tuple[None, None]:
    """Return the technology and the word that identifies it in a system's vendor and product name."""
    for word, technology in _HYPERVISORS:
        if re.search(rf"\b{word}\b", names):
            return technology, word
    return None, None


def read_os(host: Host) -> dict:
    """Read id, version and name of the distribution: os-release(5)."""
    text = host.read("/etc/os-release")
    text = text if text.ok else host.read("/usr/lib/os-release")
    if text.status == NOT_RECORDED:
        return {"id": text, "version_id": text, "name": text}
    values = parse_os_release(text.value or "")
    return {"id": values.get("ID"), "version_id": values.get("VERSION_ID"),
            "name": values.get("PRETTY_NAME") or values.get("NAME")}


def parse_os_release(text: str) -> dict[str, str]:
    """Parse the assignments of an os-release file, without quotes and backslashes."""
    return {name: re.sub(r"\\(.)", r"\1", double or single or bare)
            for name, double, single, bare in _OS_RELEASE_LINE.findall(text)}


def read_proxmox(host: Host) -> dict:
    """Read whether this is a Proxmox VE host, and the version of its package pve-manager."""
    installed = known(lambda: host.exists("/usr/bin/pveversion") or host.exists("/etc/pve"))
    if isinstance(installed, Reading):
        return {"installed": installed, "version": installed}
    if not installed:
        return {"installed": False, "version": Reading(ABSENT, None, "Proxmox VE is not installed")}
    status = host.read("/var/lib/dpkg/status", DPKG_LIMIT)
    if status.status == NOT_RECORDED:
        return {"installed": True, "version": status}
    version = parse_package_version(status.value or "", "pve-manager")
    if status.ok and version is None:
        status = Reading(ABSENT, None, "dpkg does not list pve-manager as installed")
    return {"installed": True, "version": status.map(lambda _text: version)}


def parse_package_version(text: str, package: str) -> str | None:
    """Return the version of a package in dpkg's status file, None if it is not installed."""
    _before, _name, stanza = f"\n{text}".partition(f"\nPackage: {package}\n")
    fields = dict(line.partition(": ")[::2] for line in stanza.partition("\n\n")[0].splitlines())
    return fields.get("Version") if fields.get("Status", "").endswith(" installed") else None
