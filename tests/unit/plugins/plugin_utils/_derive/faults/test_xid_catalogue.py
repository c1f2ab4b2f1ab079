# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an Xid line means. Buckets and rules were written down from NVIDIA's catalog of 2025-10-29."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.faults.xid_catalogue import (
    DATE,
    GPU,
    PROGRAM,
    meaning,
    recovery_action,
)


def said(number, text=""):
    found = meaning(number, f"NVRM: Xid (PCI:0000:06:00): {number}, {text}")
    return found.about, found.priority, found.todo


@pytest.mark.parametrize("number, priority, todo", (
    (46, "P0", "reset the GPU"), (48, "P0", "drain the GPU and reset it; Xid 63, 64, 94 or 95 beside it say more"),
    (54, "P0", "look at seat, cables and power"), (62, "P0", "reset the GPU"), (63, "P2", "nothing has to be done now"),
    (64, "P0", "reset the GPU"), (66, "P2", "nothing has to be done now"),
    (74, "P0", "reset the GPU; look at both ends of the link"), (78, "P1", "update driver and firmware"),
    (79, "P0", "restart the host"), (92, "P2", "nothing has to be done now"), (94, "P2", "restart the program"),
    (95, "P0", "reset the GPU"), (109, "P0", "reset the GPU"), (119, "P0", "reset the GPU"),
    (121, "P2", "nothing has to be done now"), (140, "P0", "reset the GPU"),
    (142, "P1", "nvidia-bug-report.sh for NVIDIA's support"), (151, "P0", "restart the virtual machine"),
    (157, "P2", "nothing has to be done now"), (159, "P1", "look for what nvidia-uvm says beside it"),
    (160, "P2", "nothing has to be done now"), (161, "P2", "nothing has to be done now"),
))
def test_the_bucket_decides(number, priority, todo):
    assert said(number) == (GPU, priority, todo)


@pytest.mark.parametrize("number", (8, 13, 31, 32, 37, 43, 45, 68, 69, 86, 105, 137))
def test_what_a_program_has_to_mend(number):
    assert said(number)[:2] == (PROGRAM, "P2")


@pytest.mark.parametrize("number, priority", ((162, "P2"), (163, "P2"), (164, "P2"), (165, "P2"), (166, "P1"),
                                              (167, "P0"), (168, "P0"), (169, "P0"), (170, "P1"), (171, "P0"),
                                              (172, "P0")))
def test_numbers_for_which_the_catalog_names_no_bucket(number, priority):
    assert said(number) == (GPU, priority, "no action in the catalog")


def test_b10_a_number_that_is_not_in_the_catalog_says_so():
    found = meaning(999, "NVRM: Xid (PCI:0000:76:00): 999, a number of the future")
    assert found == (GPU, "P2", "not in NVIDIA's catalog of 2025-10-29", None)
    assert DATE == "2025-10-29"


def test_numbers_that_the_catalog_calls_unused():
    assert said(57) == (GPU, "P1", "nvidia-bug-report.sh for NVIDIA's support")
    assert said(14) == (GPU, "P2", "nothing has to be done now")


@pytest.mark.parametrize("number, text, priority, word", (
    # By the rule of the unit: a bit of ErrorStatus, or the reason in IntrInfo; layouts of before and since driver 575.
    (149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001 0x00000000)", "P2", "non-fatal"),
    (145, "pid=4242, name=python3, RLW_CTRL Nonfatal XC0 i0 Link 00 (0x00000003 0x80000000 0x0)", "P2", "non-fatal"),
    (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000 0x00000000)", "P0", "fatal"),
    (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x02600011 0x00000000 0x00000000)", "P2", "fatal"),    # reason 38
    (144, "SAW_MVB Fatal XC0 i0 Link 00 (0x00000001 0x00000002 0x00000000 0x00000000)", "P0", "fatal"),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000001 0x00000001 0x00000000 0x00000000)", "P2", "non-fatal"),
    (145, "RLW_REMAP Nonfatal XC0 i0 Link 00 (0x00000004 0x00000001 0x0)", "P2", "non-fatal"),
    (145, "RLW_REMAP Fatal XC0 i0 Link 00 (0x00000004 0x00000041 0x0)", "P0", "fatal"),     # two bits: the worse one
    (149, "NETIR_MFDE_EVENT Nonfatal XC0 i0 Link 00 (0x00000014 0x00000003 0x0)", "P2", "non-fatal"),
    (150, "MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 0x0)", "P0", "fatal"),
    # No rule: the word of the line.
    (146, "TLW_NEW Nonfatal XC0 i0 Link 00 (0x0000000a 0x00000001 0x0)", "P2", "non-fatal"),
    (146, "TLW_NEW Fatal XC0 i0 Link 00 (0x0000000a 0x00000001 0x0)", "P0", "fatal"),
))
def test_b08_errors_of_nvlink_5_by_sub_code_and_word(number, text, priority, word):
    found = meaning(number, f"NVRM: Xid (PCI:0000:06:00): {number}, {text}")
    assert (found.about, found.priority, found.words.rpartition(", ")[2]) == (GPU, priority, word)


def test_an_error_of_nvlink_5_without_a_word_is_the_gpus():
    assert said(147)[:2] == (GPU, "P0")


@pytest.mark.parametrize("text, action, priority", (
    ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "GPU Reset Required", "P0"),
    ("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "Node Reboot Required", "P0"),
    ("GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", "OS Reboot", "P0"),
    ("GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", "Drain P2P", "P1"),
    ("GPU recovery action changed from 0x0 (None) to 0x9 (Something New)", "Something New", "P0"),
    ("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "None", "P2"),
    ("in other words", None, "P2"),
))
def test_154_names_the_action(text, action, priority):
    assert recovery_action(text) == action
    assert meaning(154, f"NVRM: Xid (PCI:0000:06:00): 154, {text}").priority == priority
