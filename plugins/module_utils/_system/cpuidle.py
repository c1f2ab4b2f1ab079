# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Idle states of the CPUs, grouped: 256 CPUs with the same three states give three entries, not 768.

Documentation/admin-guide/pm/cpuidle.rst; latency and residency in microseconds.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from .._host.host import Host
from .._host.reading import ABSENT, UNPARSABLE, Reading, from_error, known, ok
from .._kernel.cpulist import format_cpulist

CPU = "/sys/devices/system/cpu"
LATENCY_REQUEST = "/dev/cpu_dma_latency"

_STATE = re.compile(r"state\d{1,3}")


class IdleState(NamedTuple):
    state: str
    name: str
    description: str
    latency_us: int | None
    residency_us: int | None
    disabled_by_default: bool | None    # None before kernel 5.9, without `default_status`


def read_idle(host: Host, cpus: Iterable[int]) -> dict:
    """Read `idle` of the facts' section `cpu` for the online CPUs; a virtual machine often has no states."""
    return {
        "driver": host.read(f"{CPU}/cpuidle/current_driver"),
        "governor": read_governor(host),
        "latency_request_us": read_latency_request(host),
        "states": known(lambda: read_states(host, cpus)),
    }


def read_governor(host: Host) -> Reading:
    """Read the idle governor; the file's name depends on the kernel's version and on a kernel parameter."""
    governor = host.read(f"{CPU}/cpuidle/current_governor")
    return governor if governor.status != ABSENT else host.read(f"{CPU}/cpuidle/current_governor_ro")


def read_latency_request(host: Host) -> Reading:
    """Read the wake-up latency limit of all CPUs in microseconds; 2000000000 if no program requests one.

    Documentation/power/pm_qos_interface.rst: a request lasts as long as a program holds /dev/cpu_dma_latency open.
    States with a longer latency are not entered, even if enabled. A read returns four bytes in native byte order.
    """
    try:
        data = host.read_bytes(LATENCY_REQUEST, 4)
    except OSError as error:
        return from_error(error)
    return ok(int.from_bytes(data, sys.byteorder, signed=True)) if len(data) == 4 else Reading(
        UNPARSABLE, None, f"{len(data)} bytes instead of 4")


def read_states(host: Host, cpus: Iterable[int]) -> list[dict]:
    """Read the distinct states, each with the CPUs that have it and those on which it was disabled.

    A table of states is read in full once: CPUs with the same number of states and the same latency of the deepest one
    share the rest. Only the `disable` switches remain to be read, one per CPU and state.
    """
    known: dict[tuple[int, str | None], list[IdleState]] = {}
    having: dict[IdleState, list[int]] = {}
    disabled: dict[IdleState, list[int]] = {}
    for cpu in cpus:
        folder = f"{CPU}/cpu{cpu}/cpuidle"
        names = sorted(filter(_STATE.fullmatch, host.list(folder)), key=_number)
        if not names:
            continue
        table = (len(names), host.read(f"{folder}/{names[-1]}/latency").value)
        if table not in known:
            known[table] = [read_state(host, f"{folder}/{name}") for name in names]
        for state in known[table]:
            having.setdefault(state, []).append(cpu)
            switch = host.read_attributes(f"{folder}/{state.state}", ("disable",))["disable"]
            if switch.value not in ("0", None):
                disabled.setdefault(state, []).append(cpu)
    return [{**state._asdict(), "cpus": format_cpulist(having[state]),
             "disabled_cpus": format_cpulist(disabled.get(state, ()))}
            for state in sorted(having, key=lambda state: (_number(state.state), state.latency_us or 0))]


def read_state(host: Host, folder: str) -> IdleState:
    """Read one state of one CPU. `name` C2 is AMD's deep state, but a shallow one elsewhere: compare latencies."""
    default = host.read(f"{folder}/default_status").value
    return IdleState(
        state=folder.rpartition("/")[2],
        name=host.read(f"{folder}/name").value or "",
        description=host.read(f"{folder}/desc").value or "",
        latency_us=host.read_int(f"{folder}/latency").value,
        residency_us=host.read_int(f"{folder}/residency").value,
        disabled_by_default=None if default is None else default == "disabled")


def _number(state: str) -> int:
    return int(state[5:])
