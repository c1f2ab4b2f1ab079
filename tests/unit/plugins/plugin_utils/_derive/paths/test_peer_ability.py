# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs reach others: MIG mode, GeForce cards, registry keys; and which nobody can tell of."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.paths.peer_ability import forced_by_keys

import neutral_facts as neutral
from neutral_facts import lacking, merge, ok

GEFORCE = "NVIDIA GeForce RTX 4090"
SECOND = "0000:04:00.0"


def in_force(registry):
    return ok([{"name": "RegistryDwords", "value": registry}])


def p2p(model, *, flavour="open", registry="", parameters=None, mig=None, iommu="DMA-FQ", **change):
    """Two GPUs of a model, below one root complex, translated unless said otherwise."""
    facts = merge(neutral.epyc(), {
        "gpus": [{"model": model, "iommu_type": ok(iommu), **change},
                 {"bdf": SECOND, "model": model, "iommu_type": ok(iommu)}],
        "nvidia": {"flavour": flavour, "parameters": parameters or in_force(registry)}})
    for seen, mode in zip(facts["nvidia"]["smi"]["gpus"], mig or ()):
        seen["mig"] = mode
    return derive(facts)["derived"]["p2p"]


@pytest.mark.parametrize("registry", ["ForceP2P=0x11;RMPcieP2PType=2", '"ForceP2P=0x1"', "ForceP2P=17", "ForceP2P=0x10",
                                      "PeerMappingOverride=1"])
def test_geforce_cards_with_keys_in_force_are_judged(registry):
    found = p2p(GEFORCE, registry=registry)
    assert (found["gpus"], found["outcome"]) == (2, ok("translated"))


@pytest.mark.parametrize("registry", ["", "EnableResizableBar=1", "RMPcieP2PType=2", "ForceP2P=0x22",
                                      "PeerMappingOverride=0", "ForceP2P=yes"])
def test_geforce_cards_on_open_modules_cannot_be_told_without(registry):
    found = p2p(GEFORCE, registry=registry)
    assert (found["gpus"], found["perhaps"], found["none"], found["outcome"]["value"]) == (0, 2, None, None)
    assert "nvidia-smi topo -p2p r" in found["outcome"]["why"]


def test_what_lies_straight_is_right_whatever_the_modules_offer():
    assert p2p(GEFORCE, iommu="identity")["outcome"] == ok("direct")


def test_keys_for_one_device_are_for_that_one():
    keys = "pci=0000:03:00.0;ForceP2P=0x11;pci=00000000:04:00.0; ForceP2P=0x00"
    parameters = ok([{"name": "RegistryDwordsPerDevice", "value": keys}, {"name": "RegistryDwords", "value": ""}])
    assert [forced_by_keys(parameters, bdf) for bdf in ("0000:03:00.0", SECOND, "0000:05:00.0")] == [True, False, None]
    found = p2p(GEFORCE, parameters=parameters)
    assert (found["gpus"], found["perhaps"]) == (1, 1)


def test_unreadable_parameters_may_hide_a_key():
    found = p2p(GEFORCE, flavour="proprietary", parameters=lacking("denied"))
    assert (found["none"], found["outcome"]["value"]) == (None, None)


def test_the_binary_modules_offer_geforce_cards_nothing():
    found = p2p(GEFORCE, flavour="proprietary")
    assert (found["perhaps"], found["none"]) == (
        0, "NVIDIA's modules do not support peer-to-peer between GeForce RTX cards")


def test_a_key_can_switch_transfers_off():
    found = p2p("NVIDIA RTX A6000", registry="ForceP2P=0x0")
    assert found["none"] == "the registry key ForceP2P disables peer-to-peer"


@pytest.mark.parametrize("modes, none", [
    (("Enabled", "Enabled"), "GPUs in MIG mode have no peer-to-peer"),
    (("Enabled", "Disabled"), "GPUs in MIG mode have no peer-to-peer"),
    (("Disabled", "Disabled"), None), ((None, None), None),
])
def test_gpus_in_mig_mode_reach_nobody(modes, none):
    assert p2p("NVIDIA A100 80GB PCIe", mig=modes)["none"] == none


@pytest.mark.parametrize("text, forced", [("ForceP2P=0x00", False), ("ForceP2P=0x02", None), ("ForceP2P=0x01", True),
                                          ("ForceP2P=0x00;PeerMappingOverride=1", True), ("", None)])
def test_both_fields_of_the_key_count(text, forced):
    assert forced_by_keys(in_force(text)) is forced
