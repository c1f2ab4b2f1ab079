# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.xid import DEVICE_XIDS, meaning, xids_by_device

GPU = {"bdf": "0000:41:00.0", "vendor": "10de", "virtual_function": False}


def facts(*xids, gpus=(GPU,)):
    lines = [{"bdf": bdf, "xid": number, "seconds": 1.0, "text": text} for bdf, number, text in xids]
    return {"gpus": list(gpus), "nvidia": {"xids": {"status": "ok", "value": lines}}}


@pytest.mark.parametrize("number, kind", [
    (79, "device"), (48, "device"), (63, "device"), (64, "device"), (74, "device"), (94, "device"), (95, "device"),
    (119, "device"), (120, "device"), (154, "device"), (149, "device"), (32, "driver"), (109, "driver"),
    (13, "program"), (31, "program"), (43, "program"), (45, "program"), (9999, "program")])
def test_whom_a_number_concerns(number, kind):
    assert meaning(number)[0] == kind
    assert (number in DEVICE_XIDS) is (kind == "device")


def test_a_number_that_nobody_here_knows_says_where_to_look():
    assert meaning(9999) == ("program", "see docs.nvidia.com/deploy/xid-errors")


def test_every_gpu_has_its_own_and_repeats_are_counted():
    other = {**GPU, "bdf": "0000:61:00.0"}
    found = xids_by_device(facts(("0000:41:00", 31, "a"), ("0000:41:00", 31, "b"), ("0000:41:00", 79, "c"),
                                 ("0000:41:00", 109, "d"), gpus=(GPU, other)))
    assert found == [
        {"bdf": "0000:41:00.0", "device": ["Xid 79: it has fallen off the bus"],
         "driver": ["Xid 109: a context did not switch in time"],
         "program": ["Xid 31, 2 times: an access of a program to memory that is not mapped"]},
        {"bdf": "0000:61:00.0", "device": [], "driver": [], "program": []}]


def test_an_address_that_has_left_the_bus_is_not_lost():
    found = xids_by_device(facts(("0000:99:00", 79, "x")))
    assert [(one["bdf"], len(one["device"])) for one in found] == [("0000:41:00.0", 0), ("0000:99:00", 1)]


def test_a_virtual_function_leaves_the_number_to_the_physical_one():
    virtual = {**GPU, "bdf": "0000:41:00.4", "virtual_function": True}
    assert [one["bdf"] for one in xids_by_device(facts(("0000:41:00", 79, "x"), gpus=(virtual, GPU)))] == [
        "0000:41:00.0"]


@pytest.mark.parametrize("text, counted", [
    ("NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", 1),
    ("NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", 0)])
def test_a_recovery_that_is_over_is_no_error(text, counted):
    assert len(xids_by_device(facts(("0000:41:00", 154, text)))[0]["device"]) == counted


def test_a_log_that_could_not_be_read_has_none():
    hidden = {"gpus": [GPU], "nvidia": {"xids": {"status": "denied", "value": None}}}
    assert xids_by_device(hidden) == [{"bdf": "0000:41:00.0", "device": [], "driver": [], "program": []}]
