# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Output of several programs pasted into one file: lspci, dmesg, nvidia-smi -q, sysctl -a, grep -r and others.

There are no delimiters: each line is recognized by its form, and unknown lines are ignored.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable

from .gathered import Gathered
from .kernel_log import CONTINUED, CONTINUED_IN_RING, split_boots
from .lspci import merge, parse_devices
from .machine_kind import HOST_BRIDGE
from .named_files import NamedFiles
from .pci_tree import PCI_BRIDGE, is_on_bus_0, parse_tree
from .recorded_host import RecordedHost, Refused
from .report_facts import finish

LACKS = "the text does not have it"
KIND = "lspci"
SMI_HEAD = "==============NVSMI LOG=============="
SMI_LIMIT = 100_000         # lines

_DEVICE = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] \S")
_DUMP = re.compile(r"[0-9a-f]{2,3}: (?:[0-9a-f]{2} ){0,15}[0-9a-f]{2} *")
_TREE = re.compile(r"[\s|]*[-+\\][-+\\]*(?:\[[0-9a-f:-]+\]|[01][0-9a-f]\.[0-7]).*")
_LOG = re.compile(r"(?:<\d+>)?\[(?: *\d{1,12}\.\d{1,9}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] .*")
_JOURNAL = re.compile(r"\S.{5,40} \S+ kernel: .*")
_UNAME = re.compile(r"Linux \S+ \d\S* #\d.*")
_COMMAND_LINE = re.compile(r".*\bCommand line: (.*)")
_BOOT_IMAGE = re.compile(r"BOOT_IMAGE=\S+( .*)?")
_LSMOD_HEAD = re.compile(r"Module +Size +Used by\s*")
_LSMOD = re.compile(r"(\w+) +(\d+) +(\d+)(?: +([\w,]+))?\s*")
_NUMACTL = re.compile(r"available: \d+ nodes|node \d+ (?:cpus|size|free):|node distances:|node(?: +\d+)+\s*$"
                      r"| +\d+:(?: +\d+)+\s*$")
_DMIDECODE = re.compile(r"# dmidecode|Handle 0x[0-9A-Fa-f]+, DMI type|[A-Z][A-Za-z ]* Information\s*$")
# `crw-rw-rw- 1 root root 195, 0 Nov 29 18:30 /dev/nvidia0` from ls -l
_NODE = re.compile(r"c([rwx-]{9})[+.]? +\d+ +\S+ +\S+ +(\d{1,4}), +(\d{1,7}) .* (?:/dev/)?((?:nvidia|gdrdrv)\S*)")


def read_text(lines: Iterable[str], name: str) -> RecordedHost:
    """The host described by the outputs. Raises Refused if they have no device and no line of a kernel log."""
    host, found = RecordedHost(), Gathered()
    host.open = LACKS
    host.source.update(kind=KIND, name=name)
    parts = _Parts()
    for line in lines:
        parts.take(line)
    if not (parts.lspci or parts.log or parts.journal or parts.named.files or parts.named.settings):
        raise Refused("no line of it is one of lspci, dmesg, sysctl -a or grep -r")
    merge(found.devices, parse_devices(parts.lspci))
    found.tree = parse_tree(parts.tree)
    found.machine = True
    found.all_devices = _is_whole_listing(found.devices)
    found.dmesg, found.journals, found.uname = parts.log or None, split_boots(parts.journal), parts.uname
    found.numactl, found.dmidecode = "\n".join(parts.numactl), parts.dmidecode
    found.smi = "\n".join(parts.smi) or None
    _put_files(host, parts, parts.log or found.journals[0])
    finish(host, found)
    return host


def _is_whole_listing(devices: dict[str, dict]) -> bool:
    """Whether lspci was not limited to some devices by -s or -d.

    A listing of all has a host bridge. Many Arm and RISC-V machines have none: there it has a root port, and storage or
    a network card, which nobody chooses together with a GPU.
    """
    classes = {device["class"] or "" for device in devices.values()}
    on_root_bus = any(device["class"] == PCI_BRIDGE and is_on_bus_0(bdf) for bdf, device in devices.items())
    return HOST_BRIDGE in classes or (on_root_bus and any(class_[:2] in ("01", "02") for class_ in classes))


