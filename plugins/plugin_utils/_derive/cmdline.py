# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kernel command line: parameters without effect, and configured parameters that are not active yet."""
from __future__ import annotations

import difflib
from typing import Any

from .reading import hidden, known, lost, value

# Parameters that concern the boot's appearance or find the root file system: not tuning.
_OF_THE_BOOT = ("root", "rootflags", "rootfstype", "boot", "ro", "rw", "quiet", "splash", "resume", "BOOT_IMAGE",
                "initrd", "vt.handoff")
# Accepted values (drivers/cpufreq/amd-pstate.c, kernel/sched/core.c, mm/huge_memory.c); others are ignored.
_CHOICES = {
    "amd_pstate": ("disable", "passive", "active", "guided"),
    "numa_balancing": ("enable", "disable"),
    "transparent_hugepage": ("always", "madvise", "never"),
}
_OF_ONE_VENDOR = {
    "GenuineIntel": ("amd_iommu", "amd_pstate"),
    "AuthenticAMD": ("intel_iommu", "intel_pstate", "intel_idle.max_cstate"),
}
# Parameters of which only the last one counts.
_SINGLE = (*_CHOICES, "intel_pstate", "mitigations", "clocksource", "tsc", "nmi_watchdog", "iommu.passthrough",
           "pcie_aspm", "processor.max_cstate", "intel_idle.max_cstate", "cpufreq.default_governor",
           "default_hugepagesz")
_NAMES = (*_SINGLE, "iommu", "amd_iommu", "intel_iommu", "isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity",
          "hugepages", "hugepagesz", "pci", "nosmt", "idle")
# drivers/iommu/amd/init.c parse_amd_iommu_options(), drivers/pci/pci.c pci_setup()
_NO_OPTION = {
    ("amd_iommu", "on"): "not an option of it: the IOMMU of AMD processors is on by default",
    ("iommu", "on"): "not an option of it: the IOMMU is on by default, on Intel with intel_iommu=on",
    ("amd_iommu", "pt"): "not an option of it: for passthrough mode use iommu=pt",
    ("intel_iommu", "pt"): "not an option of it: for passthrough mode use iommu=pt",
    ("pci", "noacs"): "not an option of it: use pci=disable_acs_redir= or pci=config_acs= with ports",
}


# Guides for all platforms recommend them; the IOMMU they enable is on already, or is another vendor's.
_HARMLESS = ("amd_iommu=on", "iommu=on", "intel_iommu=on")


def ignored_parameters(facts: dict[str, Any]) -> dict[str, Any]:
    """A reading of `[{parameter, why, harmless}]`: parameters of the running command line that do nothing, or not what
    they seem to do. One is harmless if its intended effect is there anyway.

    Excludes parameters meant for user space and those that the kernel wrongly reports as unknown: options that
    arch/x86/kernel/cpu/bugs.c reads with cmdline_find_option(), such as spectre_v2=, do have an effect.
    """
    kernel = facts["kernel"]
    status = hidden((kernel["cmdline"], kernel["unknown_parameters"]))
    if status or kernel["cmdline"]["status"] == "absent":
        return lost(status or "absent")
    found: dict[str, str] = {}
    for entry in kernel["parameters"]:
        name, message = entry["name"].replace("-", "_"), entry["value"]
        why = _no_effect(name, message, facts["cpu"]["vendor"]) or _of_x86_alone(name, message, facts["cpu"])
        if why:
            found.setdefault(entry["name"] if message is None else f"{entry['name']}={message}", why)
    found.update(_overruled(kernel["parameters"]))
    for word in value(kernel["unknown_parameters"]) or []:
        why = _unknown(word)
        if why and not any(word.startswith(f"{seen},") or word == seen for seen in found):
            found.setdefault(word, why)
    return known([{"parameter": parameter, "why": why, "harmless": parameter in _HARMLESS}
                  for parameter, why in found.items()])


def _no_effect(name: str, message: str | None, vendor: str | None) -> str | None:
    if name in _OF_ONE_VENDOR.get(vendor or "", ()):
        return "for processors of another vendor"
    for option in (message or "").split(","):
        if (name, option) in _NO_OPTION:
            return _NO_OPTION[name, option]
    if name in _CHOICES and message not in _CHOICES[name]:
        return f"it only accepts {', '.join(_CHOICES[name])}"
    if name == "elevator":
        return "no effect since Linux 5.4: each block device has its own scheduler (/sys/block/*/queue/scheduler)"
    if (name, message) == ("intel_idle.max_cstate", "0"):
        return "it disables the driver intel_idle, not the idle states: acpi_idle then uses those of the firmware"
    return None


