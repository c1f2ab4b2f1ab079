# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of GPUs and NVSwitches in sentences: whom they concern, what holds now and what is history."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.faults.xid import (
    is_harm,
    sxids_by_switch,
    xids_by_device,
)

GPU = {"bdf": "0000:41:00.0", "vendor": "10de", "virtual_function": False}
NOTHING = {"broken": [], "follow_up": [], "noted": [], "program": [], "history": [], "earlier_boots": []}
TO_RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
TO_NOTHING = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"


def facts(*xids, gpus=(GPU,), action=None, trouble=None, earlier=()):
    """`xids`: address, number and text of each line; `action`: what nvidia-smi asks for, None where it is silent."""
    lines = [{"bdf": bdf, "xid": number, "seconds": 9.5, "text": f"NVRM: Xid (PCI:{bdf}): {number}, {text}"}
             for bdf, number, text in xids]
    smi = [{"bdf": GPU["bdf"], "recovery_action": action, "trouble": trouble}] if action else []
    return {"gpus": list(gpus), "nvidia": {
        "xids": {"status": "ok", "value": lines}, "smi": {"gpus": smi},
        "xids_of_earlier_boots": {"status": "ok", "value": list(earlier)}}}


def of(*xids, **more):
    """What is said of the one GPU, without what is empty."""
    said = xids_by_device(facts(*(("0000:41:00", number, text) for number, text in xids), **more))[0]
    return {key: sentences for key, sentences in said.items() if sentences and key != "bdf"}


RESET_64 = "Xid 64: a row or page of its memory could not be replaced (reset the GPU)"
RESET_95 = "Xid 95: an uncorrectable error in its memory, not contained: all may be spoilt (reset the GPU)"


def test_a_gpu_is_named_with_its_function_and_one_that_left_the_bus_without():
    assert xids_by_device(facts(("0000:99:00", 79, "x"))) == [
        {"bdf": "0000:41:00.0", **NOTHING},
        {"bdf": "0000:99:00", **NOTHING, "broken": ["Xid 79: it has fallen off the bus (restart the host)"]}]


def test_virtual_functions_are_no_gpus_of_their_own():
    virtual = {**GPU, "bdf": "0000:41:00.4", "virtual_function": True}
    assert [one["bdf"] for one in xids_by_device(facts(gpus=(virtual, GPU)))] == ["0000:41:00.0"]


def test_the_same_sentence_is_counted_and_two_meanings_of_one_number_are_two():
    assert of((31, "a"), (31, "b"), (149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x13 0x1 0x0)"),
              (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x11 0x0 0x0)")) == {
        "program": ["Xid 31, 2 times: an access of a program to memory that is not mapped (restart the program)"],
        "noted": ["Xid 149: an error of NVLink (NETIR), non-fatal (nothing has to be done now)"],
        "broken": ["Xid 149: an error of NVLink (NETIR), fatal (reset the GPU)"]}


def test_b09_a_row_that_was_replaced_and_an_error_that_was_contained_are_noted_the_others_want_a_reset():
    assert of((63, "Row Remapper: New row marked for remapping, reset gpu to activate."), (94, "Contained: SM (0x1)"),
              (64, "Row Remapper: Failed"), (95, "Uncontained: LTC TAG"), action="None") == {
        "noted": ["Xid 63: a row of its memory was given up, its spare is used after the next reset "
                  "(nothing has to be done now)",
                  "Xid 94: an uncorrectable error in its memory, contained: it ended one program "
                  "(restart the program)"],
        "broken": [RESET_64, RESET_95]}


def test_what_the_driver_said_last_holds():
    assert of((95, "x"), (154, TO_RESET)) == {
        "broken": [RESET_95, "Xid 154: the driver requires: GPU Reset Required"]}
    assert of((95, "x"), (154, TO_RESET), (154, TO_NOTHING)) == {
        "history": [RESET_95, "Xid 154: the driver requires: GPU Reset Required"]}
    assert of((95, "x"), (154, TO_RESET), (154, TO_NOTHING), (64, "x")) == {
        "history": [RESET_95, "Xid 154: the driver requires: GPU Reset Required"], "broken": [RESET_64]}


def test_the_live_answer_wins_over_the_log():
    assert of((95, "x"), (154, TO_RESET), action="None") == {
        "history": [RESET_95, "Xid 154: the driver requires: GPU Reset Required"]}
    assert of((95, "x"), (154, TO_RESET), action="Reset") == {
        "broken": [RESET_95, "Xid 154: the driver requires: GPU Reset Required"]}
    assert of((95, "x"), (154, TO_RESET), action="None", trouble="GPU is lost")["broken"][0] == RESET_95


def test_without_an_xid_154_nvidia_smi_takes_nothing_back():
    """A driver that never says that it wants an action cannot say that it no longer does."""
    assert of((95, "x"), action="None") == {"broken": [RESET_95]}


def test_errors_of_programs_are_no_history():
    assert list(of((13, "x"), (154, TO_RESET), (154, TO_NOTHING))) == ["program", "history"]


def test_earlier_boots_are_counted_apart():
    assert of(earlier=[{"bdf": "0000:41:00", "xid": 79, "count": 1}, {"bdf": "0000:41:00", "xid": 31, "count": 4}]) == {
        "earlier_boots": ["Xid 79", "Xid 31, 4 times"]}


def test_a_log_that_cannot_be_read_leaves_empty_lists():
    hidden = {"status": "denied", "value": None}
    assert xids_by_device({"gpus": [GPU], "nvidia": {"xids": hidden, "xids_of_earlier_boots": hidden,
                                                     "smi": {"gpus": []}}}) == [{"bdf": "0000:41:00.0", **NOTHING}]


@pytest.mark.parametrize("number, text, harm", (
    (79, "x", True), (119, "x", True), (168, "x", True), (31, "x", False), (63, "x", False), (999, "x", False),
    (142, "x", False), (144, "SAW_MVB Nonfatal XC0 i0 Link 00 (0x1 0x1 0x0)", False),
    (144, "SAW_MVB Fatal XC0 i0 Link 00 (0x1 0x2 0x0)", True), (154, TO_RESET, True), (154, TO_NOTHING, False),
))
def test_what_ends_a_change(number, text, harm):
    assert is_harm({"bdf": "0000:41:00", "xid": number, "seconds": 1.0, "text": f"NVRM: {text}"}) is harm


def test_errors_of_switches_by_switch():
    lines = [{"bdf": bdf, "sxid": number, "fatal": fatal, "seconds": 9.5,
              "text": f"nvidia-nvswitch0: SXid (PCI:{bdf}): {number}, {'Fatal' if fatal else 'Non-fatal'}, {text}"}
             for bdf, number, fatal, text in (
                 ("0000:c3:00.0", 24007, True, "Link 28 sourcetrack timeout error (First)"),
                 ("0000:c3:00.0", 24007, True, "Link 29 sourcetrack timeout error (First)"),
                 ("0000:c4:00.0", 12028, False, "Link 32 egress non-posted PRIV error (First)"))]
    assert sxids_by_switch({"pcie": {"nvswitches": ["0000:c3:00.0", "0000:c5:00.0"]},
                            "nvidia": {"sxids": {"status": "ok", "value": lines}}}) == [
        {"bdf": "0000:c3:00.0", "fatal": ["SXid 24007, 2 times: Link 28 sourcetrack timeout error (First)"],
         "other": []},
        {"bdf": "0000:c5:00.0", "fatal": [], "other": []},
        {"bdf": "0000:c4:00.0", "fatal": [],
         "other": ["SXid 12028: Link 32 egress non-posted PRIV error (First)"]}]