def _put_files(host: RecordedHost, parts: _Parts, log: list[str]) -> None:
    cmdline = parts.cmdline or next((match[1] for line in log if (match := _COMMAND_LINE.fullmatch(line))), None)
    if cmdline:
        host.put_line("/proc/cmdline", cmdline)
    parts.named.put(host)
    if parts.modules:
        host.put("/proc/modules", "".join(parts.modules))
    if parts.nodes:
        host.put("/recorded/dev.json", json.dumps(parts.nodes))
        # With both the control node and a GPU's node, this was not the listing of a single file.
        if {"/dev/nvidiactl", "/dev/nvidia0"} <= parts.nodes.keys():
            host.folder("/dev")
            host.close("/dev")
            host.close("/recorded/dev.json")


class _Parts:
    """The lines by kind. `_at` is the kind of the last line, which indented lines continue."""

    def __init__(self) -> None:
        self.lspci: list[str] = []
        self.tree: list[str] = []
        self.log: list[str] = []
        self.smi: list[str] = []
        self.numactl: list[str] = []
        self.dmidecode: list[str] = []
        self.modules: list[str] = []
        self.journal: list[str] = []
        self.nodes: dict[str, dict] = {}
        self.named = NamedFiles()
        self.uname: str | None = None
        self.cmdline: str | None = None
        self._at = ""

    def take(self, line: str) -> None:
        if line.startswith(SMI_HEAD):
            self._at = "smi"
        if self._at == "smi" and self._goes_on_with_smi(line):
            self.smi.append(line)
        elif _LOG.fullmatch(line):
            self.log.append(line)
            self._at = "log"
        elif _JOURNAL.fullmatch(line):
            self.journal.append(line)
            self._at = "journal"
        elif _DEVICE.match(line) or _DUMP.fullmatch(line):
            self.lspci.append(line)
            self._at = "lspci"
        elif _TREE.fullmatch(line):
            self.tree.append(line)
            self._at = "tree"
        elif _NUMACTL.match(line):
            self.numactl.append(line)
            self._at = "numactl"
        else:
            self._take_rest(line)

    def _goes_on_with_smi(self, line: str) -> bool:
        """Its lines are indented, empty, or `name : value`, unlike those of the other programs."""
        own = line.startswith((" ", SMI_HEAD, "GPU ")) or not line.strip() or re.match(r"[A-Z][A-Za-z ]+ +: ", line)
        return bool(own) and len(self.smi) < SMI_LIMIT

    def _take_rest(self, line: str) -> None:
        if self._at == "journal" and line.startswith(CONTINUED):
            self.journal.append(line)
        elif self._at == "log" and line.startswith(CONTINUED_IN_RING):
            self.log.append(line)
        elif line[:1] in (" ", "\t") and self._at in ("lspci", "dmidecode"):
            (self.lspci if self._at == "lspci" else self.dmidecode).append(line)
        elif _DMIDECODE.match(line):
            self.dmidecode.append(line)
            self._at = "dmidecode"
        elif _LSMOD_HEAD.fullmatch(line):
            self._at = "lsmod"
        elif self._at == "lsmod" and (module := _LSMOD.fullmatch(line)):
            # As in /proc/modules: every module in the list is loaded.
            holders = f"{module[4]}," if module[4] else "-"
            self.modules.append(f"{module[1]} {module[2]} {module[3]} {holders} Live 0x0\n")
        elif node := _NODE.fullmatch(line):
            self._take_node(*node.groups())
        elif self.uname is None and _UNAME.fullmatch(line):
            self.uname = line
        elif self.named.take(line):
            self._at = ""
        elif self.cmdline is None and _BOOT_IMAGE.fullmatch(line):
            self.cmdline = line
        elif line.strip():
            self._at = ""

    def _take_node(self, letters: str, major: str, minor: str, name: str) -> None:
        mode = "".join(str(sum(bit for sign, bit in zip(letters[at:at + 3], (4, 2, 1)) if sign != "-"))
                       for at in (0, 3, 6))
        self.nodes[f"/dev/{name}"] = {"type": "c", "major": int(major), "minor": int(minor), "mode": f"0{mode}"}
