# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Services that set tunables from their own configuration: TLP, cpufrequtils, cpupower, ksmtuned and others.

Sources: TLP 1.5 to 1.8, defaults.conf and func.d; Debian, cpufrequtils 008, init script; Linux 6.16,
tools/power/cpupower/cpupower.service; ksmtuned of Proxmox ksm-control-daemon; laptop-mode-tools; power-profiles-daemon,
README; Kubernetes, pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables().
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .._host.host import Host
from .._kernel.services import read_services
from .commands import find_commands
from .key_values import Line, read_lines
from .setting import SYSCTL, SYSFS, Setting

_CPU = "/sys/devices/system/cpu"
_POLICY = f"{_CPU}/cpufreq/policy*"
_GOVERNOR = (SYSFS, f"{_POLICY}/scaling_governor")
_EPP = (SYSFS, f"{_POLICY}/energy_performance_preference")
_LOWEST = (SYSFS, f"{_POLICY}/scaling_min_freq")
_HIGHEST = (SYSFS, f"{_POLICY}/scaling_max_freq")
_BOOSTS = ((SYSFS, f"{_CPU}/cpufreq/boost"), (SYSFS, f"{_POLICY}/boost"))
_NO_TURBO = (SYSFS, f"{_CPU}/intel_pstate/no_turbo")
_KSM = (SYSFS, "/sys/kernel/mm/ksm/run")
_NMI_WATCHDOG = (SYSCTL, "kernel/nmi_watchdog")
_LATER = "is enabled at boot and sets it then or later"


class Keys(NamedTuple):
    """A service whose configuration files name what it sets."""

    service: str
    files: tuple[str, ...]
    keys: dict[str, tuple[tuple[str, str], ...]]
    default: dict[str, str] = {}        # what is set if the files do not say
    unset: tuple[str, ...] = ("",)      # values that set nothing
    switch: tuple[str, tuple[str, ...]] = ("", ())      # a key, and its values with which nothing is set
    guess: tuple[str, ...] = ()         # keys whose value is not in the kernel's terms


_TLP = Keys("tlp", ("/etc/tlp.d/*.conf", "/etc/tlp.conf"), {
    "CPU_SCALING_GOVERNOR_ON_AC": (_GOVERNOR,), "CPU_SCALING_MIN_FREQ_ON_AC": (_LOWEST,),
    "CPU_SCALING_MAX_FREQ_ON_AC": (_HIGHEST,), "CPU_ENERGY_PERF_POLICY_ON_AC": (_EPP,),
    "CPU_BOOST_ON_AC": _BOOSTS, "PCIE_ASPM_ON_AC": ((SYSFS, "/sys/module/pcie_aspm/parameters/policy"),),
    "NMI_WATCHDOG": (_NMI_WATCHDOG,), "DISK_IDLE_SECS_ON_AC": ((SYSCTL, "vm/laptop_mode"),),
    "MAX_LOST_WORK_SECS_ON_AC": ((SYSCTL, "vm/dirty_writeback_centisecs"), (SYSCTL, "vm/dirty_expire_centisecs")),
}, {"CPU_ENERGY_PERF_POLICY_ON_AC": "balance_performance", "PCIE_ASPM_ON_AC": "default", "NMI_WATCHDOG": "0",
    "DISK_IDLE_SECS_ON_AC": "0", "MAX_LOST_WORK_SECS_ON_AC": "15"}, switch=("TLP_ENABLE", ("0",)),
    guess=("MAX_LOST_WORK_SECS_ON_AC",))
_CPUFREQUTILS = Keys("cpufrequtils", ("/etc/default/cpufrequtils",), {
    "GOVERNOR": (_GOVERNOR,), "MAX_SPEED": (_HIGHEST,), "MIN_SPEED": (_LOWEST,)},
    {"GOVERNOR": "ondemand"}, unset=("", "0"), switch=("ENABLE", ("false", "no", "0", "")))
