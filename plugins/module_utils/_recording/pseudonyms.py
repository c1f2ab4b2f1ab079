# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Pseudonyms for identifiers of a recorded host, consistent throughout an archive.

Replaces names of hosts, clusters and guests, UUIDs, serial numbers, hardware and IP addresses, and names of disks.
"""
from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

_HEX = "[0-9A-Fa-f]"
_PATTERNS = {
    "uuid": rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
    # 6 bytes of Ethernet, 20 of IP over InfiniBand; udev names interfaces after them.
    "mac": rf"(?<![0-9A-Fa-f:])(?:{_HEX}{{2}}:){{5}}(?:(?:{_HEX}{{2}}:){{14}})?{_HEX}{{2}}(?![0-9A-Fa-f:])",
    "bare_mac": r"(?<=\benx)[0-9a-f]{12}\b|(?<=\bwlx)[0-9a-f]{12}\b",
    "guid": rf"(?<![0-9A-Fa-f:])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![0-9A-Fa-f:])",
    "ipv6": rf"(?<![0-9A-Za-z:.])(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{1,4}}(?![0-9A-Za-z:.])",
    "ipv4": r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-]*[\w-])",
    "disk": r"(?<=/dev/disk/by-id/)[^,\s]+",
    "serial": r"(?<=<serial>)[^<]+|(?i:(?<=SerialNumber: )|(?<=\bserial=)|(?<=Serial Number: )|(?<=S/N: ))[^,\s]+",
}
_SERIAL_FILE = re.compile(r".*/(?:\w*serial(?:_number)?|\w*asset_tag)")
_GUEST_FILE = re.compile(r"/etc/pve/nodes/([^/]+)/(?:lxc|qemu-server)/\d+\.conf")
_GUEST_NAME = re.compile(r"^(?:hostname|name)\s*[:=]\s*(\S+)", re.MULTILINE)
_CLUSTER_NAME = re.compile(r"^\s*cluster_name\s*:\s*(\S+)", re.MULTILINE)
_NODE = re.compile(r"/etc/pve/nodes/([^/]+)(?:/.*)?")
_HOST_FILES = ("/proc/sys/kernel/hostname", "/etc/hostname")
# A host may be called debian: in these files that word does not refer to the host.
_NEUTRAL_FILES = ("/etc/os-release", "/usr/lib/os-release", "/proc/version", "/proc/cpuinfo", "/proc/modules",
                  "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name")
_NOT_UUIDS = re.compile(rf"/sys/firmware/efi/.*-({_PATTERNS['uuid']})")
# Four dotted numbers in such a file are a version.
_VERSIONS = re.compile(r".*/(?:[^/]*version[^/]*|fw_ver|fw_rev|dpkg/status|modules\.[^/]+)")


class Pseudonyms:
    """Built from all files by path, which show what the names are; then applied to everything.

    Pseudonyms are numbered from `key`: with a random key they cannot be matched between archives.
    """

    def __init__(self, files: dict[str, bytes], paths: Iterable[str], key: int = 0) -> None:
        texts = {path: _decode(data) for path, data in files.items()}
        self._stand_ins: dict[tuple[str, str], str] = {}
        self._count: dict[str, int] = {}
        self._key = key
        paths = sorted(paths)
        self._kept = {found[1].lower() for path in paths if (found := _NOT_UUIDS.match(path))}
        neutral = set(re.findall(r"[\w-]+", "\n".join(texts.get(path, "") for path in _NEUTRAL_FILES)))
        self._names: dict[str, str] = {}
        for kind, name in _names(texts, paths):
            if name and name not in self._names:
                self._names[name] = self._stand_in(kind, name)
        told = sorted((name for name in self._names if name not in neutral), key=len, reverse=True)
        words = [rf"(?<![\w-])(?:{'|'.join(map(re.escape, told))})(?![\w-])"] if told else []
        patterns = [f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()]
        self._patterns = re.compile("|".join(patterns))
        self._everything = re.compile("|".join([f"(?P<name>{word})" for word in words] + patterns))

    def path(self, path: str) -> str:
        if path.startswith("/sys/firmware/efi/"):
            return path
        node = _NODE.fullmatch(path)
        if node:
            path = path.replace(f"/nodes/{node[1]}", f"/nodes/{self._names.get(node[1], node[1])}", 1)
        return self._patterns.sub(lambda found: self._replace(found, path), path)

    def text(self, text: str, path: str = "") -> str:
        """Replace identifiers in the `text` of a link or of the file at `path`."""
        guest = _GUEST_FILE.fullmatch(path)
        if path in _HOST_FILES or guest or "/etc/pve/" in path:
            # A word in a name's position is a name, however common it is.
            text = re.sub(r"[\w.-]+", lambda word: self._names.get(word[0], word[0]), text)
        pattern = self._patterns if path.startswith("/sys/") else self._everything
        return pattern.sub(lambda found: self._replace(found, path), text)

    def data(self, path: str, data: bytes) -> bytes:
        """Replace identifiers in `data` of the file at `path`."""
        if path.endswith("/config") and path.startswith("/sys/"):      # registers
            return data
        if _SERIAL_FILE.fullmatch(path) and data.strip():
            return self._stand_in("serial", _decode(data).strip()).encode() + b"\n"
        return self.text(_decode(data), path).encode("utf-8", "surrogateescape")

    def _replace(self, found: re.Match, path: str) -> str:
        kind, text = found.lastgroup or "", found[0]
        if kind == "name":
            return self._names[text]
        if (kind == "uuid" and text.lower() in self._kept) or (kind == "ipv4" and _VERSIONS.fullmatch(path)):
            return text
        if kind in ("ipv4", "ipv6") and not _is_address(text):
            return text
        made = self._stand_in(kind, text.lower() if kind != "serial" else text)
        return made.upper() if kind in ("mac", "uuid") and text.isupper() else made

    def _stand_in(self, kind: str, text: str) -> str:
        if kind == "bare_mac":
            octets = ":".join(text[at:at + 2] for at in range(0, 12, 2))
            return self._stand_in("mac", octets).replace(":", "")
        known = self._stand_ins.get((kind, text))
        if known is None:
            self._count[kind] = self._count.get(kind, self._key) + 1
            known = self._stand_ins[kind, text] = _make(kind, text, self._count[kind])
        return known


def _names(texts: dict[str, str], paths: list[str]) -> Iterable[tuple[str, str]]:
    """Yield kind and text of every name of a host, a cluster or a guest."""
    for path in _HOST_FILES:
        full = texts.get(path, "").strip()
        yield from (("host", full.partition(".")[0]), ("domain", full.partition(".")[2]))
    for path in paths:
        node = _NODE.fullmatch(path)
        if node:
            yield "host", node[1]
        if _GUEST_FILE.fullmatch(path):
            yield from (("guest", name) for name in _GUEST_NAME.findall(texts.get(path, "")))
        if path.endswith("/corosync.conf"):
            yield from (("cluster", name) for name in _CLUSTER_NAME.findall(texts.get(path, "")))


def _make(kind: str, text: str, number: int) -> str:
    """Make the pseudonym with that number. Addresses are from ranges reserved for documentation and benchmarks."""
    if kind == "uuid":
        return f"00000000-0000-4000-8000-{number:012x}"
    if kind == "mac":
        octets = f"{0x020000000000 + number:012x}".rjust(2 * len(text.split(":")), "0")
        return ":".join(octets[at:at + 2] for at in range(0, len(octets), 2))
    if kind == "guid":
        digits = f"{number:016x}"
        return ":".join(digits[at:at + 4] for at in range(0, 16, 4))
    if kind == "ipv4":
        return str(ipaddress.IPv4Address("198.18.0.0") + number)
    if kind == "ipv6":
        return str(ipaddress.IPv6Address("2001:db8::") + number)
    return f"anonymous.domain{number}" if kind == "domain" else f"anonymous-{kind}{number}"


def _is_address(text: str) -> bool:
    """Whether `text` is the address of one machine: no mask, no loopback, nothing that only looks like one."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast
                or text.startswith(("255.", "0.")))


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
