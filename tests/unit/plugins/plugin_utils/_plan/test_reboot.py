# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan import reboot
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import (
    HostFolder,
    RecordError,
    write_audit,
)

import neutral_facts as neutral
from neutral_facts import merge, ok

OLD, NEW = "0b54b1f2", "c4a9e6d0"


def document(boot_id=OLD, facts=None):
    return {"schema": "gpuhost.audit/1", "host": "pve1", "profile": "inference",
            "collected_at": "2026-11-29T18:30:00Z", "boot_id": boot_id, "facts": facts or {}}


@pytest.fixture
def folder(tmp_path):
    return HostFolder(str(tmp_path), "pve1")


def record(folder, boot_id, name=reboot.LATEST):
    write_audit(folder.path / name, document(boot_id))


def names(folder):
    return sorted(path.name for path in folder.path.iterdir())


# -- which audit is of the boot before --------------------------------------------------------------------------------

def test_the_latest_audit_where_it_is_of_another_boot(folder):
    record(folder, OLD)
    assert reboot.previous(folder, NEW)["boot_id"] == OLD
    assert reboot.previous(folder, OLD) is None


def test_the_one_that_was_kept_where_this_boot_was_audited_too(folder):
    record(folder, OLD)
    reboot.keep_previous(folder, NEW)
    assert names(folder) == ["audit-previous-boot.json"]
    record(folder, NEW)
    assert reboot.previous(folder, NEW)["boot_id"] == OLD
    reboot.keep_previous(folder, NEW)
    assert names(folder) == ["audit-previous-boot.json", "audit.json"]


@pytest.mark.parametrize("text", ["", "not JSON", "[]", '{"boot_id": null}', '{\n "boot_id": null\n}'])
def test_a_file_without_a_boot_is_neither_kept_nor_compared(folder, text):
    folder.path.mkdir()
    (folder.path / reboot.LATEST).write_text(text)
    assert reboot.previous(folder, NEW) is None
    reboot.keep_previous(folder, NEW)
    assert names(folder) == ["audit.json"]


def test_without_a_record_or_a_boot_id_nothing_is_compared(folder):
    assert reboot.previous(folder, NEW) is None
    record(folder, OLD)
    assert reboot.previous(folder, None) is None
    reboot.keep_previous(folder, None)
    assert names(folder) == ["audit.json"]


# -- what broke --------------------------------------------------------------------------------------------------------

def compare(fragment, before=None):
    facts = neutral.epyc()
    found = reboot.compare_boots(document(facts=merge(facts, before or {})), merge(facts, fragment))
    return [(one["subject"], one["check"]) for one in found["broken"]], found["changed"]


def test_a_reboot_that_changed_nothing():
    assert compare({}) == ([], [])


def test_kernel_driver_and_firmware_only_changed():
    assert compare({
        "kernel": {"release": ok("7.0.14-1-pve")}, "nvidia": {"driver_version": ok("610.11.02")},
        "cpu": {"frequency": {"drivers": ["acpi-cpufreq"]}}, "firmware": {"bios_version": ok("1204")}})[1] == [
        "the kernel was 6.17.13-2-pve and is 7.0.14-1-pve", "the NVIDIA driver was 595.58.03 and is 610.11.02",
        "the frequency driver was amd-pstate-epp and is acpi-cpufreq", "the BIOS was 1203 and is 1204"]


def test_a_kernel_without_the_module():
    gpus = [{**gpu, "driver": None} for gpu in neutral.epyc()["gpus"]]
    broken, _changed = compare({"gpus": gpus, "nvidia": {"module": {"state": "absent"}}})
    assert (None, "nvidia_module") in broken
    assert [subject for subject, check in broken if check == "gpu_driver"] == [gpu["bdf"] for gpu in gpus]


def test_a_gpu_that_vanished_is_named_by_its_address():
    facts = neutral.epyc()
    fewer = {**copy.deepcopy(facts), "gpus": facts["gpus"][1:]}
    found = reboot.compare_boots(document(facts=facts), fewer)
    assert [(one["subject"], one["reason"]) for one in found["broken"]] == [
        (facts["gpus"][0]["bdf"], "the device is gone")]


def test_a_guest_that_did_not_come_back():
    stopped = {"guests": {"containers": ok([{**neutral.lxc("101", ["/dev/nvidia0", "/dev/nvidiactl",
                                                                   "/dev/nvidia-uvm"]), "running": False}])}}
    assert compare(stopped)[0] == [("lxc:101", None)]


def test_what_was_broken_before_is_not_the_reboots_doing():
    gone = {"nvidia": {"nodes": ok([node for node in neutral.epyc()["nvidia"]["nodes"]["value"]
                                    if node["path"] != "/dev/nvidia-uvm"])}}
    assert ("nvidia_device_nodes" in {check for _subject, check in compare(gone)[0]},
            compare(gone, before=gone)[0]) == (True, [])


def test_an_audit_of_another_version_is_one_message():
    facts = neutral.epyc()
    del facts["guests"]
    with pytest.raises(RecordError, match="2026-11-29T18:30:00Z was recorded by another version"):
        reboot.compare_boots(document(facts=facts), neutral.epyc())


def test_the_checks_that_tell_are_in_the_profile():
    profile = catalogue.load_profile(reboot.PROFILE)
    assert set(reboot._BROKEN) <= profile.only
    assert all(check.fix.kind != "runtime" for check in catalogue.shipped() if check.id in profile.only)


def test_a_line_for_people():
    assert reboot.describe("lxc:101", "lxc_gpu_access", "no rule", "pct set 101") == [
        "broken: lxc:101: no rule (lxc_gpu_access)", "  pct set 101"]
    assert reboot.describe(None, None, "gone", None) == ["broken: host: gone"]
    assert reboot.tally({"since": "2026", "broken": [1], "changed": []}) == (
        "rebooted since the audit of 2026: 1 thing broken, 0 changed")


def test_the_boot_of_a_record_is_found_in_its_first_lines(folder):
    write_audit(folder.path / reboot.LATEST, document(OLD, {"much": "x" * 100000}))
    assert reboot._boot_of(folder.path / reboot.LATEST) == OLD