_CPUPOWER = Keys("cpupower", ("/etc/sysconfig/cpupower", "/etc/default/cpupower",
                              "/etc/default/cpupower-service.conf", "/etc/cpupower-service.conf"), {
    "GOVERNOR": (_GOVERNOR,), "governor": (_GOVERNOR,), "MIN_FREQ": (_LOWEST,), "min_freq": (_LOWEST,),
    "MAX_FREQ": (_HIGHEST,), "max_freq": (_HIGHEST,), "EPP": (_EPP,), "epp": (_EPP,), "TURBO_BOOST": _BOOSTS},
    guess=("MIN_FREQ", "min_freq", "MAX_FREQ", "max_freq"))
_WITH_KEYS = (_TLP, _CPUFREQUTILS, _CPUPOWER)

# Services without such a line: (unit, file to report, what it sets, to which value).
_ALWAYS = (
    ("ksmtuned", "/etc/ksmtuned.conf", (_KSM,), None),
    ("ondemand", "/etc/init.d/ondemand", (_GOVERNOR,), None),
    ("power-profiles-daemon", "/var/lib/power-profiles-daemon/state.ini", (_EPP, *_BOOSTS, _NO_TURBO), None),
    ("auto-cpufreq", "/etc/auto-cpufreq.conf", (_GOVERNOR, _EPP, *_BOOSTS, _NO_TURBO), None),
    ("laptop-mode", "/etc/laptop-mode/laptop-mode.conf", (
        _GOVERNOR, (SYSCTL, "vm/laptop_mode"), (SYSCTL, "vm/dirty_ratio"), (SYSCTL, "vm/dirty_background_ratio"),
        (SYSCTL, "vm/dirty_writeback_centisecs"), (SYSCTL, "vm/dirty_expire_centisecs"), _NMI_WATCHDOG), None),
    ("kubelet", "/var/lib/kubelet/config.yaml", ((SYSCTL, "vm/overcommit_memory"),), "1"),
    ("kubelet", "/var/lib/kubelet/config.yaml", ((SYSCTL, "vm/panic_on_oom"),), "0"),
    ("kubelet", "/var/lib/kubelet/config.yaml", ((SYSCTL, "kernel/panic"),), "10"),
    ("kubelet", "/var/lib/kubelet/config.yaml", ((SYSCTL, "kernel/panic_on_oops"),), "1"),
)


def settings(host: Host) -> Iterator[Setting]:
    names = tuple(dict.fromkeys([service.service for service in _WITH_KEYS] + [row[0] for row in _ALWAYS]))
    started = {service["service"] for service in read_services(host, names)
               if service["installed"] and service["enabled"] and not service["masked"]}
    for service in _WITH_KEYS:
        if service.service in started:
            yield from _of_keys(host, service)
    for unit, path, tunables, value in _ALWAYS:
        if unit in started:
            for kind, name in tunables:
                yield Setting(kind, name, value, path, 0, unit, True, f"{unit} {_LATER}")


def _of_keys(host: Host, service: Keys) -> Iterator[Setting]:
    paths = [path for pattern in service.files for path in host.glob(pattern)]
    lines = read_lines(host, paths)
    shown = paths[-1] if paths else service.files[-1]
    values = {**{key: Line(value, shown, 0) for key, value in service.default.items()}, **lines}
    switch, off = service.switch
    if switch in lines and lines[switch].value in off:
        return
    for key, tunables in service.keys.items():
        line = values.get(key)
        if line is None or line.value in service.unset:
            continue
        for kind, name in tunables:
            value = None if key in service.guess or "$" in line.value else line.value
            yield Setting(kind, name, value, line.path, line.number, key, True, f"{service.service} {_LATER}")
    options = values.get("CPUPOWER_START_OPTS")
    if service is _CPUPOWER and options is not None:      # on Fedora and Red Hat Enterprise Linux
        for kind, name, found in find_commands(f"cpupower {options.value}"):
            yield Setting(kind, name, found, options.path, options.number, "CPUPOWER_START_OPTS", True,
                          f"cpupower {_LATER}")
    boost = values.get("CPU_BOOST_ON_AC")
    if service is _TLP and boost is not None and boost.value in ("0", "1"):
        yield Setting(*_NO_TURBO, "1" if boost.value == "0" else "0", boost.path, boost.number, "CPU_BOOST_ON_AC", True,
                      f"tlp {_LATER}")
