# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The state of a host during a measurement: clocks, temperatures, load, and other users of its GPUs.

Nothing is changed, no suspended device is woken. Unreadable values are None.
"""
from __future__ import annotations

from typing import Any

from .._change.hung_gpus import list_hung
from .._host.host import Host
from .._host.reading import ASLEEP, GONE
from .._kernel.bracketed import chosen
from .._kernel.device_users import read_users
from .._kernel.modules import read_modules
from .._nvidia import driver, smi
from .._pci.address import DEVICES
from .._pci.device import read_config
from .._pci.gpus import NVIDIA, find_gpus
from .._pci.sysfs import read_id

_GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
_THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def read_conditions(host: Host) -> dict[str, Any]:
    """`{boot_id, load1, thp, governor, memory_available_mib, users, gpus}`.

    `load1` is the load average over one minute (man 5 proc_loadavg), `governor` that of the first processors, `users`
    are processes with a GPU's device node open, `[{pid, command, container}]`; `gpus` is from parse_conditions() of
    _nvidia/smi.py, for GPUs of other vendors from their sensors.
    """
    users = read_users(host)        # before nvidia-smi, which opens nodes too
    return {
        "boot_id": host.read("/proc/sys/kernel/random/boot_id").value,
        "load1": host.read("/proc/loadavg").map(lambda text: float(text.split()[0])).value,
        "thp": host.read(_THP).map(chosen).value,
        "governor": host.read(_GOVERNOR).value,
        "memory_available_mib": host.read("/proc/meminfo").map(parse_available).value,
        "users": None if not users.ok else [
            {key: user[key] for key in ("pid", "command", "container")} for user in users.value
            if not user["persistenced"]],
        "gpus": read_gpus(host),
    }


def parse_available(text: str) -> int:
    """MemAvailable of /proc/meminfo in MiB (Documentation/filesystems/proc.rst). ValueError without such a line."""
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    raise ValueError("no line MemAvailable")


def read_gpus(host: Host) -> list[dict[str, Any]]:
    """`[{bdf, temperature_c, sm_mhz, throttle, power_w}]` by address; values that a GPU does not report are None."""
    found = {address: read_id(host, address, "vendor") for address, _class in find_gpus(host)}
    states = {address: read_config(host, address).status for address in found}
    own = [address for address, vendor in found.items() if vendor == NVIDIA]
    told = {gpu["bdf"]: gpu for gpu in (_ask_nvidia(host, own, states) if own else [])}
    for address in found:
        if address not in told:
            silent = address in own or states[address] in (ASLEEP, GONE)
            told[address] = _gpu(address) if silent else _read_sensors(host, address)
    return [told[address] for address in sorted(told)]


def _ask_nvidia(host: Host, own: list[str], states: dict[str, str]) -> list[dict[str, Any]]:
    reason = driver.reason_not_to_ask(
        read_modules(host, [driver.CORE_MODULE])[0]["state"], driver.read_nodes(host), driver.read_gpus(host),
        [address for address in own if states[address] == GONE],
        [address for address in own if states[address] == ASLEEP], list_hung(host))
    if reason is not None:
        return []
    printed = smi.ask(host)
    return (smi.parse_conditions(printed.value) if printed.ok else None) or []


def _gpu(address: str, temperature: float | None = None, clock: int | None = None,
         power: float | None = None) -> dict[str, Any]:
    return {"bdf": address, "temperature_c": temperature, "sm_mhz": clock, "throttle": None, "power_w": power}


def _read_sensors(host: Host, address: str) -> dict[str, Any]:
    """The hwmon sensors of a GPU's driver: millidegrees, hertz and microwatts (Documentation/hwmon/sysfs-interface,
    Documentation/gpu/amdgpu/thermal.rst)."""
    sensors = f"{DEVICES}/{address}/hwmon/hwmon*"

    def first(*names: str) -> int | None:
        paths = [path for name in names for path in host.glob(f"{sensors}/{name}")]
        return next((reading.value for reading in map(host.read_int, paths) if reading.ok), None)

    heat, clock, power = first("temp1_input", "temp2_input"), first("freq1_input"), first("power1_average",
                                                                                          "power1_input")
    return _gpu(address, None if heat is None else heat / 1000, None if clock is None else clock // 1_000_000,
                None if power is None else power / 1_000_000)
