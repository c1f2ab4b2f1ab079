# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which commands to request from the owner of a recorded host: their output would allow more checks to be judged.

The import accepts this output (_intake/pasted_text.py) next to the existing report.
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple

_FACT = re.compile(r"(.+?) is not recorded: ")
_CPU = "/sys/devices/system/cpu /sys/devices/system/node /sys/devices/system/clocksource"
_MEMORY = ("/sys/kernel/mm/transparent_hugepage /sys/kernel/mm/ksm /sys/kernel/mm/hugepages "
           "/sys/module/pcie_aspm/parameters")
_BOOT = "/etc/modprobe.d /etc/default/grub /etc/kernel/cmdline /etc/sysctl.conf /etc/sysctl.d"
# Prefixes of fact names, and the command that prints those facts; shorter output first.
_ASKS = (
    ("nvidia-smi -q", ("nvidia.smi",)),
    ("sysctl -a", ("sysctl", 'tunables."sysctl:', "network.backlog", "derived.sysctl")),
    (f"grep -rH . {_MEMORY}", ("memory.thp", "memory.ksm", "memory.hugepages", "derived.usual_huge_page",
                               "derived.static_pools", "pcie.aspm")),
    ("grep -rH . /proc/swaps /proc/mounts /proc/devices", ("memory.swap", "memory.shm", "nvidia.majors")),
    (f"grep -rH . {_BOOT}", ("boot", "managers", "nvidia.options", "nvidia.modprobe", "nvidia.blacklist",
                             "derived.modprobe", "derived.tuning_services", "derived.boot",
                             "derived.sysctl_places")),
    ("ls -l /dev/nvidia*", ("nvidia.nodes",)),
    ("dmesg", ("kernel.log", "nvidia.xids", "nvidia.sxids")),
    ("lspci -nnDvvvxxxx", ("gpus", "ports", "pcie", "derived.p2p", "derived.nic_paths", "it.acs", "it.pcie")),
    (f"grep -rH . {_CPU}", ("cpu", "numa", "derived.numa", "derived.idle_states", "derived.frequency",
                            "derived.scaling_driver", "derived.vulnerable", "derived.boost", "derived.memory_kib",
                            "it.governor")),
    ("pvereport", ("guests", "cluster", "derived.gpu_containers", "derived.gpu_vms", "derived.isolated_guests",
                   "derived.stopped_by_reboot", "derived.claims", "identity.proxmox")),
)
# One Python file that records everything an audit reads (docs/record-tool.md).
EVERYTHING = "python3 gpuhost-record.pyz > host.tar.gz"


class Ask(NamedTuple):
    """`checks` are the IDs of the checks that the output would settle, judged by the first missing fact of each."""

    command: str
    checks: list[str]


def asks(findings: list[dict[str, Any]]) -> list[Ask]:
    """The commands, shortest output first; EVERYTHING covers what none of them prints."""
    found: dict[str, dict[str, None]] = {}
    for finding in findings:
        if finding["verdict"] == "unknown" and finding.get("not_recorded"):
            found.setdefault(_command(_lacks(finding)), {})[finding["check"]] = None
    order = [command for command, _facts in _ASKS] + [EVERYTHING]
    return [Ask(command, list(found[command])) for command in order if command in found]


def _lacks(finding: dict[str, Any]) -> str:
    """The path of the missing fact; records from before 1.1.0 have it in their reason only."""
    named = _FACT.match(finding["reason"] or "")
    return (finding.get("lacks") or (named[1] if named else "")).removeprefix("host.")


def _command(fact: str) -> str:
    return next((command for command, facts in _ASKS if fact.startswith(facts)), EVERYTHING)


def one_line(wanted: list[Ask]) -> str | None:
    """All of them as one command line, which echoes each command before its output so that the import can tell them
    apart."""
    commands = [one.command for one in wanted if one.command not in (EVERYTHING, "pvereport")]
    # The import recognizes the host by its name.
    return f"sudo sh -xc '{'; '.join(['uname -a', *commands])}' > more.txt 2>&1" if commands else None
