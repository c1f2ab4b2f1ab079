# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listings of lspci without -n: devices have names and no numbers, as most people paste them."""
from __future__ import annotations

import pytest

BRIDGE = "00:00.0 Host bridge: Intel Corporation Some Host Bridge (rev 01)\n"
PORT = "00:01.0 PCI bridge: Intel Corporation Some Root Port\n"
CARD = "01:00.0 3D controller: NVIDIA Corporation GH100 [H100 NVL] (rev a1)\n"


def vendors(facts):
    return [(gpu["bdf"], gpu["vendor"]) for gpu in facts["gpus"]]


def test_a_card_without_its_number_has_no_generation(pasted):
    facts = pasted(BRIDGE + PORT + CARD)
    [gpu] = facts["gpus"]
    assert (gpu["vendor"], gpu["class"]) == ("10de", "030200")
    assert [gpu[name]["status"] for name in ("device", "generation")] == ["not_recorded"] * 2


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
