# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Derived values: what follows from a host's facts by arithmetic and comparison, computed on the controller.

Readings that are not ok become None in the derived values. A check that needs to tell unreadable from absent reads
the fact itself before it uses a value derived from it.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .boot import boot
from .cmdline import pci_options
from .cpu import frequency_limits, odd_policies, open_vulnerabilities
from .cpufreq import boost_switches, has_die_controllers, nothing_to_boost, scaling_driver
from .cpuidle import deep_states
from .faults.earlier_boots import boots_with_harm, earlier_boots
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
    other_flavour,
    peermem,
)
from .gpus.nvidia_smi import smi_facts
from .gpus.owners import is_for_host, left_alone, serves, spare, write_obstacle
from .guests.claims import claims
from .guests.container_nodes import container_nodes
from .guests.dependents import isolated_guests, stopped_by_reboot
from .guests.guests import gpu_containers, gpu_vms
from .guests.startable import templates_given_devices
from .hardware import firmware_settings, memory_errors
from .managers import boot_sysctls, sysctl_places, tuning_services
from .memory import host_memory_kib, memory_shares, static_pools, usual_huge_page
from .modprobe import modprobe
from .network import dropped_per_million, rdma_cards
from .not_recorded import partial, recorded, settle, several, whole, with_gaps, without_gaps
from .numa import numa, remote_interrupts
from .paths.acs_parameter import clear_redirection
from .paths.nic_paths import nic_paths
from .paths.pcie import path_facts
from .paths.transfers import transfers
from .paths.translation import translation
from .paths.wider_paths import compare_paths
from .persisted import persisted_lines
from .placement.placement import placement
from .rdma import rdma_ports
from .reading import known, value
from .target import container, is_one_moment, told, virtual

_NVIDIA, _AMD = "10de", "1002"
_VGA = "0300"       # PCI_CLASS_DISPLAY_VGA, include/linux/pci_ids.h


