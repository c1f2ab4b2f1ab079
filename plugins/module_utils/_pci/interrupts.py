# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Interrupts of a PCI device and the CPUs that handle them (Documentation/core-api/irq/irq-affinity.rst)."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import Reading
from .._kernel.cpulist import format_cpulist
from .address import DEVICES


def read_default_cpus(host: Host) -> Reading:
    """Read the CPUs that a new interrupt may use, as a list, from the mask in /proc/irq/default_smp_affinity."""
    return host.read("/proc/irq/default_smp_affinity").map(parse_mask).map(format_cpulist)


def parse_mask(text: str) -> list[int]:
    """Parse the CPU mask `ffff,00000003`: groups of 32 bits, the highest first. Raises ValueError."""
    groups = text.strip().split(",")
    if not all(re.fullmatch(r"[0-9a-f]{1,8}", group) for group in groups):
        raise ValueError("not a CPU mask")
    mask = int("".join(group.zfill(8) for group in groups), 16)
    return [cpu for cpu in range(32 * len(groups)) if mask >> cpu & 1]


def read_interrupts(host: Host, address: str) -> list[dict]:
    """Read `{irq, affinity, effective, node}` of each interrupt of a device, by number.

    Message-signalled ones are the names in /sys/bus/pci/devices/*/msi_irqs; without any, the line interrupt in
    the `irq` file counts if the kernel handles it. `affinity` (allowed) and `effective` (used) are CPU lists from
    /proc/irq/*/.
    """
    return [read_interrupt(host, irq) for irq in _numbers(host, address)]


def _numbers(host: Host, address: str) -> list[int]:
    messages = sorted(int(name) for name in host.list(f"{DEVICES}/{address}/msi_irqs") if name.isdecimal())
    if messages:
        return messages
    line = host.read_int(f"{DEVICES}/{address}/irq").value
    # Without a driver the file holds the firmware's number, which may belong to another device.
    bound = host.exists(f"{DEVICES}/{address}/driver")
    return [line] if line and bound and host.is_dir(f"/proc/irq/{line}") else []


def read_interrupt(host: Host, irq: int) -> dict:
    folder = f"/proc/irq/{irq}"
    return {
        "irq": irq,
        "affinity": host.read(f"{folder}/smp_affinity_list"),
        "effective": host.read(f"{folder}/effective_affinity_list"),
        "node": host.read_int(f"{folder}/node"),
    }
