# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with AMD Instinct: its GPUs are listed, their links judged and compared; what is NVIDIA's raises no alarm."""
from __future__ import annotations

import pytest

from facts_schema import document_problems
from hosts import pci
from hosts.instinct import HIVE, MI300X, gpu_space, instinct
from verdicts import CHECKS, changes, failing, judged

OF_NVIDIA = {check for check in CHECKS if check.startswith("nvidia")} | {"iommu_acs", "pcie_bar_size"}
ODD = MI300X[2]


@pytest.fixture(scope="module")
def node(facts_of):
    return judged(facts_of(instinct))


def odd_partition(tree):
    instinct(tree)
    tree.files(pci.device_path(tree, ODD), {"current_compute_partition": "CPX",
                                            "power_dpm_force_performance_level": "manual"})


def narrow(tree):
    instinct(tree)
    pci.write_config(tree, ODD, gpu_space(width=8))


def suspended(tree):
    instinct(tree)
    pci.suspend(tree, ODD)


def test_the_inventory(facts_of):
    facts = facts_of(instinct)
    assert document_problems("facts.json", facts) == []
    assert [(gpu["bdf"], gpu["vendor"], gpu["class"], gpu["driver"], gpu["memory_mib"]["value"])
            for gpu in facts["gpus"]] == [(address, "1002", "120000", "amdgpu", 196288) for address in MI300X]
    assert {key: reading["value"] for key, reading in facts["gpus"][0]["amd"].items()} == {
        "performance_level": "auto", "compute_partition": "SPX", "memory_partition": "NPS1", "xgmi_hive": HIVE,
        "memory_bytes": 205822885888}


def test_nothing_of_nvidia_is_asked_of_it(node):
    assert {finding["verdict"] for (check, _subject), finding in node.items() if check in OF_NVIDIA} == {
        "not_applicable"}
    assert node["pcie_maxreadreq", ODD]["reason"] == "the recommendation is for NVIDIA GPUs"


def test_gpus_and_links_pass(node):
    for check in ("gpu_driver", "gpu_consistency", "gpu_numa_node", "pcie_link_width", "pcie_link_speed", "pcie_aer",
                  "pcie_maxpayload", "pcie_bottleneck", "pcie_extended_tags", "pcie_bar_assigned", "gpu_runtime_pm"):
        assert {node[check, gpu]["verdict"] for gpu in MI300X} == {"pass"}, check
    assert {check for check in failing(node) if check.startswith(("gpu", "pcie", "iommu", "nvidia"))} == set()


def test_one_that_is_set_up_differently_is_named(facts_of, node):
    assert changes(node, judged(facts_of(odd_partition))) == {
        ("gpu_consistency", ODD): 'fail P2: ["performance level is manual, of the others auto", '
                                  '"compute partition is CPX, of the others SPX"] -> empty true'}


def test_one_with_half_its_lanes(facts_of, node):
    assert changes(node, judged(facts_of(narrow))) == {
        ("pcie_link_width", ODD): "fail P1: 8 -> at_least 16"}


def test_amdgpu_is_not_asked_about_one_that_sleeps(facts_of):
    """Its files wake the GPU (amdgpu_pm_get_access() in drivers/gpu/drm/amd/pm/amdgpu_pm.c of older kernels)."""
    facts = facts_of(suspended)
    gpu = next(gpu for gpu in facts["gpus"] if gpu["bdf"] == ODD)
    assert (gpu["state"], gpu["amd"], gpu["memory_mib"]["status"]) == ("asleep", None, "absent")
    assert judged(facts)["gpu_runtime_pm", ODD]["verdict"] == "fail"
