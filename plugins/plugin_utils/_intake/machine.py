# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The maker and the system of a machine: from dmidecode, uname -a and release files of distributions in /etc."""
from __future__ import annotations

import re

from ...module_utils._system.firmware import DMI
from .recorded_host import RecordedHost

_HANDLE = re.compile(r"Handle 0x[0-9A-Fa-f]+, DMI type (\d{1,3}),")
_FIELDS = {     # DMI type: {name in dmidecode: name of the file that drivers/firmware/dmi-id.c makes of it}
    0: {"Vendor": "bios_vendor", "Version": "bios_version", "Release Date": "bios_date"},
    1: {"Manufacturer": "sys_vendor", "Product Name": "product_name"},
    2: {"Product Name": "board_name"},
}
# `DMI: Maker Product/Board, BIOS 1.2 01/02/2023` of dmi_format_ids() in drivers/firmware/dmi_scan.c
_DMI_LINE = re.compile(r"\bDMI: (.*?)(?:/(.*?))?, BIOS (.*?) (\d\d/\d\d/\d{4})\s*$")
_UNAME = re.compile(r"(?:uname: )?Linux (\S+) (\d\S*) (#.*)")
_VERSION = re.compile(r"\bLinux version (\d\S*)")
_ARCHITECTURES = ("x86_64", "i686", "aarch64", "ppc64le", "unknown", "GNU/Linux")
_FLAGS = re.compile(r"^flags\s*: (.*)$", re.MULTILINE)
_IDS = (("Ubuntu", "ubuntu"), ("Debian", "debian"), ("Fedora", "fedora"), ("CentOS", "centos"), ("Rocky", "rocky"),
        ("AlmaLinux", "almalinux"), ("Red Hat Enterprise Linux", "rhel"), ("Arch Linux", "arch"),
        ("Manjaro", "manjaro"), ("Kali", "kali"), ("openSUSE Leap", "opensuse-leap"),
        ("openSUSE Tumbleweed", "opensuse-tumbleweed"), ("SUSE Linux Enterprise", "sles"), ("Linux Mint", "linuxmint"),
        ("Pop!_OS", "pop"), ("Proxmox", "debian"), ("NixOS", "nixos"), ("Gentoo", "gentoo"))
_PROXMOX_ON = ("debian",)       # the distribution that Proxmox VE is based on
# Names of kernels that only other distributions build: Ubuntu and those based on it, Fedora, Red Hat Enterprise Linux
# and its clones, Amazon Linux, openEuler, Arch Linux, NVIDIA's Jetson Linux.
_OTHER_KERNEL = re.compile(r"-(?:generic|lowlatency|azure|aws|gcp|oracle|nvidia|tegra|arch\d[\w.-]*)$"
                           r"|\.(?:fc|el|amzn|oe)\d")


def put_dmidecode(host: RecordedHost, lines: list[str]) -> bool:
    """The first table of types 0, 1 and 2; return whether there was any."""
    done: set[int] = set()
    kind = None
    for line in lines:
        handle = _HANDLE.match(line)
        if handle is not None:
            kind = int(handle[1])
            kind = None if kind in done or kind not in _FIELDS else kind
            done |= {kind} if kind is not None else set()
        elif kind is not None and line[:1] in ("\t", " "):
            name, _colon, value = line.strip().partition(": ")
            if name in _FIELDS[kind]:
                host.put_line(f"{DMI}/{_FIELDS[kind][name]}", value.strip())
    return bool(done)


def put_dmi_line(host: RecordedHost, log: list[str]) -> None:
    """The kernel's own line, if dmidecode is missing. It does not show where the maker's name ends."""
    found = next((match for line in log if " DMI: " in line and (match := _DMI_LINE.search(line))), None)
    if found is not None and f"{DMI}/product_name" not in host.files:
        for name, text in (("product_name", found[1]), ("board_name", found[2]), ("bios_version", found[3]),
                           ("bios_date", found[4])):
            if text:
                host.put_line(f"{DMI}/{name}", text.strip())


def put_uname(host: RecordedHost, text: str) -> str | None:
    """The release of `Linux host 6.8.0-90-generic #91-Ubuntu SMP ... x86_64 GNU/Linux`; adds host name and build."""
    found = _UNAME.match(text.strip())
    if found is None:
        return None
    build = found[3].split()
    while build and build[-1] in _ARCHITECTURES:
        build.pop()
    host.put_line("/proc/sys/kernel/hostname", found[1])
    host.put_line("/proc/sys/kernel/osrelease", found[2])
    host.put_line("/proc/sys/kernel/version", " ".join(build))
    return found[2]


def put_version(host: RecordedHost, text: str) -> str | None:
    """The release in `Linux version 6.8.0-90-generic (...)`, the start of /proc/version and of the kernel log."""
    found = _VERSION.search(text)
    if found is None:
        return None
    host.put_line("/proc/sys/kernel/osrelease", found[1])
    return found[1]


def put_os_release(host: RecordedHost, distribution: str | None = None) -> str | None:
    """Write /etc/os-release, if the report has none, from other names of the distribution; return its ID."""
    text = host.text("/etc/os-release")
    if text is None:
        name = distribution or _named(host)
        if not name:
            return None
        version = re.search(r"\b(\d{1,4}(?:\.\d{1,3})?)\b", name)
        id_ = next((number for start, number in _IDS if start in name), None)
        lines = [f'PRETTY_NAME="{name}"'] + ([f"ID={id_}"] if id_ else [])
        lines += [f'VERSION_ID="{version[1]}"'] if version and id_ else []
        text = "\n".join(lines) + "\n"
        host.put("/etc/os-release", text)
    found = re.search(r"^ID=\"?([\w.-]+)", text, re.MULTILINE)
    return found[1] if found else None


def _named(host: RecordedHost) -> str | None:
    described = re.search(r"^DISTRIB_DESCRIPTION=\"?(.*?)\"?$", host.text("/etc/lsb-release") or "", re.MULTILINE)
    if described:
        return described[1]
    for path in ("/etc/redhat-release", "/etc/fedora-release", "/etc/issue"):
        first = next((line for line in (host.text(path) or "").splitlines() if line.strip()), "")
        name = re.sub(r"\\\w(?:\{.*?\})?|\x1b\[[\d;]*m", "", first).strip(" ()")
        if re.search(r"[A-Za-z]{3}", name):
            return name.replace('"', "")
    return None


def close_proxmox(host: RecordedHost, release: str | None, distribution: str | None) -> None:
    """Mark a host as not a Proxmox VE node: if neither its kernel nor the distribution Proxmox VE is based on runs, or
    if it is a virtual machine. Without the name of the distribution, that of the kernel tells it."""
    flags = _FLAGS.search(host.text("/proc/cpuinfo") or "")
    virtual = flags is not None and "hypervisor" in flags[1].split()
    other = distribution not in _PROXMOX_ON if distribution else _OTHER_KERNEL.search(release or "")
    if release and "pve" not in release and (virtual or other):
        for path in ("/etc/pve", "/usr/bin/pveversion"):
            host.close(path)
