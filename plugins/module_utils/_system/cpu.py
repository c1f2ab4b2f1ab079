# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CPUs: what they are, which are online, how they are grouped, what clock they keep."""
from __future__ import annotations

from collections.abc import Iterable

from .._host.host import Host
from .._host.reading import Reading, ok
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .._kernel.log import read_lines
from .._pci.interrupts import read_default_cpus
from .cpufreq import read_frequency, read_uncore
from .cpuidle import read_idle
from .cpuinfo import read_cpuinfo

CPU = "/sys/devices/system/cpu"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"
VULNERABILITIES = f"{CPU}/vulnerabilities"
FLAGS = ("hypervisor", "cppc", "constant_tsc", "nonstop_tsc")


def read(host: Host, cpuinfo: Reading | None = None, release: Reading | None = None,
         log: Reading | None = None) -> dict:
    """The facts' section `cpu`. /proc/cpuinfo, the kernel's release and its log can be handed in, if read before."""
    cpuinfo = read_cpuinfo(host) if cpuinfo is None else cpuinfo
    release = host.read("/proc/sys/kernel/osrelease") if release is None else release
    log = read_lines(host) if log is None else log
    present = host.read(f"{CPU}/present").map(parse_cpulist).value
    online = host.read(f"{CPU}/online").map(parse_cpulist).value
    return {
        **describe(cpuinfo),
        "logical": None if present is None else len(present),
        "online": None if online is None else format_cpulist(online),
        "offline": sorted(set(present or ()) - set(online or ())) if online else [],
        **count_cores(cpuinfo.value.cores if cpuinfo.ok and cpuinfo.value.cores else read_cores(host, online or ())),
        "smt": {"control": host.read(f"{CPU}/smt/control"), "active": host.read_int(f"{CPU}/smt/active")},
        "acpi_cppc": host.is_dir(f"{CPU}/cpu0/acpi_cppc"),
        "isolated": host.read(f"{CPU}/isolated").map(parse_list),
        "nohz_full": host.read(f"{CPU}/nohz_full").map(parse_list),
        "interrupt_cpus": read_default_cpus(host),
        "vulnerabilities": read_vulnerabilities(host),
        "clocksource": read_clocksource(host, log),
        "frequency": read_frequency(host, release),
        "uncore": read_uncore(host),
        "idle": read_idle(host, online or ()),
    }


def describe(cpuinfo: Reading) -> dict:
    """What /proc/cpuinfo says of the CPUs; null and false where it says nothing."""
    info = cpuinfo.value
    flags = info.flags if info else frozenset()
    return {
        "vendor": info and info.vendor,
        "family": info and info.family,
        "model": info and info.model,
        "stepping": info and info.stepping,
        "model_name": info and info.model_name,
        "microcode": list(info.microcode) if info else [],
        "microcode_cpus": list(info.microcode_cpus) if info else [],
        "flags": {flag: flag in flags for flag in FLAGS},
    }


def read_cores(host: Host, cpus: Iterable[int]) -> set[tuple[str, str]]:
    """Package and core of every CPU, from Documentation/ABI/stable/sysfs-devices-system-cpu, topology.

    Two reads a CPU, so only where /proc/cpuinfo does not have them, as on arm64. A package -1 is unknown.
    """
    folders = [f"{CPU}/cpu{cpu}/topology" for cpu in cpus]
    pairs = {(host.read(f"{folder}/physical_package_id").value, host.read(f"{folder}/core_id").value)
             for folder in folders}
    return {(package, core) for package, core in pairs if package not in (None, "-1") and core is not None}


def count_cores(cores: Iterable[tuple[str, str]]) -> dict:
    """Sockets and cores that have a CPU online; None where nothing tells."""
    cores = set(cores)
    return {"sockets": len({package for package, _core in cores}) or None, "cores": len(cores) or None}


def parse_list(text: str) -> str:
    """A list of CPUs in the kernel's form; without CONFIG_NO_HZ_FULL some kernels print (null) for none."""
    return "" if text.strip() == "(null)" else format_cpulist(parse_cpulist(text))


def read_vulnerabilities(host: Host) -> Reading:
    """`[{name, state}]` as the kernel says it: Documentation/ABI/testing/sysfs-devices-system-cpu, vulnerabilities."""
    names = host.read_list(VULNERABILITIES)
    if not names.ok:
        return names
    read = host.read_attributes(VULNERABILITIES, names.value)
    return ok([{"name": name, "state": state.value} for name, state in read.items() if state.ok])


def read_clocksource(host: Host, log: Reading) -> dict:
    """The kernel's clock and those it could take: Documentation/timers/timekeeping.rst.

    `unstable` are the lines by which the kernel gave up the time stamp counter (mark_tsc_unstable(), tsc.c).
    """
    return {
        "unstable": log.map(lambda lines: [line["text"] for line in lines if "Marking TSC unstable" in line["text"]]),
        "current": host.read(f"{CLOCKSOURCE}/current_clocksource").map(str.strip),
        "available": host.read(f"{CLOCKSOURCE}/available_clocksource").map(str.split),
    }
