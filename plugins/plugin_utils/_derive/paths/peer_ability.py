# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether the driver allows a GPU peer-to-peer transfers at all: MIG mode, GeForce cards, registry keys.

Sources: NVIDIA, Multi-Instance GPU User Guide (instances have no peer-to-peer transfers, neither over PCIe nor NVLink);
NVIDIA, open-gpu-kernel-modules, src/nvidia/interface/nvrm_registry.h (ForceP2P, PeerMappingOverride). Patched builds of
the open modules enable peer-to-peer on GeForce cards, which stock ones do not (tinygrad, aikitoria).
"""
from __future__ import annotations

from typing import Any, NamedTuple

from ....module_utils._pci.address import kernel_address
from ..reading import value

ASK = "nvidia-smi topo -p2p r"
_NVIDIA, _MIG_ON = "10de", "Enabled"
_READ, _WRITE = 0, 4                # shifts of the two fields of ForceP2P
_FIELD, _OFF, _ON = 0x3, 0, 1       # the third value, 2, leaves it to the driver
_MIG = "GPUs in MIG mode have no peer-to-peer"
_SWITCHED_OFF = "the registry key ForceP2P disables peer-to-peer"
_STOCK = "NVIDIA's modules do not support peer-to-peer between GeForce RTX cards"
_NOT_TOLD = ("the open modules support peer-to-peer between GeForce RTX cards only with a patch, which cannot be "
             f"detected here: check with {ASK} (OK: supported, CNS: not supported)")


class Ability(NamedTuple):
    """Whether a GPU can transfer peer-to-peer: `able` is None if not known; `reason` says why it is not True, except
    for GPUs that sleep, are given to a guest or are not bound to the driver, which is reported elsewhere."""

    able: bool | None
    reason: str | None


def ability(gpu: dict[str, Any], nvidia: dict[str, Any], served: bool) -> Ability:
    """The Ability of a GPU; `served`: it belongs to this host, is not given to a guest and is no virtual function."""
    if (gpu["vendor"], gpu["driver"], gpu["state"]) != (_NVIDIA, "nvidia", "ok") or not served:
        return Ability(False, None)
    seen = next((one for one in nvidia["smi"]["gpus"] if one["bdf"] == gpu["bdf"]), None)
    if seen is not None and seen["mig"] == _MIG_ON:
        return Ability(False, _MIG)
    forced = forced_by_keys(nvidia["parameters"], gpu["bdf"])
    if forced is False:
        return Ability(False, _SWITCHED_OFF)
    if "GeForce RTX" not in (gpu["model"] or "") or forced:
        return Ability(True, None)
    if nvidia["flavour"] == "proprietary" and nvidia["parameters"]["status"] == "ok":
        return Ability(False, _STOCK)
    return Ability(None, _NOT_TOLD)


def forced_by_keys(parameters: dict[str, Any], bdf: str = "") -> bool | None:
    """Whether active registry keys force a GPU's peer transfers on or off; None if they leave it to the driver."""
    keys = {**registry_keys(parameters), **keys_of_device(parameters, bdf)}
    override, force = (_number(keys.get(name)) for name in ("PeerMappingOverride", "ForceP2P"))
    fields = [] if force is None else [force >> shift & _FIELD for shift in (_READ, _WRITE)]
    if override or _ON in fields:
        return True
    return False if fields == [_OFF, _OFF] else None


def registry_keys(parameters: dict[str, Any]) -> dict[str, str]:
    """The running RegistryDwords, `Key=1;Other=0x2`, by key."""
    return dict(_pairs(parameters, "RegistryDwords"))


def keys_of_device(parameters: dict[str, Any], bdf: str) -> dict[str, str]:
    """The keys for one GPU in RegistryDwordsPerDevice, `pci=0000:41:00.0;Key=1;pci=...` (nv-reg.h)."""
    found, here = {}, False
    for key, text in _pairs(parameters, "RegistryDwordsPerDevice"):
        if key == "pci":
            here = kernel_address(text) == bdf
        elif here:
            found[key] = text
    return found


def _pairs(parameters: dict[str, Any], name: str) -> list[tuple[str, str]]:
    names = {one["name"]: one["value"] for one in value(parameters) or []}
    entries = (entry.strip() for entry in names.get(name, "").strip('"').split(";"))
    return [tuple(part.strip() for part in entry.partition("=")[::2]) for entry in entries if entry]


def _number(text: str | None) -> int | None:
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        return None
