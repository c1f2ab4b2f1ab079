# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Errors in the kernel log, in sentences and by subject."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..reading import value

_AMD = "1002"
_GPU_MODULES = ("nvidia", "amdgpu", "amdkfd")
_LOCKUPS = {"soft_lockup": "a CPU hung in {subject}", "hard_lockup": "CPU {subject} did not respond to interrupts",
            "hung_task": "task {subject} was blocked", "rcu_stall": "a CPU stalled the kernel (RCU)"}
_OF_AMDGPU = {"amdgpu_uncorrectable": "uncorrectable errors of memory or a cache",
              "amdgpu_reset": "it was reset because it hung", "amdgpu_init": "its initialisation failed"}
_LXC = re.compile(r"/lxc(?:\.payload)?[./]([^/.]+)")
_BEGINNING = 5.0    # seconds; the first line of a boot is at 0
FLOOD = 1.0         # corrected errors a second; a healthy link has a few a day


def log_reach(kernel: dict[str, Any]) -> str:
    """The part of the log that was searched, in words: after a long uptime its beginning is lost."""
    log = value(kernel["log"])
    if log is None or log["first_seconds"] is None:
        return "the kernel log, as far back as it reaches"
    first = log["first_seconds"]
    if first <= _BEGINNING:
        return "the kernel log of this boot"
    return f"the kernel log, which begins {_since_boot(first)} after boot: earlier messages are lost"


