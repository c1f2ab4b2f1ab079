# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CPUs: model, which are online, topology, frequency and clock source."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .._host.host import Host
from .._host.reading import NOT_RECORDED, Reading, known, ok, settle
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .._kernel.log import read_lines
from .._pci.interrupts import read_default_cpus
from .cpufreq import read_frequency, read_uncore
from .cpuidle import read_idle
from .cpuinfo import read_cpuinfo

CPU = "/sys/devices/system/cpu"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"
VULNERABILITIES = f"{CPU}/vulnerabilities"
HYBRID = {"cpu_core": "performance cores", "cpu_atom": "efficient cores", "cpu_lowpower": "low power cores"}
DESCRIBED = ("vendor", "family", "model", "stepping", "model_name", "microcode", "microcode_cpus", "flags")
FLAGS = ("hypervisor", "cppc", "constant_tsc", "nonstop_tsc")


def read(host: Host, cpuinfo: Reading | None = None, release: Reading | None = None,
         log: Reading | None = None) -> dict:
    """Read the facts' section `cpu`. /proc/cpuinfo, the kernel's release and its log can be passed, if already read."""
    cpuinfo = read_cpuinfo(host) if cpuinfo is None else cpuinfo
    release = host.read("/proc/sys/kernel/osrelease") if release is None else release
    log = read_lines(host) if log is None else log
    present = host.read(f"{CPU}/present").map(parse_cpulist)
    online = host.read(f"{CPU}/online").map(parse_cpulist)
    return {
        **describe(cpuinfo),
        **known_cores(lambda: count_cores(host, cpuinfo, known(
            lambda: find_cpus(host) if online.value is None else online.value))),
        **settle({
            "logical": lambda: len(present.value) if present.value else len(find_cpus(host)) or (
                cpuinfo.value and cpuinfo.value.cpus),
            "online": lambda: None if online.value is None else format_cpulist(online.value),
            "offline": lambda: sorted(set(present.value) - set(online.value))
            if present.value and online.value else None,
            "kinds": lambda: read_kinds(host, cpuinfo),
            "acpi_cppc": lambda: host.is_dir(f"{CPU}/cpu0/acpi_cppc"),
            "vulnerabilities": lambda: read_vulnerabilities(host),
            "uncore": lambda: read_uncore(host),
        }),
        "smt": {"control": host.read(f"{CPU}/smt/control"), "active": host.read_int(f"{CPU}/smt/active")},
        "isolated": host.read(f"{CPU}/isolated").map(parse_list),
        "nohz_full": host.read(f"{CPU}/nohz_full").map(parse_list),
        "interrupt_cpus": read_default_cpus(host),
        "clocksource": read_clocksource(host, log),
        "frequency": read_frequency(host, release),
        "idle": read_idle(host, known(lambda: online.value or ())),
    }


def known_cores(count: Callable[[], dict]) -> dict:
    """Return `{sockets, cores}` of `count`; both are not recorded if they depend on something a recording lacks."""
    found = known(count)
    return {"sockets": found, "cores": found} if isinstance(found, Reading) else found


def describe(cpuinfo: Reading) -> dict:
    """Return what /proc/cpuinfo says about the CPUs; null and false where it says nothing."""
    if cpuinfo.status == NOT_RECORDED:
        return dict.fromkeys(DESCRIBED, cpuinfo)
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


def find_cpus(host: Host) -> list[int]:
    """Find the CPUs that have a folder, if there is no list of them: old kernels and incomplete recordings."""
    return sorted(int(name[3:]) for name in host.list(CPU) if re.fullmatch(r"cpu\d{1,6}", name))


def count_cores(host: Host, cpuinfo: Reading, online: Iterable[int]) -> dict:
    """Count `{sockets, cores}` that have a CPU online; None if unknown.

    From topology of Documentation/ABI/stable/sysfs-devices-system-cpu if /proc/cpuinfo lacks them, as on arm64: CPUs of
    a core share a list of siblings, which is unique whatever the numbering. Package -1 means unknown.
    """
    if cpuinfo.told().ok and cpuinfo.value.cores:
        return {"sockets": cpuinfo.value.sockets, "cores": cpuinfo.value.cores}
    folders = [f"{CPU}/cpu{cpu}/topology" for cpu in online]
    packages = {host.read(f"{folder}/physical_package_id").value for folder in folders} - {None, "-1"}
    cores = {_read_core(host, folder) for folder in folders}
    return {"sockets": len(packages) or None, "cores": None if None in cores else len(cores) or None}


def _read_core(host: Host, folder: str) -> str | None:
    """Return what identifies a core: its CPUs, or in a recording without them package, die and core id."""
    for name in ("core_cpus_list", "thread_siblings_list"):     # one list, renamed in Linux 5.3
        siblings = host.read(f"{folder}/{name}").value
        if siblings:
            return siblings
    package, die, core = (host.read(f"{folder}/{name}").value for name in ("physical_package_id", "die_id", "core_id"))
    return None if core is None else f"{package} {die} {core}"


def read_kinds(host: Host, cpuinfo: Reading) -> list[dict]:
    """Read `[{name, cpus}]` if the processor has cores of several kinds; else empty.

    On Intel they are the two or three core PMUs (arch/x86/events/intel/core.c, cpu_core and cpu_atom).
    """
    if cpuinfo.told().ok and cpuinfo.value.kinds:
        return list(cpuinfo.value.kinds)
    units = {name: host.read(f"/sys/devices/{unit}/cpus").map(parse_cpulist).value for unit, name in HYBRID.items()}
    found = [{"name": name, "cpus": format_cpulist(cpus)} for name, cpus in units.items() if cpus]
    return found if len(found) > 1 else []


def parse_list(text: str) -> str:
    """Normalise a kernel CPU list; without CONFIG_NO_HZ_FULL some kernels print (null) for an empty one."""
    return "" if text.strip() == "(null)" else format_cpulist(parse_cpulist(text))


def read_vulnerabilities(host: Host) -> Reading:
    """Read `[{name, state}]`: vulnerabilities in Documentation/ABI/testing/sysfs-devices-system-cpu."""
    names = host.read_list(VULNERABILITIES)
    if not names.ok:
        return names
    read = host.read_attributes(VULNERABILITIES, names.value)
    return ok([{"name": name, "state": state.value} for name, state in read.items() if state.told().ok])


def read_clocksource(host: Host, log: Reading) -> dict:
    """Read the current and the available clock sources: Documentation/timers/timekeeping.rst.

    `unstable` are the log lines in which the kernel rejected the time stamp counter (mark_tsc_unstable(), tsc.c).
    """
    return {
        "unstable": log.map(lambda lines: [line["text"] for line in lines if "Marking TSC unstable" in line["text"]]),
        "current": host.read(f"{CLOCKSOURCE}/current_clocksource").map(str.strip),
        "available": host.read(f"{CLOCKSOURCE}/available_clocksource").map(str.split),
    }
