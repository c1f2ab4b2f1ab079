# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan import health

GPU = "0000:41:00.0"
PORT = "0000:40:01.1"


def ok(value):
    return {"status": "ok", "value": value}


def facts():
    def device(bdf, driver):
        return {"bdf": bdf, "state": "ok", "driver": driver, "pcie": ok({"link": {"width": 16}}),
                "aer": ok({"correctable": 2, "nonfatal": 1, "fatal": 0})}

    return {
        "gpus": [{**device(GPU, "nvidia"), "path": [PORT],
                  "users": ok([{"pid": 77, "command": "vllm", "container": "101"}])}],
        "ports": [device(PORT, "pcieport")],
        "nvidia": {"xids": ok([{"bdf": GPU, "xid": number, "text": "NVRM: Xid"} for number in (79, 13)]),
                   "nodes": ok([{"path": "/dev/nvidia-uvm", "major": 511, "minor": 0}]),
                   "majors": ok([{"name": "nvidia-uvm", "major": 511}])},
        "guests": {"containers": ok([{"id": "101", "running": True}, {"id": "102", "running": False}]),
                   "vms": ok([{"id": "200", "running": True}])},
    }


def compare(change):
    before = facts()
    after = copy.deepcopy(before)
    change(after)
    seen = health.observe(before), health.observe(after)
    return health.triggers(*seen), health.notes(*seen)


def test_nothing_changed_is_no_trigger():
    assert compare(lambda after: None) == ([], [])


def harm_gone(after):
    after["gpus"][0].update(state="gone", pcie={"status": "gone", "value": None},
                            aer={"status": "absent", "value": None})


def harm_missing(after):
    after["gpus"].clear()


def harm_unbound(after):
    after["gpus"][0]["driver"] = None


def harm_width(after):
    after["gpus"][0]["pcie"]["value"]["link"]["width"] = 8


def harm_nonfatal(after):
    after["ports"][0]["aer"]["value"]["nonfatal"] = 2


def harm_fatal(after):
    after["ports"][0]["aer"]["value"]["fatal"] = 1


def harm_xid(after):
    after["nvidia"]["xids"]["value"].append({"bdf": GPU, "xid": 119, "text": "NVRM: Xid"})


@pytest.mark.parametrize("change, device, what", [
    (harm_gone, GPU, "the device reads all ones"),
    (harm_missing, GPU, "the device is gone"),
    (harm_unbound, GPU, "its driver was nvidia and is none"),
    (harm_width, GPU, "its link had 16 lanes and has 8"),
    (harm_nonfatal, PORT, "its nonfatal AER count rose from 1 to 2"),
    (harm_fatal, PORT, "its fatal AER count rose from 0 to 1"),
    (harm_xid, GPU, "the driver reported Xid 119"),
])
def test_harm_that_was_not_there_before_is_a_trigger(change, device, what):
    assert compare(change)[0] == [{"device": device, "what": what, "gpus": [GPU]}]


def more_correctable(after):
    after["ports"][0]["aer"]["value"]["correctable"] = 500


def more_software_xids(after):
    after["nvidia"]["xids"]["value"].append({"bdf": GPU, "xid": 31, "text": "NVRM: Xid"})


@pytest.mark.parametrize("change", [more_correctable, more_software_xids])
def test_a_rate_and_a_fault_of_a_program_are_no_trigger(change):
    assert compare(change) == ([], [])


def test_a_device_that_was_gone_before_is_not_ours():
    before = facts()
    harm_gone(before)
    seen = health.observe(before)
    assert health.triggers(seen, seen) == []


def test_what_else_moved_is_noted():
    def change(after):
        after["guests"]["containers"]["value"][0]["running"] = False
        after["gpus"][0]["users"]["value"].clear()
        after["nvidia"]["nodes"]["value"][0]["major"] = 510
        after["nvidia"]["majors"]["value"][0]["major"] = 510

    assert compare(change) == ([], [
        "lxc:101 stopped running", "vllm (77) no longer uses 0000:41:00.0",
        "device node /dev/nvidia-uvm was 511:0 and is 510:0", "character device nvidia-uvm 511 is gone"])