def _since_boot(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def iommu_faults(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`[{bdf, of_host, faults}]` for every GPU and every other device that the IOMMU blocked.

    `of_host`: the GPU is not given to a guest."""
    found = {gpu["bdf"]: {"bdf": gpu["bdf"], "of_host": gpu["derived"]["for_host"], "faults": []} for gpu in gpus}
    slots = {bdf.rpartition(".")[0]: bdf for bdf in found}
    for event in _events(facts, "iommu_fault"):
        subject = event["subject"]
        bdf = subject if subject in found else slots.get(subject.rpartition(".")[0], subject)
        entry = found.setdefault(bdf, {"bdf": bdf, "of_host": False, "faults": []})
        entry["faults"].append(f"{_counted(event)}: {event['text']}")
    return list(found.values())


def oom_kills(facts: dict[str, Any]) -> list[str]:
    """One sentence for the host and one for each control group that reached its limit."""
    return [f"{_whose(event)}: {_counted(event)}, first {event['detail']}"
            for event in _events(facts, "oom_host", "oom_cgroup")]


def _whose(event: dict[str, Any]) -> str:
    if event["kind"] == "oom_host":
        return "the host's memory"
    group = event["subject"]
    container = _LXC.search(group or "")
    return f"the limit of lxc:{container[1]}" if container else f"the limit of {group or 'a control group'}"


def lockups(facts: dict[str, Any]) -> dict[str, list[str]]:
    """`{gpu_driver, other}`: CPUs and tasks that hung, by the code they were in."""
    found: dict[str, list[str]] = {"gpu_driver": [], "other": []}
    for event in _events(facts, *_LOCKUPS):
        module = event["detail"]
        sentence = _LOCKUPS[event["kind"]].format(subject=event["subject"])
        own = module is not None and module.startswith(_GPU_MODULES)
        found["gpu_driver" if own else "other"].append(
            f"{sentence}{f' in {module}' if module else ''}: {_counted(event)}")
    return found


def amdgpu_errors(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """`[{bdf, errors}]` for every AMD GPU, and for addresses whose GPU is no longer there."""
    found = {gpu["bdf"]: [] for gpu in facts["gpus"] if gpu["vendor"] == _AMD}
    for event in _events(facts, *_OF_AMDGPU):
        found.setdefault(event["subject"], []).append(
            f"{_OF_AMDGPU[event['kind']]}, {_counted(event)}: {event['text']}")
    return [{"bdf": bdf, "errors": errors} for bdf, errors in found.items()]


def nvme_errors(facts: dict[str, Any]) -> list[str]:
    return [f"{event['subject']}, {_counted(event)}: {event['text']}" for event in _events(facts, "nvme")]


def mismatches(nvidia: dict[str, Any]) -> list[str]:
    """Version mismatches between parts of NVIDIA's driver in the log, unless the matching driver was loaded since."""
    loaded = value(nvidia["driver_version"])
    return [_mismatch(entry, loaded) for entry in value(nvidia["mismatches"]) or []
            if entry["client_version"] is None or entry["client_version"] != loaded]


def _mismatch(entry: dict[str, Any], loaded: str | None) -> str:
    who = "nvidia-modeset.ko" if entry["what"] == "modeset" else entry["client"] or "a program"
    if entry["client_version"] is None or entry["module_version"] is None:
        return entry["text"]
    when = "the loaded driver is" if entry["module_version"] == loaded else "the driver then was"
    return f"{who} is {entry['client_version']}, {when} {entry['module_version']}"


def resets_required(nvidia: dict[str, Any]) -> dict[str, list[str]]:
    """`{now, history}`: the lines in which the driver asks for a reset.

    If nvidia-smi reports for every GPU that no action is needed, a reset has happened since. A reboot that the unified
    memory driver asks for does not concern a single GPU: only a reboot settles it.
    """
    lines = value(nvidia["reset_required"]) or []
    if not lines:
        return {"now": [], "history": []}
    gpus = nvidia["smi"]["gpus"]
    well = bool(gpus) and all(gpu["recovery_action"] == "None" and not gpu["trouble"] for gpu in gpus)
    now = [line for line in lines if not well or "reboot" in line]
    return {"now": now, "history": [line for line in lines if line not in now]}


def corrected_errors(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`[{bdf, told, per_second, problems}]` of corrected PCIe errors: every GPU with the ports above it, and other
    devices that the log names.

    The rate is that of the counters since boot or that of the log, whichever is higher; `told` is whether there is one.
    If the kernel suppressed messages, there were more than ten in five seconds (DEFAULT_RATELIMIT_BURST).
    """
    uptime = value(facts["kernel"]["uptime_seconds"])
    ports = {port["bdf"]: port for port in facts["ports"]}
    logged = {event["subject"]: _rate(event) for event in _events(facts, "aer_corrected")}
    held_back = sum(event["count"] for event in _events(facts, "aer_limit"))
    found, seen = [], set()
    for gpu in gpus:
        chain = [gpu, *(ports[bdf] for bdf in gpu["path"] if bdf in ports)]
        seen |= {device["bdf"] for device in chain}
        rates = [(rate, f"{device['bdf']}, since boot") for device in chain
                 if (rate := _counted_rate(device, uptime)) is not None]
        rates += [(logged[device["bdf"]], f"{device['bdf']}, from the log") for device in chain
                  if device["bdf"] in logged]
        in_log = any(device["bdf"] in logged for device in chain)
        found.append(_corrected(gpu["bdf"], rates, held_back if in_log else 0))
    others = [_corrected(bdf, [(rate, f"{bdf}, from the log")], held_back)
              for bdf, rate in logged.items() if bdf not in seen]
    if held_back and not logged:
        others.append(_corrected("kernel_log", [], held_back))
    return found + others


def _corrected(bdf: str, rates: list[tuple[float, str]], held_back: int) -> dict[str, Any]:
    rate, where = max(rates, default=(None, None))
    problems = [f"{rate:.1f} corrected errors a second at {where}"] if rate is not None and rate > FLOOD else []
    if held_back:
        problems.append(f"the kernel suppressed {held_back} messages about them (rate limit)")
    return {"bdf": bdf, "told": bool(rates or held_back), "problems": problems,
            "per_second": None if rate is None else round(rate, 2)}


def _counted_rate(device: dict[str, Any], uptime: float | None) -> float | None:
    counters = value(device["aer"])
    return None if counters is None or not uptime else counters["correctable"] / uptime


def _rate(event: dict[str, Any]) -> float:
    """Lines a second between the first and the last one; fewer than ten give no rate."""
    first, last = event["first_seconds"], event["last_seconds"]
    if event["count"] < 10 or first is None or last is None:
        return 0.0
    return (event["count"] - 1) / max(last - first, 1.0)


def _events(facts: dict[str, Any], *kinds: str) -> Iterable[dict[str, Any]]:
    return [event for event in value(facts["ras"]["events"]) or [] if event["kind"] in kinds]


def _counted(event: dict[str, Any]) -> str:
    return "once" if event["count"] == 1 else f"{event['count']} times"
