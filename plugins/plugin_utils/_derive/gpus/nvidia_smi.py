# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values derived from nvidia-smi's output for one GPU: slowdowns, memory errors, pending changes."""
from __future__ import annotations

from typing import Any

from ..not_recorded import recorded, settle, whole

# nvmlClocksEventReason* of nvml.h. The power cap and idle clocks are normal operation.
_SLOWDOWNS = {
    "hw_thermal_slowdown": "thermal: the hardware halves the clocks or more",
    "hw_power_brake_slowdown": "power brake: requested by a power supply or the chassis",
    "sw_thermal_slowdown": "thermal: the driver lowers the clocks to limit the temperature",
    "hw_slowdown": "the hardware halves the clocks or more: temperature, power brake or low supply voltage",
}
_MODES = {"mig": "MIG", "ecc": "ECC"}
_REPAIRS = {"channel": "the repair of a memory channel is pending until a reset",
            "tpc": "the repair of a TPC is pending until a reset"}


def smi_facts(gpu: dict[str, Any], smi: dict[str, Any], idle: bool | None) -> dict[str, Any]:
    """The derived values of one GPU that come from nvidia-smi; None if it did not answer or the GPU lacks the feature.
    """
    answer = recorded(lambda: _answer(gpu["bdf"], smi))
    seen = recorded(lambda: answer["value"])
    slowdowns = recorded(lambda: seen and _slowdowns(seen["clock_reasons"], whole(idle)))
    return settle({
        "nvidia_smi": lambda: whole(answer),
        "slowdowns": lambda: whole(slowdowns),
        "slowdowns_in_words": lambda: "; ".join(_SLOWDOWNS[name] for name in slowdowns) if slowdowns else None,
        "memory_troubles": lambda: seen and _memory_troubles(seen),
        "pending_modes": lambda: seen and _pending_modes(seen),
        "recovery": lambda: seen and _recovery(seen),
    })


def _answer(bdf: str, smi: dict[str, Any]) -> dict[str, Any]:
    """A reading; if it is not ok, its status is the reason in words."""
    seen = next((one for one in smi["gpus"] if one["bdf"] == bdf), None)
    if seen is not None:
        return {"status": "ok", "value": seen}
    if smi["state"] == "ok":
        return {"status": "nvidia-smi does not list this GPU", "value": None}
    return {"status": f"nvidia-smi: {smi['reason'] or smi['state']}", "value": None}


def _slowdowns(reasons: list[str] | None, idle: bool | None) -> list[str] | None:
    """The names of abnormal reasons for reduced clocks.

    hw_slowdown combines two more specific reasons; alone it counts only under load, because old GPUs set it when idle.
    """
    if reasons is None:
        return None
    found = [name for name in _SLOWDOWNS if name in reasons and name != "hw_slowdown"]
    if "hw_slowdown" in reasons and not found and idle is False:
        found.append("hw_slowdown")
    return found


def _memory_troubles(seen: dict[str, Any]) -> list[str] | None:
    told = [seen[key] for key in ("ecc_errors", "pages_pending", "rows_pending", "rows_failed")]
    if all(answer is None for answer in told) and not seen["repairs_pending"]:
        return None
    errors, pages, rows, failed = told
    found = [f"{errors} uncorrectable ECC errors since the driver was loaded"] if errors else []
    found += ["a row of memory could not be remapped"] if failed else []
    found += ["remapping of a memory row is pending until a reset"] if rows else []
    found += ["retirement of memory pages is pending until a reset"] if pages else []
    return found + [_REPAIRS[name] for name in seen["repairs_pending"] or []]


def _pending_modes(seen: dict[str, Any]) -> list[str] | None:
    """Modes that a reset would change; None for a GPU with neither."""
    known = [(name, seen[key], seen[f"{key}_pending"]) for key, name in _MODES.items() if seen[key] is not None]
    if not known:
        return None
    return [f"{name} is {now} and will be {then} after a reset" for name, now, then in known if then not in (None, now)]


def _recovery(seen: dict[str, Any]) -> str | None:
    """The recovery action that the driver asks for; the string `None` (nvidia-smi's) if nothing is wrong."""
    return seen["trouble"] or seen["recovery_action"]
