# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Files of a PCI device in sysfs that the kernel serves from memory, even if the device is asleep or gone.

Documentation/ABI/testing/sysfs-bus-pci unless a function names another page.
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, UNPARSABLE, Reading, ok
from .address import DEVICES, parse_hex_id

# include/linux/ioport.h
IORESOURCE_MEM = 0x00000200
IORESOURCE_PREFETCH = 0x00002000
IORESOURCE_MEM_64 = 0x00100000
IORESOURCE_UNSET = 0x20000000
PCI_STD_NUM_BARS = 6

_AER_FILES = ("correctable", "nonfatal", "fatal")


def read_id(host: Host, address: str, name: str, digits: int = 4) -> str | None:
    """Read a hexadecimal file of a device (`vendor`, `device`, `class` ...) without 0x; None if unreadable."""
    return host.read(f"{DEVICES}/{address}/{name}").map(lambda text: parse_hex_id(text, digits)).value


def read_subsystem(host: Host, address: str) -> str | None:
    """Read vendor and id of the board, `10de:204e`; None if the device has none, like bridges."""
    vendor, device = read_id(host, address, "subsystem_vendor"), read_id(host, address, "subsystem_device")
    return None if vendor in (None, "0000") or device is None else f"{vendor}:{device}"


def read_driver(host: Host, address: str) -> str | None:
    """Read the driver bound to a device, or None."""
    return host.link_name(f"{DEVICES}/{address}/driver")


def read_numa_node(host: Host, address: str) -> Reading:
    """Read the NUMA node that the firmware reports, -1 if it reports none."""
    return host.read_int(f"{DEVICES}/{address}/numa_node")


def read_iommu(host: Host, address: str) -> tuple[Reading, Reading]:
    """Read group number and domain type (`identity`, `DMA`, `DMA-FQ`) of a device
    (Documentation/ABI/testing/sysfs-kernel-iommu_groups). Both absent without an IOMMU."""
    link = f"{DEVICES}/{address}/iommu_group"
    group = host.read_link(link).map(lambda target: int(target.rsplit("/", 1)[-1]))
    kind = host.read(f"{link}/type") if group.ok else group
    if group.ok and kind.status == ABSENT:
        return group, Reading(UNPARSABLE, None, f"the device is in group {group.value}, whose type is not visible")
    return group, kind


def read_aer(host: Host, address: str) -> Reading:
    """Read error counters since boot: `{correctable, nonfatal, fatal, details}`, absent if firmware handles errors.

    /sys/bus/pci/devices/*/aer_dev_* (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
    """
    totals, details = {}, {}
    for severity in _AER_FILES:
        reading = host.read(f"{DEVICES}/{address}/aer_dev_{severity}").map(parse_aer)
        if not reading.ok:
            return reading
        totals[severity], counts = reading.value
        for name, count in counts.items():
            details[name] = details.get(name, 0) + count
    return ok({**totals, "details": details})


def parse_aer(text: str) -> tuple[int, dict]:
    """Parse the total and the non-zero counts. A name may contain spaces; the sum of the lines may differ from the
    TOTAL line, which is the kernel's own count of messages."""
    total, counts = None, {}
    if not text:
        raise ValueError("no counters")
    for line in text.splitlines():
        name, count = line.rsplit(None, 1)
        if name.startswith("TOTAL_"):
            total = int(count)
        elif int(count):
            counts[name] = int(count)
    return (sum(counts.values()) if total is None else total), counts


def read_bars(host: Host, address: str) -> Reading:
    """Read the memory BARs that have an address: `{index, start, size, bits, prefetchable}`, sizes in bytes."""
    return host.read(f"{DEVICES}/{address}/resource").map(parse_resource)


def parse_resource(text: str) -> list:
    """Parse lines `start end flags`; the first six are the BARs, by index. Zeros and IORESOURCE_UNSET: no address."""
    bars = []
    for index, line in enumerate(text.splitlines()[:PCI_STD_NUM_BARS]):
        start, end, flags = (int(word, 16) for word in line.split())
        if end <= start or not flags & IORESOURCE_MEM or flags & IORESOURCE_UNSET:
            continue
        bars.append({
            "index": index, "start": start, "size": end - start + 1, "bits": 64 if flags & IORESOURCE_MEM_64 else 32,
            "prefetchable": bool(flags & IORESOURCE_PREFETCH),
        })
    return bars
