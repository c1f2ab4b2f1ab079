# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""All facts of a host, each file read once. The shape is plugins/plugin_utils/schemas/facts.json."""
from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

from .._boot_order import managers
from .._host.host import Host
from .._host.reading import ASLEEP, DENIED, GONE, UNPARSABLE, FileReading, Reading, as_facts, known, settle
from .._kernel import boot_loader, release, sysctl
from .._kernel.device_users import read_users
from .._kernel.log import read_boots
from .._nvidia import driver, earlier_boots
from .._nvidia.libraries import find_processes
from .._pci import gpus as pci_gpus
from .._pci import iommu
from .._pci import rdma as pci_rdma
from .._placement import facts as placement
from .._pve import cluster
from .._pve import guests as pve_guests
from .._pve.guest_details import read_details
from .._redaction.facts import redact_facts
from .._system import cpu, identity, memory, network, numa, ras
from .._system import firmware as system_firmware
from .._system.cpuinfo import read_cpuinfo
from . import persisted, source
from .gpu_use import with_use

SCHEMA = "gpuhost.facts/1"


def collect(host: Host, tunables: list[str], link_samples: int = 0) -> dict[str, Any]:
    """The facts as plain JSON types without secrets, including the tunables requested by address.

    `link_samples`: how often the GPUs' links are read again after the first time. Nothing is opened for writing, and
    no suspended device is woken. ValueError for an invalid address.
    """
    named = _read_named(host, tunables)
    facts = _read_sections(host, link_samples)
    lost = [found for found in find_readings(facts) if found[1].status in (DENIED, UNPARSABLE)]
    return redact_facts(as_facts({
        "schema": SCHEMA,
        "collected_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "source": source.read(host),
        "privileged": os.geteuid() == 0,
        "unread": list(find_denied(lost)),
        "unparsable": list(find_unparsable(lost)),
        **facts,
        "tunables": named,
    }))


def _read_named(host: Host, addresses: list[str]) -> dict[str, Reading]:
    if not addresses:
        return {}
    # Imports the rules of every tunable, a sixth of what an audit compiles on the host; most audits name none.
    from .tunables import read_named

    return read_named(host, addresses)


def _read_sections(host: Host, link_samples: int) -> dict[str, Any]:
    earlier, log = read_boots(host)
    cpuinfo = read_cpuinfo(host)
    firmware = system_firmware.read(host)
    kernel = release.read(host, log)
    configs = pve_guests.read_all_configs(host)
    guests = pve_guests.read(host, configs)
    rdma = pci_rdma.read(host)
    devices = pci_gpus.read(host, link_samples)
    own = known(lambda: [gpu for gpu in devices["gpus"] if gpu["vendor"] == pci_gpus.NVIDIA])
    users = read_users(host)
    nvidia = driver.read(host, log, earlier=earlier, users=users, containers=find_processes(host, guests, users),
                         **settle({
                             "nvswitches": lambda: devices["pcie"]["nvswitches"],
                             "rdma": lambda: bool(rdma["devices"]),
                             "release": lambda: kernel["release"].value,
                             "present": lambda: bool(own),
                             "gone": lambda: [gpu["bdf"] for gpu in own if gpu["state"] == GONE],
                             "asleep": lambda: [gpu["bdf"] for gpu in own if gpu["state"] == ASLEEP]}))
    users = read_users(host)
    gpus = known(lambda: with_use(host, devices["gpus"], proc_gpus=nvidia["proc_gpus"], smi=nvidia["smi"],
                                  guests=guests, users=users))
    nodes = numa.read(host)
    machine = identity.read(host, cpuinfo, firmware)
    return {
        "identity": machine,
        "kernel": {**kernel, "earlier_boots": earlier_boots.read(host)},
        "boot": boot_loader.read(host),
        "cpu": cpu.read(host, cpuinfo, kernel["release"], log),
        "numa": nodes,
        "memory": memory.read(host, users),
        "sysctl": sysctl.read(host),
        "managers": managers.read(host),
        "persisted": known(lambda: persisted.read(host)),
        "network": network.read(host),
        "gpus": gpus,
        "ports": devices["ports"],
        "pcie": devices["pcie"],
        "iommu": iommu.read(host, gpus),
        "nvidia": nvidia,
        "rdma": rdma,
        "guests": {**guests, **read_details(host, guests)},
        "placement": known(lambda: placement.read(host, configs, guests, nodes["nodes"], cpuinfo, users,
                                                  machine["kind"])),
        "cluster": cluster.read(host, guests),
        "firmware": firmware,
        "ras": ras.read(host, log),
    }


def find_denied(readings: Iterable[tuple[str, Reading]]) -> Iterator[dict[str, Any]]:
    """The readings that were denied."""
    return ({"fact": name, "path": None, "why": reading.detail or "needs root"}
            for name, reading in readings if reading.status == DENIED)


def find_unparsable(readings: Iterable[tuple[str, Reading]]) -> Iterator[dict[str, Any]]:
    """The readings of files that could not be parsed, with the beginning of the text."""
    return ({"fact": name, "path": reading.path, "text": reading.text} for name, reading in readings
            if reading.status == UNPARSABLE and isinstance(reading, FileReading) and reading.text is not None)


def find_readings(thing: Any, name: str = "") -> Iterator[tuple[str, Reading]]:
    """Every reading in `thing`, named as an expression would name it: `gpus[0].pcie`."""
    if isinstance(thing, Reading):
        yield name, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            part = key if key.isidentifier() else f'"{key}"'
            yield from find_readings(value, f"{name}.{part}" if name else part)
    elif isinstance(thing, (list, tuple)):
        for position, value in enumerate(thing):
            yield from find_readings(value, f"{name}[{position}]")
