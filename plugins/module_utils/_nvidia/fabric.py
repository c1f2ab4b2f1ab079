# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts `nvidia.fabric`: daemons that an NVSwitch fabric needs, and the NVLinks of each GPU."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, settle
from .._kernel.services import read_services
from .._pci.sysfs import read_driver
from .smi import OK

FABRIC_MANAGER, SUBNET_MANAGER, IMEX = "nvidia-fabricmanager", "nvlsm", "nvidia-imex"
UNITS = (FABRIC_MANAGER, SUBNET_MANAGER, IMEX)
NVLSM = "/opt/nvidia/nvlsm/sbin/nvlsm"          # the package nvlsm; nvidia-fabricmanager-start.sh starts it
NVLSM_PID = "/run/nvlsm.pid"
RECORDED = "nvidia-smi-nvlink.txt"
TIME_LIMIT = 20.0

_COMMANDS = {"nv-fabricmanager"[:15]: FABRIC_MANAGER, "nvlsm": SUBNET_MANAGER, "nvidia-imex": IMEX}
_GPU = re.compile(r"GPU \d+: .*\(UUID: (GPU-[0-9a-f-]+)\)")
_LINK = re.compile(r"\s*Link \d+: (<inactive>|[\d.]+ GB/s)")


def read(host: Host, users: Reading, gpus: Reading, smi: dict, nvswitches: list[str], present: bool) -> dict:
    """The section `nvidia.fabric`; daemons are looked for only if the host has an NVIDIA GPU (`present`).

    `users` is from device_users.read_users(), `gpus` from driver.read_gpus(), `smi` from smi.read(); `nvswitches` are
    addresses.
    """
    return settle({
        "switches": lambda: [{"bdf": bdf, "driver": known(lambda bdf=bdf: read_driver(host, bdf))}
                             for bdf in nvswitches],
        "services": lambda: read_daemons(host, users) if present else [],
        "links": lambda: read_links(host, gpus, smi, nvswitches),
    })


def read_links(host: Host, gpus: Reading, smi: dict, nvswitches: list[str]) -> Reading:
    """The NVLinks of the GPUs on a fabric; nvidia-smi is run only if there is a fabric and it answered before."""
    if smi["state"] != OK or not (nvswitches or any(gpu["fabric_state"] for gpu in smi["gpus"])):
        return Reading(ABSENT, None, "not read: the host has no NVSwitch fabric")
    printed = host.run(["nvidia-smi", "nvlink", "--status"], TIME_LIMIT, recorded=RECORDED)
    modes = {gpu["bdf"]: gpu["mig"] for gpu in smi["gpus"]}
    return printed.map(lambda text: [{**gpu, "mig": modes.get(gpu["bdf"])}
                                     for gpu in parse_links(text, gpus.value or [])])


def read_daemons(host: Host, users: Reading) -> list[dict]:
    """`[{service, installed, enabled, masked, running}]` of UNITS, as in managers.read_services().

    A daemon that runs outside its unit is found by its process: a fabric manager in a container holds GPU device
    nodes open, nvlsm writes a pid file.
    """
    commands = {_COMMANDS.get(user["command"][:15]) for user in users.value or []}
    pid = host.read(NVLSM_PID).value
    if pid and pid.strip().isdecimal() and host.read(f"/proc/{pid.strip()}/comm").value == SUBNET_MANAGER:
        commands.add(SUBNET_MANAGER)
    found = []
    for service in read_services(host, UNITS):
        name = service["service"]
        installed = service["installed"] or (name == SUBNET_MANAGER and host.exists(NVLSM))
        running = True if name in commands else service["running"]
        if running is False and not users.ok:       # some processes could not be examined; it may be one of them
            running = None
        found.append({**service, "installed": installed, "running": running})
    return found


def parse_links(text: str, gpus: list[dict]) -> list[dict]:
    """Parse `nvidia-smi nvlink --status`: `[{bdf, links, active}]` of those GPUs that are in `gpus` (`{bdf, uuid}`).

    `links` is the number of NVLinks of the GPU, `active` how many of them are up.
    """
    addresses = {gpu["uuid"]: gpu["bdf"] for gpu in gpus}
    found: list[dict] = []
    for line in text.splitlines():
        gpu = _GPU.match(line)
        if gpu is not None:
            found.append({"bdf": addresses.get(gpu[1]), "links": 0, "active": 0})
            continue
        link = _LINK.match(line)
        if link is not None and found:
            found[-1]["links"] += 1
            found[-1]["active"] += link[1] != "<inactive>"
    return [gpu for gpu in found if gpu["bdf"] is not None]
