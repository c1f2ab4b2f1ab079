# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The running kernel: release, command line, parameters it did not recognise, lockdown, reach of its log."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known
from .bracketed import chosen
from .log import read_lines
from .mounts import read as read_mounts

_WORD = re.compile(r'(?:[^ \t\n\v\f\r"]|"[^"]*(?:"|\Z))+')     # quoted spaces do not end a word
# init/main.c print_unknown_bootoptions(); a message longer than a log line lacks the closing quote
_UNKNOWN_PARAMETERS = re.compile(r'Unknown kernel command line parameters "(.*?)(?:", will be passed|$)')
# drivers/iommu/amd/init.c, drivers/iommu/intel/iommu.c: the unknown word and everything after it
_UNKNOWN_IOMMU_OPTION = re.compile(r"(AMD-Vi|DMAR): Unknown option - '([^',]*)")
_IOMMU_PARAMETER = {"AMD-Vi": "amd_iommu", "DMAR": "intel_iommu"}
# drivers/pci/pci.c pci_setup()
_UNKNOWN_PCI_OPTION = re.compile(r"PCI: Unknown option `([^']*)'")


def read(host: Host, log: Reading | None = None) -> dict:
    """Read the facts' section `kernel`. `log` is the result of read_lines(), if already read."""
    log = read_lines(host) if log is None else log
    cmdline = host.read("/proc/cmdline").map(str.strip)
    return {
        "release": host.read("/proc/sys/kernel/osrelease"),
        "build": host.read("/proc/sys/kernel/version"),
        "cmdline": cmdline,
        "parameters": known(lambda: parse_cmdline(cmdline.value or "")),
        "unknown_parameters": unknown_parameters(log),
        "lockdown": host.read("/sys/kernel/security/lockdown").map(chosen),
        "mounts": read_mounts(host),
        "log": log.map(log_window),
        "uptime_seconds": host.read("/proc/uptime").map(lambda text: float(text.split()[0])),
    }


def parse_cmdline(text: str) -> list[dict]:
    """Parse the parameters in order, including repeated ones: `[{name, value}]`, value None for a bare word.

    Split as by next_arg() of lib/cmdline.c: quotes protect spaces and are dropped around a whole value or a whole
    parameter. Words after `--` are for the first process, not for the kernel.
    """
    parameters = []
    for word in _WORD.findall(text):
        quoted = word.startswith('"')
        name, equals, value = _cut(word[1:] if quoted else word)
        if value.startswith('"'):
            quoted, value = True, value[1:]
        if quoted:
            name, value = (name, value.removesuffix('"')) if equals else (name.removesuffix('"'), value)
        if name == "--" and not equals:
            break
        if name:
            parameters.append({"name": name, "value": value if equals else None})
    return parameters


def _cut(word: str) -> tuple[str, bool, str]:
    """Split a word into name, whether it has a value, and value; a leading `=` does not separate."""
    equals = word.find("=", 1)
    return (word, False, "") if equals < 0 else (word[:equals], True, word[equals + 1:])


def unknown_parameters(log: Reading) -> Reading:
    """Parameters that the kernel logged as unknown, as written on the command line (`amd_iommu=on`).

    It logs them only at boot: if the log does not reach back that far and names none, the answer is unknown.
    """
    found = log.map(parse_unknown_parameters)
    if found.ok and not found.value and not reaches_boot(log.value):
        return Reading(ABSENT, None, "the kernel log does not reach back to the boot")
    return found


def parse_unknown_parameters(lines: list[dict]) -> list[str]:
    unknown: list[str] = []
    for line in lines:
        text = line["text"]
        if "Unknown" not in text:
            continue
        for words in _UNKNOWN_PARAMETERS.findall(text):
            unknown += words.split()
        for prefix, option in _UNKNOWN_IOMMU_OPTION.findall(text):
            unknown.append(f"{_IOMMU_PARAMETER[prefix]}={option}")
        unknown += [f"pci={option}" for option in _UNKNOWN_PCI_OPTION.findall(text)]
    return list(dict.fromkeys(unknown))


def reaches_boot(lines: list[dict]) -> bool:
    """Whether the log still contains the first line of every boot (linux_banner)."""
    return any(line["text"].startswith("Linux version ") for line in lines)


def log_window(lines: list[dict]) -> dict:
    """The reach of the log: time of its first stamped line in seconds since boot, and its number of lines."""
    return {"first_seconds": next((line["seconds"] for line in lines if line["seconds"] is not None), None),
            "lines": len(lines)}
