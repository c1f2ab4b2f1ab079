# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What follows from the facts of a host by arithmetic and comparison: it is computed here, on the controller.

Readings that are not ok become None in the derived values. A check that needs to tell unreadable from absent asks
the fact itself before it uses what was derived from it.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .boot import boot
from .cmdline import pci_options
from .cpu import frequency_limits, odd_policies, open_vulnerabilities
from .cpufreq import boost_switches, has_die_controllers, nothing_to_boost, scaling_driver
from .cpuidle import deep_states
from .faults.fabric import fabric
from .faults.log_events import (
    amdgpu_errors,
    corrected_errors,
    iommu_faults,
    lockups,
    log_reach,
    mismatches,
    nvme_errors,
    oom_kills,
    resets_required,
)
from .faults.xid import sxids_by_switch, xids_by_device
from .gpus.alike import compare_alike
from .gpus.coherent import coherent
from .gpus.gpu_count import gpu_count, unusable_gpus
from .gpus.nvidia import (
    driver_branch,
    driver_flavours,
    hung,
    is_grace_hopper,
    last_branch,
    library_mismatch,
    missing_nodes,
    peermem,
)
from .gpus.nvidia_smi import smi_facts
from .gpus.owners import is_for_host, left_alone, serves, spare, write_obstacle
from .guests.claims import claims
from .guests.container_nodes import container_nodes
from .guests.dependents import isolated_guests, stopped_by_reboot
from .guests.guests import gpu_containers, gpu_vms
from .hardware import firmware_settings, memory_errors
from .managers import boot_sysctls, sysctl_places, tuning_services
from .memory import host_memory_kib, memory_shares, static_pools, usual_huge_page
from .modprobe import modprobe
from .network import dropped_per_million, rdma_cards
from .numa import numa, remote_interrupts
from .paths.acs_parameter import clear_redirection
from .paths.nic_paths import nic_paths
from .paths.pcie import path_facts
from .paths.transfers import transfers
from .paths.translation import translation
from .rdma import rdma_ports
from .reading import known, value

_NVIDIA, _AMD = "10de", "1002"
_VGA = "0300"       # PCI_CLASS_DISPLAY_VGA, include/linux/pci_ids.h


