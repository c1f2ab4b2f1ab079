# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Numeric IDs for the names that lspci prints without -n: the subset of pci.ids that an audit needs."""
from __future__ import annotations

CLASSES = {
    "Non-VGA unclassified device": "0000", "SCSI storage controller": "0100", "IDE interface": "0101",
    "RAID bus controller": "0104", "SATA controller": "0106", "Serial Attached SCSI controller": "0107",
    "Non-Volatile memory controller": "0108", "Mass storage controller": "0180", "Ethernet controller": "0200",
    "Infiniband controller": "0207", "Network controller": "0280", "VGA compatible controller": "0300",
    "XGA compatible controller": "0301", "3D controller": "0302", "Display controller": "0380",
    "Multimedia audio controller": "0401", "Audio device": "0403", "RAM memory": "0500", "Memory controller": "0580",
    "Host bridge": "0600", "ISA bridge": "0601", "PCI bridge": "0604", "Bridge": "0680",
    "Serial controller": "0700", "Communication controller": "0780", "PIC": "0800", "System peripheral": "0880",
    "SD Host controller": "0805", "IOMMU": "0806", "USB controller": "0c03", "SMBus": "0c05",
    "Serial bus controller": "0c80", "Encryption controller": "1080", "Signal processing controller": "1180",
    "Performance counters": "1101", "Processing accelerators": "1200", "Co-processor": "0b40",
    "Non-Essential Instrumentation": "1300", "Unassigned class": "ff00",
}
UNASSIGNED = "ff00"
# If one name is a prefix of another, the longer one comes first. 1002 was called by its former name until 2018.
VENDORS = (
    ("NVIDIA Corporation", "10de"), ("nVidia Corporation", "10de"),
    ("Advanced Micro Devices, Inc. [AMD/ATI]", "1002"), ("Advanced Micro Devices [AMD] nee ATI", "1002"),
    ("Advanced Micro Devices nee ATI", "1002"), ("AMD/ATI", "1002"), ("ATI Technologies", "1002"),
    ("Advanced Micro Devices", "1022"), ("Intel Corp", "8086"), ("Mellanox Technologies", "15b3"),
    ("PLX Technology", "10b5"), ("Broadcom / LSI", "1000"), ("Microsemi", "11f8"), ("PMC-Sierra", "11f8"),
    ("ASPEED Technology", "1a03"), ("Matrox Electronics", "102b"), ("Cirrus Logic", "1013"),
    # Of virtual machines. Red Hat has two numbers, of which this one is that of its displays and bridges.
    ("Red Hat", "1b36"), ("VMware", "15ad"), ("InnoTek Systemberatung", "80ee"), ("Microsoft Corporation", "1414"),
    ("XenSource", "5853"), ("Amazon.com", "1d0f"), ("Google, Inc.", "1ae0"),
)
# The displays of management controllers that share their vendor with GPUs.
_BMC_DISPLAYS = (("ES1000", "515e"), ("Rage XL", "4752"))


def class_of_name(name: str) -> str:
    """Four digits, `0302` for `030200`; the unassigned class `ff00` for a name that is not in the list.

    All classes of displays and accelerators are in it.
    """
    return CLASSES.get(name.strip(), UNASSIGNED)


def vendor_of_name(name: str) -> str | None:
    return next((number for start, number in VENDORS if name.startswith(start)), None)


def device_of_name(name: str) -> str | None:
    """The device id of a name, where it decides whether a display is a GPU; None for all others."""
    return next((number for part, number in _BMC_DISPLAYS if part in name), None)
