# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The NVSwitch fabric between the GPUs of a host: its kind, the daemons it needs, and its problems.

Until a GPU is registered with its fabric, CUDA returns error 802, "system not yet initialized" (NVIDIA, Fabric Manager
for NVIDIA NVSwitch Systems).
"""
from __future__ import annotations

import re
from typing import Any

from ..reading import known, lost, value

# Kinds of fabric: NVSwitches are PCI devices of this host; HGX with NVLink 5, where only their management functions
# are; a compute tray of a rack, whose NVSwitches are elsewhere.
NVSWITCH, BASEBOARD, RACK = "nvswitch", "nvlink5", "rack"
_BASEBOARD_MODEL, _RACK_MODEL = re.compile(r"\bB[123]\d0\b"), re.compile(r"\bGB[23]00\b")
# PCI devices of NVIDIA (pci.ids): B200 and B300, GB200 and GB300
_BASEBOARD_IDS, _RACK_IDS = ("2901", "3182"), ("2941", "31c2")

_FABRIC_MANAGER, _SUBNET_MANAGER, _IMEX = "nvidia-fabricmanager", "nvlsm", "nvidia-imex"
_NEEDED = {NVSWITCH: (_FABRIC_MANAGER,), BASEBOARD: (_FABRIC_MANAGER, _SUBNET_MANAGER), RACK: (_IMEX,)}

COMPLETED, SUCCESS = "Completed", "Success"
_NVIDIA, _MELLANOX = "10de", "15b3"
_SWITCH_DRIVER = "nvidia-nvswitch"      # of the module nvidia
_NARROW = 2         # lanes; a network card has eight or sixteen


def fabric(facts: dict[str, Any], for_host: list[dict[str, Any]]) -> dict[str, Any]:
    """`{kind, up, services, gpus}`; `for_host` are the NVIDIA GPUs that are not given to a guest.

    `up`: every GPU reports that it is registered; None if none reports a fabric state. `services` are the daemons that
    the kind needs on this host, none inside a virtual machine. `gpus` are those that report a registration state, or
    would if nvidia-smi answered.
    """
    kind = fabric_kind(facts, for_host)
    mine = {gpu["bdf"] for gpu in for_host}
    told = [gpu["fabric_state"] for gpu in facts["nvidia"]["smi"]["gpus"] if gpu["fabric_state"] and gpu["bdf"] in mine]
    up = all(state == COMPLETED for state in told) if told else None
    needed = () if kind is None or facts["identity"]["kind"] == "vm" else _NEEDED[kind]
    if kind == RACK and not told:       # boards that link GPUs without NVSwitches use the same GPUs
        needed = ()
    return {"kind": kind, "up": up,
            "services": [_service(service, kind, up) for service in facts["nvidia"]["fabric"]["services"]
                         if service["service"] in needed],
            "gpus": [gpu for gpu in map(_registration, for_host) if gpu["told"] or (kind and not gpu["answered"])]}


def _registration(gpu: dict[str, Any]) -> dict[str, Any]:
    answer = gpu["derived"]["nvidia_smi"]
    seen = value(answer)
    problems = fabric_problems(seen)
    return {"bdf": gpu["bdf"], "told": problems is not None, "answered": seen is not None,
            "state": seen and seen["fabric_state"], "broken": fabric_broken(seen),
            "problems": lost(answer["status"]) if problems is None else known(problems)}


def fabric_kind(facts: dict[str, Any], for_host: list[dict[str, Any]]) -> str | None:
    """The kind of fabric that this host manages; None if there is none.

    NVSwitches that are passed through belong to their guest. Those that the host keeps are set up by the host, even if
    all GPUs behind them are passed through.
    """
    drivers = {switch["driver"] for switch in facts["nvidia"]["fabric"]["switches"]}
    if _SWITCH_DRIVER in drivers or (for_host and drivers - {"vfio-pci"}):
        return NVSWITCH
    if any(gpu["device"] in _RACK_IDS or _RACK_MODEL.search(gpu["model"] or "") for gpu in for_host):
        return RACK
    return BASEBOARD if any(_is_baseboard(gpu) for gpu in for_host) else None


def _is_baseboard(gpu: dict[str, Any]) -> bool:
    return gpu["vendor"] == _NVIDIA and (
        gpu["device"] in _BASEBOARD_IDS or _BASEBOARD_MODEL.search(gpu["model"] or "") is not None)


def _service(service: dict[str, Any], kind: str, up: bool | None) -> dict[str, Any]:
    """One daemon; `problems` is a reading, empty if it does its work now and will after the next boot."""
    problems, broken = [], False
    name, running = service["service"], service["running"]
    starts_itself = name == _SUBNET_MANAGER         # the fabric manager's unit starts it
    if running is None and (up is not True or kind == RACK):
        return {**service, "broken": False, "problems": lost("no systemd control group and no process found")}
    if not running and (up is not True or kind == RACK):
        problems.append("not installed" if not service["installed"] else "masked" if service["masked"]
                        else "not running")
        broken = kind != RACK
    if service["installed"] and not service["enabled"] and not service["masked"] and not starts_itself:
        problems.append("not enabled: it will not start at the next boot")
    return {**service, "broken": broken, "problems": known(problems)}


def fabric_problems(seen: dict[str, Any] | None) -> list[str] | None:
    """The problems nvidia-smi reports for one GPU's fabric, None if it reports no fabric."""
    if seen is None or seen["fabric_state"] is None:
        return None
    found = []
    if seen["fabric_state"] != COMPLETED:
        found.append(f"state {seen['fabric_state']}")
    elif seen["fabric_status"] not in (None, SUCCESS):
        found.append(f"status {seen['fabric_status']}")
    return found + [f"health: {problem}" for problem in seen["fabric_health"] or []]


def fabric_broken(seen: dict[str, Any] | None) -> bool:
    """Whether CUDA cannot start on the GPU; a fabric that works but is slower than it should be does not count."""
    if seen is None or seen["fabric_state"] is None:
        return False
    return seen["fabric_state"] != COMPLETED or seen["fabric_status"] not in (None, SUCCESS)


def manages_nvswitches(device: dict[str, Any], facts: dict[str, Any], gpus: list[dict[str, Any]]) -> bool:
    """Whether an RDMA device of a host with a BASEBOARD is a management function of NVSwitches, not a network card.

    NVIDIA's own scripts look for SW_MNG in its vital product data. Reading that writes to the device and can take
    seconds, so the function is recognised otherwise: it has no network interface, and either two lanes or neighbours
    that do have one.
    """
    if device["vendor"] != _MELLANOX or device["netdevs"] or device["virtual_function"] or not any(
            _is_baseboard(gpu) for gpu in gpus):
        return False
    if any(value(port["link_layer"]) not in (None, "InfiniBand") for port in device["ports"]):
        return False
    link = (value(device["pcie"]) or {}).get("link") or {}
    return (link.get("width") or _NARROW + 1) <= _NARROW or any(
        other["netdevs"] for other in facts["rdma"]["devices"] if other["vendor"] == _MELLANOX)
