# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The owner of a GPU: this host, a guest, or none yet."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....module_utils._pci.holders import is_held_for_others, why_not_driven
from ..not_recorded import NotRecorded
from ..reading import value


def is_for_host(gpu: dict[str, Any]) -> bool:
    """Whether the GPU belongs to the host and its containers; one that is gone or asleep still does."""
    return (not is_held_for_others(gpu["driver"]) and gpu["state"] != "passed_through"
            and not _claims(gpu))


def _claims(gpu: dict[str, Any]) -> list | None:
    """The VMs that name the GPU.

    If a recording lacks the VM configurations, a GPU bound to its vendor's driver counts as the host's; for any other
    this raises NotRecorded."""
    try:
        return value(gpu["claimed_by"])
    except NotRecorded:
        if why_not_driven(gpu["vendor"], gpu["driver"]) is None:
            return None
        raise


def serves(gpu: dict[str, Any]) -> bool:
    """Whether the GPU serves this host and its containers; a virtual function is a share of a GPU and does not count.
    """
    return is_for_host(gpu) and not gpu["virtual_function"]


def left_alone(gpu: dict[str, Any]) -> str | None:
    """Why a GPU's registers must not be checked or changed from this host; None if they may be."""
    if gpu["state"] == "asleep":
        return "the GPU is suspended, and reading its registers would wake it"
    claims = _claims(gpu)
    if claims:
        return "the GPU belongs to " + ", ".join(f"VM {claim['vm']} ({claim['key']})" for claim in claims)
    if is_held_for_others(gpu["driver"]) and gpu["state"] != "passed_through":
        return f"the GPU is bound to {gpu['driver']}, which reserves it for guests"
    if not is_for_host(gpu):
        return f"the GPU is passed through to a guest ({gpu['driver'] or 'no driver'})"
    if gpu["virtual_function"]:
        return f"a virtual function of {gpu['physical_function']}: see the physical function"
    return None


def spare(gpu: dict[str, Any], gpus: Iterable[dict[str, Any]]) -> str | None:
    """Why it is no fault that a GPU has no driver: the host assigns its GPUs of this vendor to guests, and this one is
    spare. None for any other GPU."""
    others = [other for other in gpus if other["vendor"] == gpu["vendor"] and other["bdf"] != gpu["bdf"]
              and not other["virtual_function"]]
    given = [other for other in others if not is_for_host(other)]
    driven = any(why_not_driven(other["vendor"], other["driver"]) is None for other in others)
    if gpu["driver"] is not None or gpu["state"] != "ok" or not is_for_host(gpu) or driven or not given:
        return None
    return (f"no driver is bound to it: the GPUs of this host are assigned to guests ({len(given)} of {len(others)} "
            "others), and this one is spare")


def write_obstacle(gpu: dict[str, Any], unusable: str | None) -> str | None:
    """Why no register of the GPU is written although it is checked: it is not bound to its vendor's driver, or did not
    start."""
    if unusable is not None:
        return f"the GPU is not usable: it is {unusable.partition(';')[0]}"
    return why_not_driven(gpu["vendor"], gpu["driver"])
