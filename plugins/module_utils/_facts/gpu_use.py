# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Join what the NVIDIA driver, guests and processes know about each GPU to the facts `gpus`."""
from __future__ import annotations

from typing import Any, Callable

from .._host.host import Host
from .._host.reading import ABSENT, GONE, NOT_RECORDED, OK, PASSED_THROUGH, Reading, known, ok, settle
from .._kernel.device_users import nodes_of_gpu, users_of
from .._pci.address import kernel_address
from .._pci.holders import why_not_driven
from .._pve.guests import claims
from .._pve.lxc import containers_given


def with_use(host: Host, gpus: list[dict], *, proc_gpus: Reading, smi: dict, guests: dict,
             users: Reading) -> list[dict]:
    """The facts `gpus` with the keys that _pci.gpus.read() left open.

    `proc_gpus`, `smi`: as in the facts `nvidia`; `guests`: the facts of that name; `users`: from
    device_users.read_users().
    """
    by_driver = known(lambda: _by_address(proc_gpus.value or []))
    by_smi = known(lambda: _by_address(smi["gpus"]))
    return [{**gpu, **_use_of(host, gpu, by_driver, by_smi, proc_gpus, guests, users)} for gpu in gpus]


def _use_of(host: Host, gpu: dict, by_driver: dict, by_smi: dict, proc_gpus: Reading, guests: dict,
            users: Reading) -> dict:
    driver, seen = known(lambda: by_driver.get(gpu["bdf"])), known(lambda: by_smi.get(gpu["bdf"]))
    minor = _driver_fact(proc_gpus, driver, "minor")
    nodes = known(lambda: nodes_of_gpu(host, gpu["bdf"], minor.value))
    return settle({
        "model": lambda: gpu["model"] if isinstance(driver, Reading) and gpu["model"] else
        driver["model"] if driver else gpu["model"],
        "minor": lambda: minor,
        "uuid": lambda: _driver_fact(proc_gpus, driver, "uuid"),
        "gsp_firmware": lambda: _driver_fact(proc_gpus, driver, "firmware"),
        "memory_mib": lambda: gpu["amd"]["memory_bytes"].map(_mib) if gpu["amd"] else _present(
            seen and seen["memory_mib"], "nvidia-smi does not say"),
        **_claims(gpu, guests),
        "containers": lambda: containers_given(guests, nodes),
        "users": lambda: users_of(users, nodes) if minor.status in (OK, ABSENT) else minor,
    })


def _by_address(entries: list[dict]) -> dict[str | None, dict]:
    return {kernel_address(entry["bdf"]): entry for entry in entries}


def _claims(gpu: dict, guests: dict) -> dict[str, Callable[[], Any]]:
    """A GPU that a VM names belongs to it, even while the VM is stopped and a driver of the host is bound."""
    claimed = known(lambda: claims(guests, gpu["bdf"]))
    # If a recording lacks the guests, a GPU with its vendor's driver is assumed to be the host's.
    own = claimed.status == NOT_RECORDED and not isinstance(gpu["driver"], Reading) \
        and why_not_driven(gpu["vendor"], gpu["driver"]) is None
    return {"claimed_by": lambda: claimed,
            "state": lambda: gpu["state"] if gpu["state"] in (GONE, PASSED_THROUGH) or own else
            PASSED_THROUGH if claimed.value else gpu["state"]}


def _mib(size: int) -> int:
    return size >> 20


def _driver_fact(proc_gpus: Reading, entry: dict | None, name: str) -> Reading:
    return _present(entry and entry[name], "not listed by the NVIDIA driver") if proc_gpus.ok else proc_gpus


def _present(value: Any, otherwise: str) -> Reading:
    return Reading(ABSENT, None, otherwise) if value is None else ok(value)