def derive(facts: dict[str, Any], nodes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The facts with `derived` added to them and to every GPU; the facts given stay as they are.

    `nodes` are the facts of other nodes of the cluster, by their names.
    """
    ports = {port["bdf"]: port for port in facts["ports"]}
    unusable = unusable_gpus(facts["gpus"], facts["nvidia"])
    gpus = [{**gpu, "derived": _of_gpu(gpu, facts, ports, unusable.get(gpu["bdf"]))} for gpu in facts["gpus"]]
    groups = compare_alike(gpus)        # first: it adds to every GPU what the others may ask
    given = gpu_containers(facts, gpus, nodes or {})
    settings = _of_settings(facts)
    return {**facts, "gpus": gpus, "derived": {
        "container": _container(facts["identity"]),
        "virtual": _virtual(facts["identity"]),
        **settings,
        **_of_hardware(facts, gpus),
        **_of_log(facts, gpus),
        **_of_nvidia(facts, gpus, unusable),
        "compute_gpus": sum(1 for gpu in gpus if gpu["derived"]["compute"] and _is_counted(gpu)),
        "aspm_links": sorted({bdf for gpu in gpus if gpu["derived"]["compute"] and gpu["derived"]["left_alone"] is None
                              and gpu["derived"]["coherent"] is None for bdf in gpu["derived"]["aspm_links"]}),
        "isolated_guests": isolated_guests(facts["guests"], gpus),
        "stopped_by_reboot": stopped_by_reboot(facts["guests"], given),
        "gpu_containers": given,
        "container_nodes": container_nodes(facts),
        "gpu_vms": gpu_vms(facts, gpus, nodes or {}),
        "gpu_groups": groups,
        **_between_devices(facts, gpus, settings["boot"]),
    }}


def _between_devices(facts: dict[str, Any], gpus: list[dict[str, Any]], next_boot: dict[str, Any]) -> dict[str, Any]:
    """Transfers that do not pass the memory of the host, and how what stands in their way is taken out of it."""
    release = value(next_boot["next"]) or value(facts["kernel"]["release"])
    found = {"p2p": transfers(facts, gpus), "nic_paths": nic_paths(facts, gpus)}
    for paths in found.values():
        paths["clear"] = clear_redirection(paths["redirect_ports"], release, next_boot["loader"], next_boot["edit"])
    return {**found, "translation": translation(facts)}


def _of_settings(facts: dict[str, Any]) -> dict[str, Any]:
    memory_kib = host_memory_kib(facts)
    return {
        "memory_gib": None if memory_kib is None else memory_kib >> 20,
        "memory_kib": facts["memory"]["total_kib"] if memory_kib is None else known(memory_kib),
        "usual_huge_page": usual_huge_page(facts["memory"]["thp"]),
        "memory_shares": memory_shares(facts["memory"], facts["sysctl"], memory_kib),
        "static_pools": static_pools(facts["memory"]),
        "boot_sysctls": boot_sysctls(facts),
        "sysctl_places": sysctl_places(facts),
        "tuning_services": tuning_services(facts),
        "dropped_per_million": dropped_per_million(facts["network"]),
        "boot": boot(facts),
        "pci_options": pci_options(facts["kernel"]),
    }


def _of_hardware(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    cards = rdma_cards(facts, gpus)
    return {
        "scaling_driver": scaling_driver(facts["cpu"], facts["kernel"]),
        "frequency_limits": frequency_limits(facts["cpu"]["frequency"]),
        "odd_policies": odd_policies(facts["cpu"]["frequency"]["policies"], facts["cpu"]["kinds"]),
        "vulnerable": open_vulnerabilities(facts["cpu"]["vulnerabilities"]),
        "boost_switches": boost_switches(facts["cpu"]["frequency"]),
        "nothing_to_boost": nothing_to_boost(facts["cpu"]["frequency"]["policies"]),
        "die_controllers": has_die_controllers(facts["cpu"]),
        "idle_states": deep_states(facts["cpu"]["idle"]["states"]),
        "numa": numa(facts["numa"]["nodes"], facts["cpu"]),
        "memory_errors": memory_errors(facts["ras"]),
        "firmware": firmware_settings(facts),
        "rdma_cards": cards,
        "rdma_ports": rdma_ports(facts, cards),
    }


def _of_log(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "log_reach": log_reach(facts["kernel"]),
        "iommu_faults": iommu_faults(facts, gpus),
        "oom_kills": oom_kills(facts),
        "lockups": lockups(facts),
        "amdgpu_errors": amdgpu_errors(facts),
        "nvme_errors": nvme_errors(facts),
        "corrected_errors": corrected_errors(facts, [gpu for gpu in gpus if gpu["derived"]["compute"]]),
    }


def _of_nvidia(facts: dict[str, Any], gpus: list[dict[str, Any]], unusable: dict[str, str]) -> dict[str, Any]:
    return {
        "nvidia_gpus": [gpu["bdf"] for gpu in gpus if gpu["vendor"] == _NVIDIA and _is_counted(gpu)],
        "missing_nodes": missing_nodes(facts),
        "peermem": peermem(facts, gpus),
        "library_mismatch": library_mismatch(facts["nvidia"]),
        "logged_mismatches": mismatches(facts["nvidia"]),
        "resets_required": resets_required(facts["nvidia"]),
        "fabric": fabric(facts, [gpu for gpu in gpus if gpu["vendor"] == _NVIDIA and is_for_host(gpu)]),
        "hung": hung(facts["nvidia"]),
        "gpu_count": gpu_count(gpus, facts["nvidia"], unusable),
        "driver_branch": driver_branch(facts["nvidia"]),
        "xids": xids_by_device(facts),
        "sxids": sxids_by_switch(facts),
        "modprobe": modprobe(facts),
    }


def _of_gpu(gpu: dict[str, Any], facts: dict[str, Any], ports: dict[str, dict], unusable: str | None) -> dict[str, Any]:
    nvidia = facts["nvidia"]
    path = path_facts(gpu, ports, nvidia["smi"])
    return {
        "compute": is_compute(gpu, ports),
        "for_host": is_for_host(gpu),
        "left_alone": left_alone(gpu),
        "spare": spare(gpu, facts["gpus"]),
        "unusable": unusable,
        "write_obstacle": write_obstacle(gpu, unusable),
        "coherent": coherent(gpu),
        **claims(gpu, facts),
        "hung": hung(nvidia, gpu["bdf"]),
        **path,
        **smi_facts(gpu, nvidia["smi"], path["idle"]),
        "flavours": driver_flavours(gpu),
        "platform": "Grace Hopper" if is_grace_hopper(gpu) else gpu["generation"],
        "last_branch": last_branch(gpu),
        "remote_interrupts": remote_interrupts(gpu),
    }


def is_compute(gpu: dict[str, Any], ports: dict[str, dict]) -> bool:
    """Whether a GPU is a card, not the display inside an AMD processor: AMD's cards have a switch of AMD on board."""
    if gpu["vendor"] != _AMD or not gpu["class"].startswith(_VGA):
        return True
    nearest = ports.get(gpu["path"][0]) if gpu["path"] else None
    return nearest is not None and nearest["vendor"] == _AMD


def _is_counted(gpu: dict[str, Any]) -> bool:
    """Whether the GPU serves from this host, or should."""
    return serves(gpu) and gpu["derived"]["spare"] is None


def _container(identity: dict[str, Any]) -> str | None:
    if identity["kind"] != "container":
        return None
    return f"the target is a container ({identity['technology'] or 'unknown kind'}): its host decides, audit that one"


def _virtual(identity: dict[str, Any]) -> str | None:
    if identity["kind"] != "vm":
        return None
    return f"the target is a virtual machine ({identity['technology'] or 'unknown hypervisor'})"
