# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Describe a machine in one line, from its facts."""
from __future__ import annotations

from collections import Counter
from typing import Any

from .._checks.findings import value
from .._derive.memory import gpu_memory_kib
from .._derive.not_recorded import Gap, recorded, with_gaps
from .._render.text import binary_size, clean, count

_KINDS = {"vm": "a virtual machine", "container": "a container", "unknown": "a machine of unknown kind"}


def describe(facts: dict[str, Any]) -> list[str]:
    """The parts of the line: processors, memory, GPUs, kernel, Proxmox VE, kind of machine unless bare metal."""
    unseen = value(facts.get("pcie", {}).get("functions", {"status": "ok", "value": 0})) is None
    gpus = value(facts["gpus"])
    parts = [_processors(facts["cpu"]), _memory(facts), "GPUs not read" if unseen or gpus is None else _gpus(gpus),
             f"kernel {value(facts['kernel']['release'], 'unknown')}"]
    if value(facts["identity"]["proxmox"]["installed"]):
        parts.append(f"Proxmox VE {value(facts['identity']['proxmox']['version'], '')}".strip())
    kind = _KINDS.get(value(facts["identity"]["kind"], "unknown"))
    if kind:
        technology = value(facts["identity"]["technology"])
        parts.append(kind + (f" ({technology})" if technology else ""))
    return [clean(part) for part in parts if part]


def _processors(cpu: dict[str, Any]) -> str:
    name = value(cpu["model_name"]) or value(cpu["vendor"]) or "unknown processor"
    name = name.replace("(R)", "").replace("(TM)", "")
    name = " ".join(name.replace("-Core Processor", " cores").split())
    # With several kinds of cores the kernel may count each cluster as a package.
    sockets = 1 if value(cpu.get("kinds")) else value(cpu["sockets"]) or 1
    logical = value(cpu["logical"])
    cpus = "CPUs not counted" if logical is None else count(logical, "CPU")
    return f"{f'{sockets} x ' if sockets > 1 else ''}{name}, {cpus}"


def _memory(facts: dict[str, Any]) -> str:
    """`468 GiB memory and 96 GiB of GPUs` if Linux counts GPU memory as its own, else the memory of CPU-less nodes."""
    total = value(facts["memory"]["total_kib"])
    if total is None:
        return ""
    nodes = value(facts.get("numa", {}).get("nodes"), [])
    of_gpus = _of_gpus(facts) if nodes else 0
    if of_gpus is None:
        return f"{_size(total)} memory"
    text = f"{_size(total - of_gpus)} memory"
    if of_gpus:
        return f"{text} and {_size(of_gpus)} of GPUs"
    without_cpus = sum(value(node["memory_kib"]) or 0 for node in nodes
                       if value(node["cpus"]) == "" and any(value(other["cpus"]) for other in nodes))
    return f"{text}, {_size(without_cpus)} of it on nodes without CPUs" if without_cpus else text


def _of_gpus(facts: dict[str, Any]) -> int | None:
    """KiB of MemTotal that belong to GPUs; None if a recording does not have it."""
    found = recorded(lambda: gpu_memory_kib(with_gaps(facts)))
    return None if isinstance(found, Gap) else found


def _size(kib: int) -> str:
    return binary_size(max(kib, 0) * 1024)


def _gpus(gpus: list[dict[str, Any]]) -> str:
    """GPU models with counts; a virtual function is a share of a GPU that is counted already."""
    whole = [gpu for gpu in gpus if not value(gpu["virtual_function"])]
    if not whole:
        return "no GPU"
    models = Counter(gpu_name(gpu) for gpu in whole)
    shares = len(gpus) - len(whole)
    named = [f"{number} x {model}" for model, number in models.most_common()]
    return ", ".join(named + ([f"{count(shares, 'virtual function')} of them"] if shares else []))


def gpu_name(gpu: dict[str, Any]) -> str:
    """The model, or vendor and device ID if the model is unknown."""
    return value(gpu["model"]) or f"{value(gpu['vendor'], 'unknown')}:{value(gpu['device'], 'unknown')}"
