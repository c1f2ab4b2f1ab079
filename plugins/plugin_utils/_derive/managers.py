# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Settings that something else sets as well: sysctl files at boot, and tuning services."""
from __future__ import annotations

import posixpath
import re
from typing import Any

from ...module_utils._boot_order.tuned_main import is_excluded
from .reading import value

OWN_FILE = "/etc/sysctl.d/90-local.conf"       # for settings made by hand
_PERSISTED = "/etc/sysctl.d/90-gpuhost.conf"    # written by persist.yml only

# Checked settings that each service sets. A service that only acts at boot counts as active if it is enabled.
_TUNERS = {
    "tuned": "governors, sysctls and huge pages according to its profile",
    "power-profiles-daemon": "the energy preference, and on some machines boost",
    "tlp": "governors, the energy preference, boost and the power management of devices",
    "auto-cpufreq": "governors, the energy preference and boost",
    "cpufrequtils": "governors and frequency limits",
    "cpupower": "governors and frequency limits",
    "ondemand": "governors",
    "numad": "the NUMA nodes of processes and their memory",
    "saptune": "sysctls, huge pages, governors and the energy preference according to its notes and solution",
    "sapconf": "sysctls, huge pages, governors and the energy preference according to its profile",
    "laptop-mode": "writeback of dirty pages, governors and the power management of devices",
    "powertop": "the power management of devices, and the watchdog of the kernel",
}
# What one can do instead of disabling the service.
_OWN_CHOICE = "Either put the wanted values into its own configuration, or leave the host to one manager."
_CHOICES = {
    "tuned": "Either put the wanted values into a profile of its own, or leave the host to one manager. What its "
             "profile writes to sysfs stays; sysctls of the profile do not where a file of /etc/sysctl.d or "
             "/etc/sysctl.conf sets them, for TuneD sets these files again after it, unless reapply_sysctl or "
             "reapply_sysctl_exclude says otherwise.",
    "power-profiles-daemon": "Either let it set what it can (powerprofilesctl set performance; its profiles cannot be "
                             "changed), or leave the host to one manager.",
}
_ACT_ONCE = ("tlp", "cpufrequtils", "cpupower", "ondemand", "saptune", "sapconf", "laptop-mode", "powertop")
# tuned reapplies sysctl files in these directories after its profile, but none in /usr.
_REAPPLIED = ("/etc/", "/run/")
_TUNED_REAPPLIES = ("governors, huge pages and other sysfs files according to its profile, and sysctls that no file "
                    "in /etc/sysctl.d sets")

# The running value is not the written one: the kernel, or whatever starts guests, adds to it.
_ADDED_TO = ("vm.nr_hugepages", "vm.min_free_kbytes")
_PAIRS = {"vm.dirty_ratio": "vm.dirty_bytes", "vm.dirty_background_ratio": "vm.dirty_background_bytes"}
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")
_ALIAS = {**_PAIRS, **{alias: ratio for ratio, alias in _PAIRS.items()}}


def boot_sysctls(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Every key that a file sets at boot, with that value and the running one: `{key, value, runs, file, line}`.

    Both values are cut to the words of the shorter one: the kernel takes no more, and keeps those it is not given.
    Left out are keys that this kernel lacks, keys to which the kernel adds, keys whose ratio/bytes alias a later line
    sets, and the watchdog of a virtual machine, which may lack the counter it needs.
    """
    settings = value(facts["managers"]["sysctl"]["settings"]) or []
    found = []
    for place, setting in enumerate(settings):
        key, wanted = setting["key"], setting["value"]
        runs = value(facts["sysctl"][key])
        later = {other["key"] for other in settings[place + 1:] if other["value"] != "0"}
        if (runs is None or tuned_decides(facts, setting) or _ALIAS.get(key) in later
                or _tells_nothing(key, wanted, facts["identity"]["kind"])):
            continue
        pairs = list(zip(_words(wanted), _words(runs)))
        found.append({"key": key, "value": " ".join(word for word, _now in pairs),
                      "runs": " ".join(now for _word, now in pairs), "file": setting["file"], "line": setting["line"]})
    return found


def _words(text: str) -> list[str]:
    """The words, hexadecimal numbers converted to decimal, as the kernel prints them."""
    return [str(int(word, 16)) if _HEXADECIMAL.fullmatch(word) else word for word in text.split()]


def _tells_nothing(key: str, wanted: str, kind: str) -> bool:
    if key == "kernel.nmi_watchdog":
        return kind != "bare_metal"
    # Writing 0 to the bytes alias is an error and changes nothing (dirty_bytes_handler() in mm/page-writeback.c).
    return key in _ADDED_TO or (key in _PAIRS.values() and wanted == "0")


def sysctl_places(facts: dict[str, Any]) -> dict[str, str]:
    """For every sysctl of the facts, a comment that says which file to persist it in, given what sets it now."""
    settings = {setting["key"]: setting for setting in value(facts["managers"]["sysctl"]["settings"]) or []}
    return {key: _place(settings.get(key)) for key in facts["sysctl"]}


def _place(setting: dict[str, Any] | None) -> str:
    if setting is None:
        return f"# {OWN_FILE}"
    where = f"{setting['file']}, line {setting['line']}"
    if setting["file"] == _PERSISTED:
        return f"# {where}, sets {setting['value']} now: persist.yml wrote it, and replaces it"
    if setting["file"] == OWN_FILE:
        return f"# {where}, sets {setting['value']} now: change it there"
    if posixpath.basename(setting["file"]) < posixpath.basename(OWN_FILE) and "sysctl.d/" in setting["file"]:
        return f"# {OWN_FILE}, read after {where}, which sets {setting['value']}"
    return f"# {where}, sets {setting['value']} and is read after {OWN_FILE}: change it there"


def tuning_services(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The installed services that set something checked here: `{service, active, state, sets, choice}`."""
    return [{"service": service["service"], "active": _active(service), "state": _state(service, facts),
             "sets": _sets(service["service"], facts), "choice": _CHOICES.get(service["service"], _OWN_CHOICE)}
            for service in facts["managers"]["services"]
            if service["installed"] and service["service"] in _TUNERS]


def _sets(name: str, facts: dict[str, Any]) -> str:
    reapplies = name == "tuned" and value(facts["managers"]["tuned_reapplies"])
    return _TUNED_REAPPLIES if reapplies else _TUNERS[name]


def tuned_decides(facts: dict[str, Any], setting: dict[str, Any]) -> bool:
    """Whether tuned is running and its profile may have set a key after that file did."""
    runs = any(service["service"] == "tuned" and service["running"] for service in facts["managers"]["services"])
    again = (value(facts["managers"]["tuned_reapplies"]) and setting["file"].startswith(_REAPPLIED)
             and not is_excluded(facts["managers"]["tuned_excludes"], setting["key"].replace(".", "/")))
    return runs and not again


def _active(service: dict[str, Any]) -> bool:
    if service["running"]:
        return True
    unseen = service["running"] is None or service["service"] in _ACT_ONCE
    return unseen and service["enabled"] and not service["masked"]


def _state(service: dict[str, Any], facts: dict[str, Any]) -> str:
    name = service["service"]
    profile = value(facts["managers"]["tuned_profile"]) if name == "tuned" else None
    with_profile = f" with the profile {profile}" if profile else ""
    if service["running"]:
        return f"{name} runs{with_profile}"
    if _active(service):
        return f"{name} is enabled at boot{with_profile}"
    return f"{name} is installed but not running"
