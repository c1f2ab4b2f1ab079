# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Remove secrets from recorded files without changing the facts that an audit reads from them."""
from __future__ import annotations

import re

from .text import redact, redact_bytes
from .values import MASKED

_ENVIRONMENT = re.compile(r"/proc/[^/]+/environ")
_GUEST = re.compile(r"/etc/pve/(?:.*/)?(?:lxc|qemu-server)/[^/]+\.conf")
_CLUSTER = re.compile(r"/etc/pve/.*\.(?:conf|cfg)")
# Registers, firmware variables and values of tunables are never masked.
_VERBATIM = re.compile(r"/sys/(?:.*/config|firmware/.*)|/proc/sys/.*")
_SETTING = re.compile(r"(\s*)([a-z][A-Za-z0-9_.\-]*?)(\s*[:=]\s*)(.*)")
_SECTION = re.compile(r"\s*\[[^\]]*\]\s*")
_COMMENT = re.compile(r"^([ \t]*(?:comment|description)[ \t:=]+).*$", re.MULTILINE)
# Settings of qm.conf(5), pct.conf(5) and lxc.container.conf(5) that are not free text. smbios1 is not among them:
# cloud-init takes user data, including URLs with passwords, from the serial number in it.
_KNOWN = re.compile(
    r"acpi|affinity|agent|allow-ksm|amd-sev|arch|args|autostart|balloon|bios|boot|bootdisk|cmode|console|cores|cpu|"
    r"cpulimit|cpuunits|efidisk0|features|freeze|hookscript|hostname|hotplug|hugepages|intel-tdx|keephugepages|keyboard|"
    r"kvm|localtime|lock|machine|memory|meta|migrate_downtime|migrate_speed|name|numa|onboot|ostype|parent|protection|"
    r"reboot|rootfs|runningcpu|runningmachine|scsihw|shares|smp|snaptime|sockets|startdate|startup|swap|tablet|tdf|"
    r"template|timezone|tpmstate0|tty|unprivileged|vcpus|vga|vmgenid|vmstate|vmstatestorage|watchdog|"
    r"(?:audio|dev|hostpci|ide|mp|net|numa|parallel|rng|sata|scsi|serial|unused|usb|virtio|virtiofs)\d+|"
    r"lxc\.(?:cgroup2?|prlimit|hook|mount|cap|apparmor|autodev|idmap|arch|rootfs|net|tty|pty|namespace|seccomp|sysctl|"
    r"include)(?:\..*)?")


def redact_file(path: str, data: bytes) -> bytes:
    """Redact `data` of the file at `path`. The evidence that a container manager started process 1 stays."""
    if _ENVIRONMENT.fullmatch(path):
        return b"".join(entry + b"\0" for entry in data.split(b"\0") if entry.startswith(b"container="))
    if _VERBATIM.fullmatch(path):
        return data
    if _GUEST.fullmatch(path):
        return _as_bytes("\n".join(map(_redact_setting, _as_text(data).split("\n"))))
    if _CLUSTER.fullmatch(path):
        data = _as_bytes(_COMMENT.sub(rf"\1{MASKED}", _as_text(data)))
    return redact_bytes(data)


def _redact_setting(line: str) -> str:
    """Redact a line of a guest's configuration: keeps keys, drops values of unknown keys and the description."""
    if not line.strip() or _SECTION.fullmatch(line):
        return line
    bare = line.lstrip()
    if bare.startswith(("#", "%23")):
        return "#"
    found = _SETTING.fullmatch(line)
    if found is None:
        return f"# {MASKED}"
    blank, key, sign, value = found.groups()
    return f"{blank}{key}{sign}{redact(value) if _KNOWN.fullmatch(key) else MASKED if value else value}"


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
