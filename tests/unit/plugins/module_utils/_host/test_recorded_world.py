# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording that says what it does not have: every door of a host answers so, and never "there is no such thing"."""
from __future__ import annotations

import json
import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import (
    LackingError,
    NotRecorded,
    Reading,
    as_facts,
    known,
    settle,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guests import read as read_guests

WHY = "the bug report does not have it"


def recorded(tree, **answers):
    tree.file("/recorded/answers.json", json.dumps(answers))
    return Host(str(tree.root))


READINGS = {
    "read": lambda host: host.read("/proc/modules"),
    "read_int": lambda host: host.read_int("/proc/sys/vm/swappiness"),
    "read_attributes": lambda host: host.read_attributes("/sys/kernel/mm/ksm", ["run"])["run"],
    "contains": lambda host: host.contains("/proc/kallsyms", b"x"),
    "read_list": lambda host: host.read_list("/etc/modprobe.d"),
    "read_list of a folder that is there": lambda host: host.read_list("/proc"),
    "read_link": lambda host: host.read_link("/sys/bus/pci/devices/0000:01:00.0/driver"),
    "read_links": lambda host: host.read_links("/sys/class/net"),
    "recorded": lambda host: host.recorded("kmsg.txt"),
    "device_nodes": lambda host: host.device_nodes("/dev"),
    "run": lambda host: host.run(["nvidia-smi", "-q", "-x"], 1, recorded="nvidia-smi.xml"),
}
PLAIN = {
    "exists": lambda host: host.exists("/usr/bin/pveversion"),
    "is_dir": lambda host: host.is_dir("/sys/firmware/efi"),
    "list": lambda host: host.list("/lib/modules"),
    "glob": lambda host: host.glob("/sys/devices/system/cpu/cpufreq/policy*"),
    "link_name": lambda host: host.link_name("/etc/pve/local"),
    "mode": lambda host: host.mode("/dev/nvidia0"),
    "owner": lambda host: host.owner("/etc/os-release"),
    "modified": lambda host: host.modified("/boot/initrd.img-6.8"),
    "device_node": lambda host: host.device_node("/dev/nvidia0"),
}


@pytest.mark.parametrize("door", READINGS)
def test_a_reading_of_an_open_recording_says_that_it_is_not_recorded(tree, door):
    found = READINGS[door](recorded(tree, open=WHY))
    assert (found.status, found.ok) == ("not_recorded", False)
    assert WHY in found.detail


@pytest.mark.parametrize("door", READINGS)
def test_the_same_reading_of_a_closed_recording_is_absent(tree, door):
    found = READINGS[door](recorded(tree, failures={}, links={}))
    assert found.status == ("ok" if door == "read_list of a folder that is there" else "absent")


@pytest.mark.parametrize("door", PLAIN)
def test_what_has_no_status_raises(tree, door):
    with pytest.raises(NotRecorded, match=WHY):
        PLAIN[door](recorded(tree, open=WHY))


def test_what_raises_oserror_raises_one_that_says_why(tree):
    host = recorded(tree, open=WHY)
    for ask in (lambda: host.read_bytes("/proc/1/environ"), lambda: host.read_at("/x", 0, 4), lambda: host.below("/y")):
        with pytest.raises(LackingError, match=WHY):
            ask()


def test_what_is_recorded_is_read_as_ever(tree):
    host = recorded(tree.sysctl("vm.swappiness", 60), open=WHY)
    assert host.read_int("/proc/sys/vm/swappiness") == ("ok", 60, None)
    assert host.exists("/proc/sys/vm") is True


# -- which part of it is known ----------------------------------------------------------------------------------------

def test_below_a_closed_folder_what_is_missing_is_absent(tree):
    tree.folder("/sys/bus/pci/devices/0000:01:00.0")
    host = recorded(tree, open=WHY, closed=["/sys/bus/pci/devices"])
    assert host.list("/sys/bus/pci/devices") == ["0000:01:00.0"]
    assert host.read("/sys/bus/pci/devices/0000:01:00.0/driver_override").status == "absent"
    assert host.exists("/sys/bus/pci/devices/0000:02:00.0") is False
    assert host.read_list("/sys/bus/pci").status == "not_recorded"


def test_of_a_listed_folder_the_names_are_known_and_not_what_is_in_them(tree):
    tree.file("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
    host = recorded(tree, open=WHY, listed=["/sys/bus/pci/devices"])
    assert host.list("/sys/bus/pci/devices") == ["0000:01:00.0"]
    assert host.read("/sys/bus/pci/devices/0000:02:00.0/vendor").status == "absent"
    assert host.read("/sys/bus/pci/devices/0000:01:00.0/aer_dev_fatal").status == "not_recorded"
    assert host.read_list("/sys/bus/pci/devices/0000:01:00.0").status == "not_recorded"


def test_the_longest_prefix_decides(tree):
    host = recorded(tree, open=WHY, closed=["/proc", "/proc/driver/nvidia/gpus/x"],
                    not_recorded={"/proc/driver/nvidia/gpus": "left out by --safe-mode"})
    assert host.read("/proc/modules").status == "absent"
    assert host.read("/proc/driver/nvidia/gpus/y").detail == "left out by --safe-mode"
    assert host.read("/proc/driver/nvidia/gpus/x/power").status == "absent"
    assert host.read("/proc/driver/nvidia/gpus_of_old").status == "absent"


def test_a_reason_of_its_own_needs_no_open_recording(tree):
    host = recorded(tree, not_recorded={"/proc/kallsyms": "larger than the limit"})
    assert host.read("/proc/kallsyms").detail == "larger than the limit"
    assert host.read("/proc/modules").status == "absent"


def test_a_folder_that_lacks_a_name_is_not_listed(tree):
    tree.folder("/proc/driver")
    host = recorded(tree, not_recorded={"/proc/driver/nvidia/gpus": WHY})
    assert host.read_list("/proc/driver").status == "not_recorded"
    assert host.read_list("/proc").value == ["driver", "sys"]


def test_either_spelling_of_a_place_counts(tree):
    tree.link("/sys/bus/pci/devices/0000:01:00.0", "../../../devices/pci0000:00/0000:01:00.0")
    tree.folder("/sys/devices/pci0000:00/0000:01:00.0")
    host = recorded(tree, open=WHY, closed=["/sys/bus/pci/devices"])
    assert host.read("/sys/bus/pci/devices/0000:01:00.0/numa_node").status == "absent"
    assert host.read("/sys/devices/pci0000:00/0000:01:00.0/numa_node").status == "not_recorded"


def test_what_failed_is_not_what_is_missing(tree):
    host = recorded(tree, open=WHY, failures={"/proc/kallsyms": 13})
    assert host.read("/proc/kallsyms").status == "denied"


# -- files that end early ---------------------------------------------------------------------------------------------

def test_a_file_that_was_cut_is_not_read_as_a_whole(tree):
    tree.file("/proc/interrupts", "0: 1").file("/x", b"0123")
    host = recorded(tree, cut={"/proc/interrupts": "4 MiB are kept", "/x": "4 bytes"})
    assert host.read("/proc/interrupts").detail == "4 MiB are kept"
    assert host.contains("/proc/interrupts", b"1") == ("ok", True, None)
    assert host.contains("/proc/interrupts", b"LOC").status == "not_recorded"
    assert host.read_at("/x", 2, 4) == b"23"
    assert host.why_cut("/x") == "4 bytes"


# -- readings ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("use", [
    lambda reading: reading.value, lambda reading: reading or [], list, len,
    lambda reading: reading["state"], lambda reading: reading == "live", lambda reading: reading != "live",
    lambda reading: reading in ("live", "absent"), lambda reading: "x" in reading, lambda reading: {reading: 1}])
def test_nobody_takes_it_for_nothing(use):
    with pytest.raises(NotRecorded, match=WHY):
        use(Reading("not_recorded", None, WHY))


def test_a_plain_value_that_rests_on_it_becomes_one():
    lacking = Reading("not_recorded", None, WHY)
    found = settle({"names": lambda: lacking.value or [], "count": lambda: 1})
    assert as_facts(found) == {"names": {"status": "not_recorded", "value": None, "why": WHY}, "count": 1}
    assert known(lambda: lacking.map(int)) is lacking


# -- folders that every host has --------------------------------------------------------------------------------------

@pytest.mark.parametrize("folder", ["/etc", "/proc", "/sys"])
def test_a_recording_without_one_of_them_does_not_say_that_it_is_empty(tree, folder):
    shutil.rmtree(tree.path(folder))
    assert Host(str(tree.root)).read(f"{folder}/pve/local").detail == f"the recording has no {folder}"


def test_without_etc_nobody_says_that_there_are_no_guests(tree):
    shutil.rmtree(tree.path("/etc"))
    assert read_guests(Host(str(tree.root)))["status"].status == "not_recorded"