def _of_x86_alone(name: str, message: str | None, cpu: dict[str, Any]) -> str | None:
    """Why a parameter is unknown to this kernel, if it is x86 only. Only x86 names a vendor in /proc/cpuinfo."""
    if name != "iommu" or cpu["vendor"] is not None or cpu["model_name"] is None:
        return None
    instead = {"pt": "1", "nopt": "0"}.get(message or "")
    return "a parameter for x86 only" + (f": here it is iommu.passthrough={instead}" if instead else "")


def _overruled(parameters: list[dict[str, Any]]) -> dict[str, str]:
    """Parameters that are overridden by a later or a stronger one."""
    found, last = {}, {entry["name"]: entry["value"] for entry in parameters}
    for entry in parameters:
        name, message = entry["name"], entry["value"]
        if name in _SINGLE and message != last[name]:
            found[f"{name}={message}"] = f"{name}={last[name]} overrides it"
    off = next((f"{name}=off" for name in ("iommu", "amd_iommu", "intel_iommu") if last.get(name) == "off"), None)
    if off and any((entry["name"], entry["value"]) == ("iommu", "pt") for entry in parameters):
        found["iommu=pt"] = f"passthrough mode needs an IOMMU, which is disabled by {off}"
    return found


def _unknown(word: str) -> str | None:
    """Why a word is a mistake that the kernel does not know; None if it may be meant for user space."""
    name = word.partition("=")[0]
    if name in ("amd_iommu", "intel_iommu", "pci"):
        return "the kernel reports an unknown option"
    if name == "pcie_acs_override":
        return "this kernel does not have the patch for it"
    near = difflib.get_close_matches(name.replace("-", "_"), _NAMES, 1, 0.85)
    if near and near[0] != name.replace("-", "_"):
        return f"not a kernel parameter; did you mean {near[0]}?"
    return None


def configured(facts: dict[str, Any], loader: str | None) -> dict[str, Any]:
    """Parameters that are configured but not active: `{waiting, elsewhere, says}`.

    `waiting` are in the file that this boot loader reads, for the next boot; `elsewhere` in that of another loader.
    """
    grub = ("/etc/default/grub", facts["boot"]["grub"]["cmdline"])
    entry = ("/etc/kernel/cmdline", facts["boot"]["cmdline_file"])
    own, other = (grub, entry) if loader == "GRUB" else (entry, grub)
    status = hidden((facts["kernel"]["cmdline"], own[1], other[1]))
    if status:
        return lost(status)
    running = {_folded(entry["name"], entry["value"]) for entry in facts["kernel"]["parameters"]}
    waiting = _missing(value(own[1]), running)
    elsewhere = [word for word in _missing(value(other[1]), running) if word not in waiting]
    if own[1]["status"] == "absent" and not elsewhere:
        return lost("absent")       # a missing file does not tell what is configured
    says = ([f"{' '.join(waiting)} in {own[0]} takes effect at the next boot"] if waiting else []) + (
        [f"{' '.join(elsewhere)} in {other[0]} is never used"] if elsewhere else [])
    return known({"waiting": waiting, "elsewhere": elsewhere, "says": "; ".join(says)})


def _missing(line: str | None, running: set[str]) -> list[str]:
    """The words of a configured line that the running one lacks, without those that a shell would expand."""
    words = [word for word in (line or "").split() if not set(word) & set("$`\"'\\")]
    return [word for word in dict.fromkeys(words) if word.partition("=")[0] not in _OF_THE_BOOT
            and _folded(*_cut(word)) not in running]


def _cut(word: str) -> tuple[str, str | None]:
    name, equals, message = word.partition("=")
    return name, message if equals else None


def _folded(name: str, message: str | None) -> str:
    return name.replace("-", "_") if message is None else f"{name.replace('-', '_')}={message}"


def pci_options(kernel: dict[str, Any]) -> list[str]:
    """The options of all `pci=` parameters, split like pci_setup() in drivers/pci/pci.c."""
    return [option for entry in kernel["parameters"] if entry["name"] == "pci" and entry["value"]
            for option in entry["value"].split(",")]
