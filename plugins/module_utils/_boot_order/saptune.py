# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values that saptune sets at boot: the applied notes with their overrides; also sapconf's file.

Sources: saptune 3, man 8 saptune, man 5 saptune-note; ospackage/svc/saptune.service (after systemd-sysctl and TuneD);
sapconf, man 5 sapconf.
"""
from __future__ import annotations

from collections.abc import Iterator

from .._host.host import Host
from .._kernel.services import read_services
from .key_values import Line, read_lines
from .setting import EVERY, SYSCTL, SYSFS, Setting
from .sysctl_files import with_slashes

CONFIG = "/etc/sysconfig/saptune"
_NOTE_FOLDERS = ("/etc/saptune/extra", "/var/lib/saptune/working/notes")
_OVERRIDES = "/etc/saptune/override"
_WHY = "saptune is started after systemd-sysctl and is not ordered against gpuhost-boot"
_GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_MM = "/sys/kernel/mm"
_NONE = Line("", CONFIG, 0)


def settings(host: Host) -> Iterator[Setting]:
    started = {service["service"] for service in read_services(host, ("saptune", "sapconf"))
               if service["installed"] and service["enabled"] and not service["masked"]}
    if "saptune" in started:
        for note in read_lines(host, (CONFIG,)).get("NOTE_APPLY_ORDER", _NONE).value.split():
            yield from _of_note(host, note)
    if "sapconf" in started:
        # Its file uses its own names for some of its settings.
        why = "sapconf is enabled at boot, and its file has names of its own for what it sets"
        for kind, name in ((SYSCTL, EVERY), (SYSFS, _GOVERNOR), (SYSFS, f"{_MM}/transparent_hugepage/enabled"),
                           (SYSFS, f"{_MM}/ksm/run")):
            yield Setting(kind, name, None, "/etc/sysconfig/sapconf", 0, "sapconf", True, why)


def _of_note(host: Host, note: str) -> Iterator[Setting]:
    """Yield the note's lines, each replaced by the override's line for the same key."""
    paths = [path for folder in _NOTE_FOLDERS for path in (f"{folder}/{note}.conf", f"{folder}/{note}")
             if host.exists(path)]
    found: dict[tuple[str, str], Setting] = {}
    for path in (*paths[:1], f"{_OVERRIDES}/{note}"):
        section = ""
        for number, line in enumerate((host.read(path).value or "").splitlines(), 1):
            line = line.strip()
            if line.startswith("["):
                section = line.strip("[]").partition(":")[0]
                continue
            key, equals, value = (part.strip() for part in line.partition("="))
            named = _named(section, key) if equals and not line.startswith("#") else None
            if named is not None:
                found[named] = Setting(*named, value.strip('"') or None, path, number, key, bool(value), _WHY)
    yield from found.values()


def _named(section: str, key: str) -> tuple[str, str] | None:
    if section == "sysctl":
        return SYSCTL, with_slashes(key)
    if section == "sys":
        return SYSFS, "/sys/" + key.replace(".", "/")
    fixed = {("vm", "THP"): f"{_MM}/transparent_hugepage/enabled", ("vm", "KSM"): f"{_MM}/ksm/run",
             ("cpu", "governor"): _GOVERNOR,
             ("cpu", "force_latency"): "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable"}.get((section, key))
    return None if fixed is None else (SYSFS, fixed)
