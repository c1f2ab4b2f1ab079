# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""All facts of a host, each file read once. The shape is plugins/plugin_utils/schemas/facts.json."""
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from . import (
    _boot,
    _boot_loader,
    _cpu,
    _firmware,
    _gpus,
    _guests,
    _identity,
    _iommu,
    _managers,
    _memory,
    _network,
    _numa,
    _nvidia,
    _pve_cluster,
    _ras,
    _rdma,
    _sysctl,
)
from ._cpuinfo import read_cpuinfo
from ._device_users import read_users
from ._gpu_use import with_use
from ._guest_details import read_details
from ._host import Host
from ._kernel_log import read_lines
from ._named import read_named
from ._nvidia_libraries import find_processes
from ._reading import ASLEEP, DENIED, GONE, Reading, as_facts

SCHEMA = "gpuhost.facts/1"


def collect(host: Host, tunables: list[str], link_samples: int = 0) -> dict[str, Any]:
    """The facts as plain JSON types, with the tunables that were asked for by address.

    `link_samples`: how often the links of the GPUs are looked at beyond the first time.
    Nothing is opened for writing, and no suspended device is woken. ValueError: an address is none.
    """
    named = read_named(host, tunables)
    facts = _read_sections(host, link_samples)
    return as_facts({
        "schema": SCHEMA,
        "collected_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "privileged": os.geteuid() == 0,
        "unread": list(find_denied(facts)),
        **facts,
        "tunables": named,
    })


def _read_sections(host: Host, link_samples: int) -> dict[str, Any]:
    log = read_lines(host)
    cpuinfo = read_cpuinfo(host)
    firmware = _firmware.read(host)
    kernel = _boot.read(host, log)
    guests = _guests.read(host)
    rdma = _rdma.read(host)
    devices = _gpus.read(host, link_samples)
    own = [gpu for gpu in devices["gpus"] if gpu["vendor"] == _gpus.NVIDIA]
    users = read_users(host)
    nvidia = _nvidia.read(host, log, rdma=bool(rdma["devices"]), containers=find_processes(host, guests, users),
                          release=kernel["release"].value, present=bool(own),
                          gone=[gpu["bdf"] for gpu in own if gpu["state"] == GONE],
                          asleep=[gpu["bdf"] for gpu in own if gpu["state"] == ASLEEP])
    users = read_users(host)
    gpus = with_use(host, devices["gpus"], proc_gpus=nvidia["proc_gpus"], smi=nvidia["smi"], guests=guests,
                    users=users)
    return {
        "identity": _identity.read(host, cpuinfo, firmware),
        "kernel": kernel,
        "boot": _boot_loader.read(host),
        "cpu": _cpu.read(host, cpuinfo, kernel["release"], log),
        "numa": _numa.read(host),
        "memory": _memory.read(host, users),
        "sysctl": _sysctl.read(host),
        "managers": _managers.read(host),
        "network": _network.read(host),
        "gpus": gpus,
        "ports": devices["ports"],
        "pcie": devices["pcie"],
        "iommu": _iommu.read(host, gpus),
        "nvidia": nvidia,
        "rdma": rdma,
        "guests": {**guests, **read_details(host, guests)},
        "cluster": _pve_cluster.read(host, guests),
        "firmware": firmware,
        "ras": _ras.read(host, log),
    }


def find_denied(thing: Any, name: str = "") -> Iterator[dict[str, Any]]:
    """Every reading in `thing` that was denied, named as an expression would name it: `gpus[0].pcie`."""
    if isinstance(thing, Reading):
        if thing.status == DENIED:
            yield {"fact": name, "path": None, "why": thing.detail or "needs root"}
    elif isinstance(thing, dict):
        for key, value in thing.items():
            part = key if key.isidentifier() else f'"{key}"'
            yield from find_denied(value, f"{name}.{part}" if name else part)
    elif isinstance(thing, (list, tuple)):
        for position, value in enumerate(thing):
            yield from find_denied(value, f"{name}[{position}]")
