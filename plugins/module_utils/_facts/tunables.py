# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Tunables that were asked for by address, read with the facts and in the form that the setters use."""
from __future__ import annotations

from typing import Callable

from .._host.host import Host
from .._host.reading import DENIED, Reading, ok
from .._kernel.bracketed import chosen
from .._kernel.modules import BUILT_IN, LIVE, read_module
from .._kernel.sysctl import read_sysctl
from .._kinds.sysfs_rules import never_read
from .._pci.device import express_of, read_config

GLOB_SIGNS = "*?["


def read_named(host: Host, addresses: list[str]) -> dict[str, Reading]:
    """`{address: reading}`; a sysfs pattern stands for every file that matches it.

    Raises ValueError for an address that is none.
    """
    return {found: reading for address in addresses for found, reading in _read(host, address)}


def _read(host: Host, address: str) -> list[tuple[str, Reading]]:
    kind, _colon, name = address.partition(":")
    if kind not in _READERS or not name:
        raise ValueError(f"{address!r} is not the address of a tunable: wanted one of "
                         + ", ".join(f"{known}:..." for known in _READERS))
    names = host.glob(name) if kind == "sysfs" and any(sign in name for sign in GLOB_SIGNS) else [name]
    return [(f"{kind}:{one}", _READERS[kind](host, one)) for one in names]


def _read_sysfs(host: Host, path: str) -> Reading:
    why = never_read(path)
    if why is not None:
        return Reading(DENIED, None, f"not read: {why}")
    return host.read(path).map(lambda text: chosen(text) if "[" in text else text)


def _read_max_read_request(host: Host, address: str) -> Reading:
    return express_of(read_config(host, address)).map(lambda express: express["max_read_request"])


def _read_state(host: Host, name: str) -> Reading:
    """`present` or `absent`, as nvidia_module calls it."""
    return ok("present" if read_module(host, name)["state"] in (LIVE, BUILT_IN) else "absent")


_READERS: dict[str, Callable[[Host, str], Reading]] = {
    "sysctl": read_sysctl,
    "sysfs": _read_sysfs,
    "pcie_maxreadreq": _read_max_read_request,
    "module": _read_state,
}
