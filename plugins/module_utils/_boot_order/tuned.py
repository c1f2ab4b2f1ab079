# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values that TuneD sets at boot, from its active profile.

Its sysctls are overridden by the files of /etc/sysctl.d, which it applies again after them, unless reapply_sysctl is
off or reapply_sysctl_exclude names them. Nothing overrides what it writes to sysfs.
Sources: TuneD, man 5 tuned-main.conf; tuned/plugins/plugin_{sysctl,sysfs,vm,cpu,script}.py; tuned.service.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from .._host.host import Host
from .setting import SYSCTL, SYSFS, Setting, named_by_path
from .shell_writes import read_script
from .sysctl_files import with_slashes
from .tuned_files import Option, Unit, read_profile_names, read_units
from .tuned_main import Tuned

_CPUFREQ = "/sys/devices/system/cpu/cpufreq/policy*"
_THP = "/sys/kernel/mm/transparent_hugepage"
_CPU_FILES = {
    "governor": f"{_CPUFREQ}/scaling_governor",
    "energy_performance_preference": f"{_CPUFREQ}/energy_performance_preference",
    "boost": f"{_CPUFREQ}/boost",
    "no_turbo": "/sys/devices/system/cpu/intel_pstate/no_turbo",
}
_VM_FILES = {
    "transparent_hugepages": f"{_THP}/enabled",
    "transparent_hugepage": f"{_THP}/enabled",
    "transparent_hugepage.defrag": f"{_THP}/defrag",
}
_VM_SYSCTLS = frozenset(("dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes"))
_ON = ("1", "yes", "true", "y", "t", "on")


def settings(host: Host) -> Iterator[Setting]:
    tuned = Tuned(host)
    if not tuned.at_boot and not tuned.runs:
        return
    names = read_profile_names(host)
    for setting in _of_profile(host, names, tuned) if names else _of_any_profile():
        yield setting if tuned.at_boot else setting._replace(
            wins=False, why="TuneD runs now and is not enabled: at boot nothing starts it")


def _of_any_profile() -> Iterator[Setting]:
    why = "TuneD chooses a profile at its first start, and is not ordered against gpuhost-boot"
    for path in (*_CPU_FILES.values(), f"{_THP}/enabled"):
        yield Setting(SYSFS, path, None, "/etc/tuned/active_profile", 0, path, True, why)


def _of_profile(host: Host, names: list[str], tuned: Tuned) -> Iterator[Setting]:
    for unit in read_units(host, names).values():
        if unit.keys.get("enabled", "true").lower() in ("true", "1") and _is_for_this_host(host, unit):
            yield from _of_unit(host, unit, tuned)


def _is_for_this_host(host: Host, unit: Unit) -> bool:
    """Whether a unit applies to this host; an undecidable pattern counts as a match."""
    cpuinfo = host.read("/proc/cpuinfo").value or ""
    machine = host.read("/proc/sys/kernel/arch").value or ("aarch64" if "CPU implementer" in cpuinfo else "x86_64")
    return all(_found(unit.keys.get(key, ""), text)
               for key, text in (("cpuinfo_regex", cpuinfo), ("uname_regex", f"Linux {machine}")))


def _found(pattern: str, text: str) -> bool:
    try:
        return not pattern or not text or "${" in pattern or re.search(pattern, text, re.MULTILINE) is not None
    except re.error:
        return True


def _of_unit(host: Host, unit: Unit, tuned: Tuned) -> Iterator[Setting]:
    for option in unit.options.values():
        if unit.type == "sysctl":
            yield _sysctl(option, tuned)
        elif unit.type == "sysfs":
            yield _sysfs(option, option.name, option.value)
        elif unit.type == "vm":
            yield from _vm(host, option)
        elif unit.type == "cpu" and option.name in _CPU_FILES:
            yield _sysfs(option, _CPU_FILES[option.name], _cpu_value(host, option))
        elif unit.type == "script" and option.name == "script":
            yield from _script(host, option)


def _sysctl(option: Option, tuned: Tuned) -> Setting:
    name = with_slashes(option.name)
    again = tuned.sets_again(name)
    why = ("TuneD sets the files of /etc/sysctl.d again after its profile (reapply_sysctl)" if again else
           "TuneD sets it after systemd-sysctl, and does not set the files of /etc/sysctl.d again (reapply_sysctl"
           + ("_exclude)" if tuned.reapplies else " = 0)"))
    # `>N` raises it to N, `<N` lowers it: the result depends on the value before.
    value = None if (option.value or "")[:1] in ("<", ">") else option.value
    return Setting(SYSCTL, name, value, option.path, option.line, option.name, not again, why)


def _sysfs(option: Option, path: str, value: str | None) -> Setting:
    why = "TuneD is not ordered against gpuhost-boot, and writes sysfs again whenever its profile is applied"
    return Setting(SYSFS, path, value, option.path, option.line, option.name, True, why)


def _vm(host: Host, option: Option) -> Iterator[Setting]:
    if option.name in _VM_FILES:
        # _set_transparent_hugepages() does not override the command line.
        if option.name == "transparent_hugepage.defrag" or "transparent_hugepage=" not in (
                host.read("/proc/cmdline").value or ""):
            yield _sysfs(option, _VM_FILES[option.name], option.value)
    elif option.name in _VM_SYSCTLS:
        percent = (option.value or "").endswith("%")
        name = option.name.replace("_bytes", "_ratio") if percent else option.name
        value = option.value.rstrip("%") if option.value is not None else None
        yield Setting(SYSCTL, f"vm/{name}", value, option.path, option.line, option.name, True,
                      "the vm plugin of TuneD is not ordered against the files of /etc/sysctl.d that TuneD sets again")


def _cpu_value(host: Host, option: Option) -> str | None:
    if option.value is None:
        return None
    if option.name == "no_turbo":
        return "1" if option.value.lower() in _ON else "0"
    choices = [choice.strip() for choice in option.value.split("|")]
    if len(choices) == 1:
        return choices[0]
    if option.name != "governor":
        return None
    offered = (host.read(f"{_CPUFREQ.replace('*', '0')}/scaling_available_governors").value or "").split()
    return next((choice for choice in choices if choice in offered), None)


def _script(host: Host, option: Option) -> Iterator[Setting]:
    folder = option.path.rpartition("/")[0]
    text = option.text.replace("${i:PROFILE_DIR}", folder)
    path = text if text.startswith("/") else f"{folder}/{text}"
    why = "it is a script of TuneD's profile, which is not ordered against gpuhost-boot"
    for write in read_script(host, path):
        kind_and_name = named_by_path(write.target) if write.kind is None else (write.kind, write.target)
        if kind_and_name is not None:
            yield Setting(*kind_and_name, write.value, path, write.line, write.target, True, why)
