# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""`derived.nic_paths`: how RDMA devices reach the memory of GPUs below the same switch, and the obstacles.

Transfers between a network card and a GPU use PCI Express even if the GPUs have NVLink or are in MIG mode. Pairs
without a common port go through the root complex whatever the settings, so they are left out.
"""
from __future__ import annotations

from typing import Any

from ....module_utils._pci.address import covers
from ..gpus.owners import serves
from ..guests import startable
from .p2p import all_of, any_of, worst
from .pcie import redirects
from .translation import translates, translation_is_wanted


def nic_paths(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """The pairs, the redirecting ports between them, and the worst outcome for their transfers."""
    ports = {port["bdf"]: port for port in facts["ports"]}
    wanted = translation_is_wanted(facts)
    pairs = [_pair(gpu, nic, ports, wanted) for gpu in gpus if _is_reached(gpu) for nic in _nics(facts)
             if set(gpu["path"]) & {port["bdf"] for port in nic["above"]}]
    found = {key: any_of(pair[key] for pair in pairs) for key in ("translated", "at_risk", "redirected")}
    return {"pairs": pairs, "redirect_ports": sorted({bdf for pair in pairs for bdf in pair["redirect"]}), **found,
            "state": worst(found["translated"], found["at_risk"], found["redirected"]),
            "names": "; ".join(f"{pair['name']} ({pair['nic']}) and {pair['gpu']}" for pair in pairs
                               if pair["translated"] or pair["redirected"])}


def _is_reached(gpu: dict[str, Any]) -> bool:
    """GPUDirect RDMA is for data center and professional cards (NVIDIA, GPUDirect RDMA, Supported Systems)."""
    return (gpu["vendor"] == "10de" and gpu["driver"] == "nvidia" and gpu["state"] == "ok" and serves(gpu)
            and "GeForce" not in (gpu["model"] or ""))


def _nics(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Physical RDMA devices of this host; virtual functions are meant for guests."""
    given = [bdf for vm in startable.vms(facts["guests"]) for named in vm["hostpci"]
             for bdf in named["bdfs"] or []]
    # Facts saved by an earlier release lack the ports above an RDMA device.
    return [device for device in facts["rdma"]["devices"] if device.get("above")
            and not device["virtual_function"] and not any(covers(bdf, device["bdf"]) for bdf in given)]


def _pair(gpu: dict, nic: dict, ports: dict[str, dict], translation_wanted: bool) -> dict[str, Any]:
    above = {port["bdf"]: port for port in nic["above"]}
    between = {bdf: ports.get(bdf) for bdf in gpu["path"] if bdf not in above}
    between.update({bdf: port for bdf, port in above.items() if bdf not in gpu["path"]})
    answers = {bdf: redirects(port) if port else None for bdf, port in between.items()}
    redirected = any_of(answers.values())
    translated = False if translation_wanted else any_of(translates(end["iommu_type"]) for end in (gpu, nic))
    return {"gpu": gpu["bdf"], "nic": nic["bdf"], "name": nic["name"],
            "redirect": [bdf for bdf, answer in answers.items() if answer], "redirected": redirected,
            "translated": translated, "at_risk": all_of((translated, redirected))}
