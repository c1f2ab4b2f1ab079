# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listings of lspci without -n: devices have names and no numbers, as most people paste them."""
from __future__ import annotations

import pytest

from verdicts import judged

BRIDGE = "00:00.0 Host bridge: Intel Corporation Some Host Bridge (rev 01)\n"
PORT = "00:01.0 PCI bridge: Intel Corporation Some Root Port\n"
CARD = "01:00.0 3D controller: NVIDIA Corporation GH100 [H100 NVL] (rev a1)\n"


def vendors(facts):
    return [(gpu["bdf"], gpu["vendor"]) for gpu in facts["gpus"]]


def test_a_card_without_its_number_has_its_name_and_the_generation_of_its_chip(pasted):
    facts = pasted(BRIDGE + PORT + CARD)
    [gpu] = facts["gpus"]
    assert (gpu["vendor"], gpu["class"], gpu["generation"]) == ("10de", "030200", "hopper")
    assert gpu["model"] == "NVIDIA Corporation GH100 [H100 NVL]"
    assert gpu["device"]["status"] == "not_recorded"


@pytest.mark.parametrize("name, generation", [
    ("GP102 [GeForce GTX 1080 Ti]", "pascal"), ("TU116M [GeForce GTX 1660 Ti Mobile]", "turing"),
    ("GA102GL [RTX A6000]", "ampere"), ("AD102 [GeForce RTX 4090]", "ada"), ("GB202 [GeForce RTX 5090]", "blackwell"),
    ("GB20B [GB10]", "blackwell"), ("GV100GL [Tesla V100 SXM2 16GB]", "volta")])
def test_the_chip_in_a_name_tells_the_generation(pasted, name, generation):
    [gpu] = pasted(f"{BRIDGE}{PORT}01:00.0 VGA compatible controller: NVIDIA Corporation {name} (rev a1)\n")["gpus"]
    assert gpu["generation"] == generation


@pytest.mark.parametrize("name", ["GK110BGL [Tesla K40m]", "G98 [GeForce 8400 GS]"])
def test_a_name_whose_chip_is_not_in_the_list_tells_none(pasted, name):
    [gpu] = pasted(f"{BRIDGE}{PORT}01:00.0 VGA compatible controller: NVIDIA Corporation {name} (rev a1)\n")["gpus"]
    assert gpu["generation"]["status"] == "not_recorded"


def test_a_revision_of_all_ones_is_a_device_that_does_not_answer(pasted):
    [gpu] = pasted(BRIDGE + PORT + CARD.replace("(rev a1)", "(rev ff)"))["gpus"]
    assert (gpu["state"], gpu["pcie"]["status"]) == ("gone", "gone")


def test_the_processor_s_npu_is_no_gpu(pasted):
    npu = "00:0b.0 Processing accelerators: Intel Corporation Meteor Lake NPU (rev 04)\n"
    assert vendors(pasted(BRIDGE + PORT + CARD + npu)) == [("0000:01:00.0", "10de")]


@pytest.mark.parametrize("display", [
    "00:02.0 VGA compatible controller: Intel Corporation Some Graphics (rev 09)",      # part of the processor
    "06:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)",
    "06:00.0 VGA compatible controller: Matrox Electronics Systems Ltd. G200eH3 (rev 02)",
    "06:00.0 VGA compatible controller: Somebody Else Ltd. Display 9000",
    "06:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] ES1000 (rev 02)",
    "06:00.0 VGA compatible controller: ATI Technologies Inc Rage XL (rev 27)",
])
def test_another_display_does_not_hide_the_card(pasted, display):
    assert vendors(pasted(f"{BRIDGE}{PORT}{CARD}{display}\n")) == [("0000:01:00.0", "10de")]


@pytest.mark.parametrize("name", [
    "Advanced Micro Devices, Inc. [AMD/ATI] Vega 20 (rev 02)", "ATI Technologies Inc Some Card",
    "Advanced Micro Devices [AMD] nee ATI Some Card", "AMD/ATI Some Card",
])
def test_the_names_that_amd_has_had(pasted, name):
    assert vendors(pasted(f"{BRIDGE}{PORT}01:00.0 VGA compatible controller: {name}\n")) == [("0000:01:00.0", "1002")]


def test_an_intel_display_that_may_be_a_card_is_not_decided(pasted):
    """Without the bridges' bus numbers nobody knows whether bus 3 is behind a port."""
    facts = pasted(f"{BRIDGE}{PORT}03:00.0 VGA compatible controller: Intel Corporation Some Graphics\n")
    assert facts["gpus"]["status"] == "not_recorded"


@pytest.mark.parametrize("text, whole", [
    # Arm: a root port in place of a host bridge
    ("0000:00:00.0 PCI bridge: Somebody Device 0002\n0001:01:00.0 Non-Volatile memory controller: Some SSD\n", True),
    ("00:00.0 PCI bridge: Somebody Device 0002\n", False),                  # lspci -s 00:00.0
    ("", False),                                                            # lspci -s 01:00.0
])
def test_which_listings_have_all_devices(pasted, text, whole):
    facts = pasted(text + CARD)
    assert facts["pcie"]["functions"]["status"] == ("ok" if whole else "not_recorded")
    if whole:
        assert vendors(facts) == [("0000:01:00.0", "10de")]


def test_without_a_gpu_the_reason_is_that_and_not_what_the_listing_lacks(pasted):
    """Whether it is a container is not known; that nothing is there to check is."""
    display = "06:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)\n"
    found = judged(pasted(BRIDGE + PORT + display))
    reasons = {finding["reason"] for finding in found.values() if finding["verdict"] == "not_applicable"}
    assert reasons == {"no GPU on this host", "no NVIDIA GPU on this host", "no NVIDIA or AMD GPU on this host"}
