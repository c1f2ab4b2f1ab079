# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Idle states with a long exit latency, and their switches; CPUs of one host may have different state tables."""
from __future__ import annotations

from typing import Any

from ...module_utils._kernel.cpulist import parse_cpulist

_DEEP_US = 100      # the limit of AMD's guide for low-latency networking; its C2 exceeds it
_CPU = "/sys/devices/system/cpu"


def deep_states(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states with an exit latency above 100 us, each with `subject`, `files` and `persist`.

    If the tables differ, state numbers are ambiguous: state1 of a large core may not be that of a small one. Then the
    subject has the state's name, and the switches are those of its own CPUs.
    """
    everybody = {cpu for state in states for cpu in parse_cpulist(state["cpus"])}
    numbers = [state["state"] for state in states]
    found = []
    for state in states:
        if state["latency_us"] is None or state["latency_us"] <= _DEEP_US:
            continue
        cpus = parse_cpulist(state["cpus"])
        alone = set(cpus) == everybody or numbers.count(state["state"]) == 1
        folders = ["cpu*"] if alone else [f"cpu{cpu}" for cpu in cpus]
        files = [f"{_CPU}/{folder}/cpuidle/{state['state']}/disable" for folder in folders]
        subject = state["state"] if alone else f"{state['state']} ({state['name']}, {state['latency_us']} us)"
        found.append({**state, "subject": subject, "files": " ".join(files),
                      "persist": "\n".join(f"w {file} - - - - 1" for file in files)})
    return found