def derive(facts: dict[str, Any], nodes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The facts with `derived` added to them and to every GPU; the argument is not modified.

    `nodes` are the facts of other cluster nodes, by name. A value that depends on a fact missing from a recording is a
    reading `not_recorded` too.
    """
    of_others = dict(nodes or {})
    given, others = with_gaps(facts), with_gaps(of_others)
    found = _derive(given, others)
    if given is facts and others is of_others:
        return found
    return {**facts, **without_gaps({"gpus": found["gpus"], "derived": found["derived"]})}


def _derive(facts: dict[str, Any], nodes: Mapping[str, Any]) -> dict[str, Any]:
    ports = recorded(lambda: {port["bdf"]: port for port in facts["ports"]})
    unusable = recorded(lambda: unusable_gpus(facts["gpus"], facts["nvidia"]))
    gpus = recorded(lambda: [partial({**gpu, "derived": _of_gpu(gpu, facts, ports, unusable)})
                             for gpu in facts["gpus"]])
    groups = recorded(lambda: compare_alike(gpus))        # first: these add keys to every GPU that the others read
    recorded(lambda: compare_paths(gpus))
    given = recorded(lambda: gpu_containers(facts, gpus, nodes))
    settings = _of_settings(facts)
    return {**facts, "gpus": gpus, "derived": {
        **settle({
            "container": lambda: container(facts["identity"]),
            "virtual": lambda: virtual(facts["identity"]),
        }),
        "told": told(facts),
        **settings,
        **_of_hardware(facts, gpus),
        **_of_log(facts, gpus),
        **_of_nvidia(facts, gpus, unusable),
        **settle({
            "compute_gpus": lambda: sum(1 for gpu in gpus if gpu["derived"]["compute"] and _is_counted(gpu)),
            "aspm_links": lambda: _aspm_links(gpus),
            "isolated_guests": lambda: isolated_guests(facts["guests"], gpus),
            "stopped_by_reboot": lambda: stopped_by_reboot(facts["guests"], given),
            "gpu_containers": lambda: whole(given),
            "container_nodes": lambda: container_nodes(facts),
            "gpu_vms": lambda: gpu_vms(facts, gpus, nodes),
            "gpu_templates": lambda: templates_given_devices(facts["guests"]),
            "placement": lambda: placement(facts, gpus),
            "gpu_groups": lambda: whole(groups),
        }),
        **_between_devices(facts, gpus, settings),
    }}


def _aspm_links(gpus: list[dict[str, Any]]) -> list[str]:
    judged = (gpu["derived"] for gpu in gpus if gpu["derived"]["compute"] and gpu["derived"]["left_alone"] is None
              and gpu["derived"]["coherent"] is None)
    return sorted({bdf for derived in judged for bdf in derived["aspm_links"]})


def _between_devices(facts: dict[str, Any], gpus: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Any]:
    """Transfers that bypass host memory (between GPUs, and with RDMA devices), and how to remove their obstacles."""
    def clear(paths: dict[str, Any]) -> dict[str, Any]:
        return {**paths, "clear": recorded(lambda: clear_for(paths["redirect_ports"], settings["boot"]))}

    def clear_for(ports: list[str], next_boot: dict[str, Any]) -> Any:
        release = value(next_boot["next"]) or value(facts["kernel"]["release"])
        return clear_redirection(ports, release, next_boot["loader"], next_boot["edit"])

    return settle({"p2p": lambda: clear(transfers(facts, gpus)), "nic_paths": lambda: clear(nic_paths(facts, gpus)),
                   "translation": lambda: translation(facts)})


def _of_settings(facts: dict[str, Any]) -> dict[str, Any]:
    memory_kib = recorded(lambda: host_memory_kib(facts))
    return settle({
        "memory_gib": lambda: None if whole(memory_kib) is None else memory_kib >> 20,
        "memory_kib": lambda: facts["memory"]["total_kib"] if whole(memory_kib) is None else known(memory_kib),
        "usual_huge_page": lambda: usual_huge_page(facts["memory"]["thp"]),
        "memory_shares": lambda: memory_shares(facts["memory"], facts["sysctl"], memory_kib),
        "static_pools": lambda: static_pools(facts["memory"]),
        "boot_sysctls": lambda: boot_sysctls(facts),
        "sysctl_places": lambda: sysctl_places(facts),
        "tuning_services": lambda: tuning_services(facts),
        "persisted": lambda: persisted_lines(facts["persisted"]),
        "dropped_per_million": lambda: dropped_per_million(facts["network"]),
        "boot": lambda: boot(facts),
        "pci_options": lambda: pci_options(facts["kernel"]),
    })


def _of_hardware(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    cards = recorded(lambda: rdma_cards(facts, gpus))
    return settle({
        "scaling_driver": lambda: scaling_driver(facts["cpu"], facts["kernel"]),
        "frequency_limits": lambda: frequency_limits(facts["cpu"]["frequency"]),
        "odd_policies": lambda: odd_policies(facts["cpu"]["frequency"]["policies"], facts["cpu"]["kinds"]),
        "vulnerable": lambda: open_vulnerabilities(facts["cpu"]["vulnerabilities"]),
        "boost_switches": lambda: boost_switches(facts["cpu"]["frequency"]),
        "nothing_to_boost": lambda: nothing_to_boost(facts["cpu"]["frequency"]["policies"]),
        "die_controllers": lambda: has_die_controllers(facts["cpu"]),
        "idle_states": lambda: deep_states(facts["cpu"]["idle"]["states"]),
        "numa": lambda: numa(facts["numa"]["nodes"], facts["cpu"]),
        "memory_errors": lambda: memory_errors(facts["ras"]),
        "firmware": lambda: firmware_settings(facts),
        "rdma_cards": lambda: whole(cards),
        "rdma_ports": lambda: rdma_ports(facts, cards),
    })


def _of_log(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    return settle({
        "earlier_boots": lambda: earlier_boots(facts["kernel"]),
        "boots_with_harm": lambda: boots_with_harm(facts["kernel"]),
        "log_reach": lambda: log_reach(facts["kernel"]),
        "iommu_faults": lambda: iommu_faults(facts, gpus),
        "oom_kills": lambda: oom_kills(facts),
        "lockups": lambda: lockups(facts),
        "amdgpu_errors": lambda: amdgpu_errors(facts),
        "nvme_errors": lambda: nvme_errors(facts),
        "corrected_errors": lambda: corrected_errors(facts, [gpu for gpu in gpus if gpu["derived"]["compute"]]),
    })


def _of_nvidia(facts: dict[str, Any], gpus: list[dict[str, Any]], unusable: dict[str, str]) -> dict[str, Any]:
    return settle({
        "nvidia_gpus": lambda: [gpu["bdf"] for gpu in gpus if gpu["vendor"] == _NVIDIA and _is_counted(gpu)],
        "missing_nodes": lambda: missing_nodes(facts),
        "peermem": lambda: peermem(facts, gpus),
        "library_mismatch": lambda: library_mismatch(facts["nvidia"]),
        "logged_mismatches": lambda: mismatches(facts["nvidia"]),
        "resets_required": lambda: resets_required(facts["nvidia"]),
        "fabric": lambda: fabric(facts, [gpu for gpu in gpus if gpu["vendor"] == _NVIDIA and is_for_host(gpu)]),
        "hung": lambda: hung(facts["nvidia"]),
        "gpu_count": lambda: gpu_count(gpus, facts["nvidia"], unusable),
        "driver_branch": lambda: driver_branch(facts["nvidia"]),
        "xids": lambda: xids_by_device(facts),
        "sxids": lambda: sxids_by_switch(facts),
        "modprobe": lambda: modprobe(facts),
    })


def _of_gpu(gpu: dict[str, Any], facts: dict[str, Any], ports: dict[str, dict],
            all_unusable: dict[str, str]) -> dict[str, Any]:
    nvidia = facts["nvidia"]
    unusable = recorded(lambda: all_unusable.get(gpu["bdf"]))
    smi = recorded(lambda: nvidia["smi"])
    path = path_facts(gpu, ports, smi, lambda: is_one_moment(facts.get("source")))
    return partial({
        **settle({
            "compute": lambda: is_compute(gpu, ports),
            "for_host": lambda: is_for_host(gpu),
            "left_alone": lambda: left_alone(gpu),
            "spare": lambda: spare(gpu, facts["gpus"]),
            "unusable": lambda: whole(unusable),
            "write_obstacle": lambda: write_obstacle(gpu, whole(unusable)),
            "coherent": lambda: coherent(gpu),
        }),
        **several(("claims", "rivals"), lambda: claims(gpu, facts)),
        **path,
        **smi_facts(gpu, smi, dict.get(path, "idle")),
        **settle({
            "hung": lambda: hung(nvidia, gpu["bdf"]),
            "flavours": lambda: driver_flavours(gpu),
            "other_flavour": lambda: other_flavour(gpu, facts["gpus"]),
            "platform": lambda: "Grace Hopper" if is_grace_hopper(gpu) else gpu["generation"],
            "last_branch": lambda: last_branch(gpu),
            "remote_interrupts": lambda: remote_interrupts(gpu),
        }),
    })


def is_compute(gpu: dict[str, Any], ports: dict[str, dict]) -> bool:
    """Whether a GPU is a card, not an AMD processor's integrated graphics: AMD's cards have an AMD switch on board."""
    if gpu["vendor"] != _AMD or not gpu["class"].startswith(_VGA):
        return True
    nearest = ports.get(gpu["path"][0]) if gpu["path"] else None
    return nearest is not None and nearest["vendor"] == _AMD


def _is_counted(gpu: dict[str, Any]) -> bool:
    """Whether the GPU serves this host, or should."""
    return serves(gpu) and gpu["derived"]["spare"] is None
