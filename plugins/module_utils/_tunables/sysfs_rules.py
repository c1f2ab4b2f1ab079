# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which files of sysfs may be written, with which values, and which never."""
from __future__ import annotations

import re
from typing import NamedTuple

from .._redaction.names import CERTAIN, secrecy

WORD = "word"               # one word
BRACKETED = "bracketed"     # `always [madvise] never`: the word in brackets counts
NUMBER = "number"

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
_CPU = r"/sys/devices/system/cpu"
_THP = r"/sys/kernel/mm/transparent_hugepage"
_SWITCH = ("0", "1")


class Rule(NamedTuple):
    """One pattern of files that may be written."""

    pattern: str
    form: str
    choices: tuple[str, ...] = ()       # values that the kernel accepts
    choices_file: str | None = None     # a file in the same folder that lists them
    limits_files: tuple[str, str] | None = None     # files in the same folder with minimum and maximum
    inexact: tuple[str, ...] = ()       # addresses that the kernel rewrites too


# Documentation/admin-guide/pm/{cpufreq,amd-pstate,intel_pstate,cpuidle}.rst, admin-guide/mm/{transhuge,ksm}.rst,
# PCI/pcieaspm (drivers/pci/pcie/aspm.c), timers (kernel/time/clocksource.c)
RULES = (
    Rule(rf"{_CPU}/cpufreq/policy\d+/scaling_governor", WORD, choices_file="scaling_available_governors"),
    Rule(rf"{_CPU}/cpufreq/policy\d+/energy_performance_preference", WORD,
         choices_file="energy_performance_available_preferences"),
    Rule(rf"{_CPU}/cpufreq/policy\d+/scaling_max_freq", NUMBER,
         limits_files=("cpuinfo_min_freq", "cpuinfo_max_freq")),
    Rule(rf"{_CPU}/cpufreq/policy\d+/scaling_min_freq", NUMBER,
         limits_files=("cpuinfo_min_freq", "cpuinfo_max_freq")),
    Rule(rf"{_CPU}/cpufreq/policy\d+/boost", NUMBER, choices=_SWITCH),
    Rule(rf"{_CPU}/cpufreq/boost", NUMBER, choices=_SWITCH),
    Rule(rf"{_CPU}/intel_pstate/no_turbo", NUMBER, choices=_SWITCH,
         inexact=(f"sysfs:{CPUFREQ}/policy*/scaling_max_freq",)),
    Rule(rf"{_CPU}/cpu\d+/cpuidle/state\d+/disable", NUMBER, choices=_SWITCH),
    # A change makes the kernel recompute min_free_kbytes (set_recommended_min_free_kbytes() in mm/khugepaged.c).
    Rule(rf"{_THP}/enabled", BRACKETED, inexact=("sysctl:vm.min_free_kbytes",)),
    Rule(rf"{_THP}/defrag", BRACKETED),
    Rule(rf"{_THP}/shmem_enabled", BRACKETED),
    Rule(rf"{_THP}/hugepages-\d+kB/enabled", BRACKETED),
    Rule(rf"{_THP}/khugepaged/defrag", NUMBER, choices=_SWITCH),
    Rule(rf"{_THP}/khugepaged/(pages_to_scan|scan_sleep_millisecs|alloc_sleep_millisecs)", NUMBER),
    Rule(rf"{_THP}/khugepaged/max_ptes_(none|swap|shared)", NUMBER),
    Rule(r"/sys/kernel/mm/ksm/run", NUMBER, choices=_SWITCH),
    Rule(r"/sys/module/pcie_aspm/parameters/policy", BRACKETED),
    Rule(r"/sys/devices/system/clocksource/clocksource0/current_clocksource", WORD,
         choices_file="available_clocksource"),
)

# No option allows these, not even through a link.
NEVER = (
    (r".*/(remove|rescan|dev_rescan)", "it removes or finds devices"),
    (r".*/reset(_method|_subordinate)?", "it resets a device"),
    (r".*/(bind|unbind|new_id|remove_id|drivers_probe|drivers_autoprobe|driver_override)", "it binds drivers"),
    (r".*/rom", "it is a device's ROM"),
    (r".*/resource\d*(_wc|_resize)?", "it is a device's memory, or its size"),
    (r".*/config", "it is config space: MaxPayload, link control and ACS are never written, "
                   "MaxReadReq by gpuhost.tuning.pcie_maxreadreq"),
    (r".*/link/.*", "it is the control of a PCIe link"),
    (r".*/numa_node", "a write of it taints the kernel"),
    (r".*/(sriov_numvfs|sriov_drivers_autoprobe|msi_bus|enable|d3cold_allowed|broken_parity_status)",
     "it changes a device under its driver"),
    (r".*/power/(control|autosuspend_delay_ms)", "it suspends or resumes a device"),
    (r".*/(online|offline|probe)", "it takes processors or memory offline"),
    (r".*/smt/(control|active)", "it takes processors offline"),
    (r"/sys/power/.*", "it suspends the machine"),
    (r"/sys/kernel/iommu_groups/.*", "the type of an IOMMU group is set at boot"),
    (r"/sys/firmware/.*", "it is firmware"),
    (r"/sys/fs/.*", "it belongs to control groups and file systems"),
    (r"/sys/kernel/(debug|tracing)(/.*)?", "it belongs to debugging and tracing"),
    (r"/(sys|dev)/(.*/)?watchdog\d*(/.*)?", "it can reboot the machine"),
    (r"/(proc/driver|sys/class|sys/module)/nvidia.*", "settings of the NVIDIA driver, MIG and ECC are changed with "
                                                      "its tools"),
    (r".*/uevent", "it triggers udev events"),
)

# Readable on request: served from kernel memory, nothing that wakes a device or has an effect.
READABLE = ("/sys/devices/system/", "/sys/kernel/mm/", "/sys/module/", "/sys/class/dmi/id/", "/sys/kernel/security/")

_RULES = tuple((re.compile(rule.pattern), rule) for rule in RULES)
_NEVER = tuple((re.compile(pattern), why) for pattern, why in NEVER)


def find_rule(path: str) -> Rule | None:
    return next((rule for pattern, rule in _RULES if pattern.fullmatch(path)), None)


def never_written(path: str) -> str | None:
    """Return why nothing may be written to a file, None if some values may."""
    if find_rule(path) is not None:
        return None
    forbidden = next((why for pattern, why in _NEVER if pattern.fullmatch(path)), None)
    return forbidden or "it is not on the list of files that may be written"


def never_read(path: str) -> str | None:
    """Return why a file is not read, None if it may be."""
    if find_rule(path) is None and not path.startswith(READABLE):
        return never_written(path)
    if "/../" in f"{path}/":
        return "it contains .."
    return "its name indicates a secret" if secrecy(path.rpartition("/")[2]) == CERTAIN else None
