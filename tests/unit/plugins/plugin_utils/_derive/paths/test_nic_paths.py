# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network cards and GPUs below one switch, whatever joins the GPUs."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok

ROOT, OF_GPU, OF_CARD = "0000:01:00.0", "0000:02:00.0", "0000:02:02.0"


def card(redirect=False, iommu=None, **change):
    return {"name": "mlx5_0", "bdf": "0000:05:00.0", "node_type": "CA", "vendor": "15b3", "model": None,
            "ports": [], "netdevs": [],
            "virtual_function": False, "pcie": ABSENT, "port": ABSENT, "iommu_type": iommu or ok("identity"),
            "above": [{"bdf": OF_CARD, "acs": ok(neutral.acs(redirect=redirect))},
                      {"bdf": ROOT, "acs": ok(neutral.acs(redirect=True))}], **change}


def facts_with(*cards, vms=(), root="root_port", **gpu):
    facts = merge(neutral.epyc(), {"rdma": {"devices": list(cards)},
                                   "gpus": [{"path": [OF_GPU, ROOT], "iommu_type": ok("identity"), **gpu}]})
    ports = [neutral.port(OF_GPU, "downstream_port", 0), neutral.port(ROOT, root, 0)]
    return {**facts, "ports": ports, "guests": {**facts["guests"], "vms": ok(list(vms))}}


def paths(*cards, **more):
    return derive(facts_with(*cards, **more))["derived"]["nic_paths"]


def vm(bdf):
    return {"id": "200", "name": "r", "running": False, "lock": None, "onboot": False, "cpus": None, "pinned": False,
            "hostpci": [{"key": "hostpci0", "value": bdf, "mapping": None, "bdfs": [bdf], "missing": []}]}


@pytest.mark.parametrize("one, state, redirecting", [
    (card(), "direct", []),
    (card(redirect=True), "redirected", [OF_CARD]),                 # the shared root port does not count
    (card(iommu=ok("DMA-FQ")), "translated", []),
    (card(redirect=True, iommu=ok("DMA")), "translated and redirected", [OF_CARD]),
    (card(iommu=lacking("denied")), None, []),
    (card(iommu=ABSENT), "direct", []),
])
def test_the_state_of_a_pair_below_one_switch(one, state, redirecting):
    found = paths(one)
    assert (len(found["pairs"]), found["state"], found["redirect_ports"]) == (1, state, redirecting)


@pytest.mark.parametrize("change", [{"model": "NVIDIA H100 80GB HBM3"}, {"model": "NVIDIA A100-SXM4-80GB"}])
def test_nvlink_between_the_gpus_changes_nothing(change):
    assert paths(card(redirect=True), **change)["state"] == "redirected"


@pytest.mark.parametrize("cards, more", [
    ((card(above=[{"bdf": "0000:60:01.1", "acs": ok(None)}]),), {}),            # another root port
    ((card(virtual_function=True),), {}), ((card(bdf=None, above=[]),), {}),
    ((card(),), {"vms": [vm("0000:05:00")]}),
    ((card(),), {"driver": "vfio-pci", "state": "passed_through"}),
    ((card(),), {"model": "NVIDIA GeForce RTX 4090"}), ((card(),), {"vendor": "1002"}), ((), {}),
])
def test_what_is_no_pair(cards, more):
    found = paths(*cards, **more)
    assert (found["pairs"], found["state"], found["clear"]) == ([], "direct", None)


def test_below_a_processor_of_nvidia_translation_is_as_it_should_be():
    """NVIDIA's guide to GPUDirect Storage wants the IOMMU on and passthrough off on Grace."""
    facts = facts_with(card(iommu=ok("DMA-FQ")), iommu_type=ok("DMA-FQ"))
    assert derive(facts)["derived"]["nic_paths"]["state"] == "translated"
    for port in facts["ports"]:
        port["vendor"] = "10de" if port["bdf"] == ROOT else port["vendor"]
    derived = derive({**facts, "cpu": {**facts["cpu"], "vendor": None}})["derived"]
    assert (derived["nic_paths"]["state"], derived["translation"]) == (
        "direct", {"wanted": True, "parameter": "iommu.passthrough=1"})


def test_facts_of_an_earlier_release_have_no_ports_above_cards():
    old = card(redirect=True)
    del old["above"], old["iommu_type"]
    assert paths(old)["pairs"] == []
