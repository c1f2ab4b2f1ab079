# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Memory error rates, and firmware settings as far as Linux can see them."""
from __future__ import annotations

from typing import Any

from .numa import numa
from .reading import hidden, known, lost, value

_DAY = 86400
# BIOS settings that Linux does not show, by the vendor of the processor and for any.
_UNSEEN = {"AuthenticAMD": ("determinism", "cTDP and PPT", "APBDIS and fabric C-states", "xGMI width and speed",
                            "preferred IO", "10-bit tags"),
           "GenuineIntel": ("power limits", "UPI link power management", "hardware prefetchers")}
_UNSEEN_OF_OTHERS, _UNSEEN_OF_ALL = ("power limits",), ("bifurcation", "fans")


def memory_errors(ras: dict[str, Any]) -> dict[str, Any]:
    """Readings: counted uncorrectable errors, the highest rate of correctable ones per day, and their location.

    The time is at least a day: three errors in the first hour are not a rate of 72 a day.
    """
    controllers = ras["controllers"]
    counters = [one[name] for one in value(controllers) or [] for name in ("correctable", "uncorrectable", "seconds")]
    status = controllers["status"] if controllers["status"] != "ok" else hidden(counters)
    if status:
        return {"uncorrectable": lost(status), "a_day": lost(status), "where": None}
    rates = {name: count / max(1.0, (value(one["seconds"]) or 0) / _DAY)
             for one in controllers["value"] for name, count in _counted(one)}
    worst = max(rates, key=lambda name: rates[name], default=None)
    return {"uncorrectable": known(sum(value(one["uncorrectable"]) or 0 for one in controllers["value"])),
            "a_day": known(round(rates[worst], 1) if worst else 0.0),
            "where": worst if worst and rates[worst] else None}


def _counted(controller: dict[str, Any]) -> list[tuple[str, int]]:
    """Correctable errors by module; of the whole controller if no module counted any."""
    modules = [(module["module"], module["correctable"]) for module in controller["modules"] if module["correctable"]]
    return modules or [(controller["controller"], value(controller["correctable"]) or 0)]


def firmware_settings(facts: dict[str, Any]) -> dict[str, Any]:
    """BIOS settings as seen by Linux: `{hinders, seen, unseen}`; only the BMC or Redfish knows those in `unseen`."""
    cpu, frequency = facts["cpu"], facts["cpu"]["frequency"]
    hidden_cppc = cpu["flags"]["cppc"] and not cpu["acpi_cppc"]
    deepest = max((state for state in cpu["idle"]["states"] if state["latency_us"] is not None),
                  key=lambda state: state["latency_us"], default=None)
    per_socket = value(numa(facts["numa"]["nodes"], cpu)["per_socket"])
    starts = [region["start"] for gpu in facts["gpus"] for region in value(gpu["bars"]) or [] if region["size"]]
    seen = [
        f"SMT {value(cpu['smt']['control']) or 'unknown'}",
        f"nodes per socket {_shown(per_socket)}",
        f"IOMMU {_shown_iommu(value(facts['iommu']['active']))}",
        f"CPPC {'on' if cpu['acpi_cppc'] else 'off' if hidden_cppc else 'unknown'}",
        f"boost {_switch(frequency)}",
        f"deepest idle state {deepest['name'] if deepest else 'unknown'}",
        f"BARs above 4 GiB {_shown(any(start >= 1 << 32 for start in starts) if starts else None)}",
        f"Secure Boot {_shown(value(facts['boot']['secure_boot']))}",
    ]
    hinders = known(["CPPC is off: the processor supports it but the firmware does not provide it (_CPC)"]
                    if hidden_cppc else [])
    # Without the CPU directories in sysfs a processor with CPPC cannot be told from one without.
    told = any(not entry.endswith("unknown") for entry in seen) and (not hidden_cppc or cpu["online"] is not None)
    return {"hinders": hinders if told and (cpu["vendor"] or cpu["model_name"]) else lost("absent"),
            "seen": ", ".join(seen),
            "unseen": ", ".join((*_UNSEEN.get(cpu["vendor"], _UNSEEN_OF_OTHERS), *_UNSEEN_OF_ALL))}


def _shown_iommu(active: bool | None) -> str:
    return "unknown" if active is None else "on" if active else "off, or disabled at boot"


def _switch(frequency: dict[str, Any]) -> str:
    boost, no_turbo = value(frequency["boost"]), value(frequency["no_turbo"])
    if boost is None and no_turbo is None:
        return "unknown"
    return "on according to the kernel" if boost == 1 or no_turbo == 0 else "off"


def _shown(seen: int | bool | None) -> str:
    return "unknown" if seen is None else str(seen) if not isinstance(seen, bool) else "yes" if seen else "no"
