# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan import drift
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import HostFolder

RUN = "20261129T183000Z-4f2a"


def change(outcome, reason=None, wanted="10", before="35"):
    return {"address": "sysctl:vm.swappiness", "before": before, "wanted": wanted, "after": None, "outcome": outcome,
            "reason": reason}


EXPECTED = {"sysctl": {"vm.swappiness": {"set": "10", "only_from": "60"}}}


def compare(*changes):
    return drift.find_drift(EXPECTED, changes)


@pytest.mark.parametrize("outcome, found, state", [
    ("unchanged", "10", "fine"), ("would_change", "60", "expired"), ("refused", "35", "drift"),
    ("refused", "60", "expired"),       # back at the baseline, and in use or claimed just now
    ("refused", None, "unknown"), ("skipped", "35", "unknown")])
def test_what_a_setter_would_do_tells_the_state(outcome, found, state):
    assert [line["state"] for line in compare(change(outcome, before=found))] == [state]


def test_what_the_kernel_changed_along_is_not_judged():
    assert compare(change("unchanged", wanted=None)) == []


def test_a_line_names_address_wanted_found_and_reason():
    line, = compare(change("refused", "expected 60"))
    assert drift.describe(line) == "sysctl:vm.swappiness: drift: wanted 10, found 35: changed by something else"


def planned(folder, run_id, origin):
    folder.run(run_id).mkdir(parents=True)
    (folder.run(run_id) / "plan.json").write_text(json.dumps({"boot_id": "b", "changes": [
        {"address": "sysctl:vm.swappiness", "wanted": "10", "outcome": "would_change", "origin": origin}]}))


def test_a_line_says_who_wanted_the_value_in_the_last_run_that_planned_it(tmp_path):
    folder = HostFolder(str(tmp_path), "pve1")
    planned(folder, "20261129T183000Z-4f2a", "check swappiness")
    planned(folder, "20261130T183000Z-77aa", "gpuhost_values (own.yml)")
    folder.run("20261201T183000Z-0001").mkdir()         # it only measured
    drifted, fine = drift.name_origins(compare(change("refused"), change("unchanged", before="10")), folder)
    assert drift.describe(drifted) == (
        "sysctl:vm.swappiness: drift: wanted 10, found 35: changed by something else; wanted by gpuhost_values "
        "(own.yml), run 20261130T183000Z-77aa")
    assert "origin" not in fine


def test_a_value_of_which_no_plan_is_left_has_no_origin(tmp_path):
    line, = drift.name_origins(compare(change("refused")), HostFolder(str(tmp_path), "pve1"))
    assert drift.describe(line) == "sysctl:vm.swappiness: drift: wanted 10, found 35: changed by something else"


def test_another_device_keeps_the_setters_reason():
    line, = compare(change("refused", "another device sits there", before="10"))
    assert (line["state"], line["reason"]) == ("drift", "another device sits there")


def record(tmp_path, boot_id):
    folder = HostFolder(str(tmp_path), "pve1")
    folder.run(RUN).mkdir(parents=True)
    (folder.run(RUN) / "plan.json").write_text(json.dumps({
        "boot_id": boot_id, "changes": [
            {"address": "sysctl:vm.swappiness", "wanted": "10", "outcome": "would_change"},
            {"address": "module:nvidia_peermem", "wanted": "present", "outcome": "skipped"}]}))
    return folder


def test_a_record_of_another_boot_has_expired(tmp_path):
    lines, message = drift.without_journal(record(tmp_path, "old"), None, "new")
    assert [(line["address"], line["state"]) for line in lines] == [("sysctl:vm.swappiness", "expired")]
    assert "the reboot reset its changes" in message


def test_a_record_of_this_boot_without_a_journal_is_not_taken_for_granted(tmp_path):
    lines, message = drift.without_journal(record(tmp_path, "same"), None, "same")
    assert [line["state"] for line in lines] == ["unknown"]
    assert "/run/gpuhost was removed" in message


def test_a_later_run_that_only_measured_is_not_asked(tmp_path):
    folder = record(tmp_path, "old")
    folder.run("20261130T183000Z-0b1c").mkdir()
    lines, message = drift.without_journal(folder, None, "new")
    assert len(lines) == 1 and f"run {RUN} belongs to another boot" in message


def test_no_record_at_all_is_said(tmp_path):
    lines, message = drift.without_journal(HostFolder(str(tmp_path), "pve1"), None, "new")
    assert lines == []
    assert "no record of a run" in message


def test_a_run_without_its_record_is_said(tmp_path):
    _lines, message = drift.without_journal(HostFolder(str(tmp_path), "pve1"), RUN, "new")
    assert RUN in message
    assert "plan.json" in message


def test_force_takes_the_guard_away_by_name_only():
    values = {"sysctl": {"vm.swappiness": {"set": "60", "only_from": "10", "restores": True},
                         "vm.dirty_ratio": {"set": "20", "only_from": "10", "restores": True}}}
    forced = drift.force(values, ["sysctl:vm.swappiness"])
    assert forced == {"sysctl": {"vm.swappiness": {"set": "60", "restores": True},
                                 "vm.dirty_ratio": {"set": "20", "only_from": "10", "restores": True}}}
    assert "only_from" in values["sysctl"]["vm.swappiness"]


def test_force_of_something_else_is_an_error():
    with pytest.raises(ValueError, match=r"sysctl:vm.nope, which is not among the values to restore: "
                                         r"sysctl:vm.swappiness"):
        drift.force({"sysctl": {"vm.swappiness": {"set": "60"}}}, ["sysctl:vm.nope"])


def test_a_gpu_can_be_left_alone():
    values = {"sysctl": {"vm.swappiness": {"set": "60"}}, "pcie_maxreadreq": {"0000:41:00.0": {"set": 512}}}
    assert drift.leave(values, ["0000:41:00.0"]) == {"sysctl": {"vm.swappiness": {"set": "60"}}}
    assert drift.leave(values, []) == values


def test_driver_and_libraries_that_differ_fail_a_verify():
    """A-32: failed, not skipped, although every value is as it was left."""
    assert drift.driver_lines(None) == []
    line, = drift.driver_lines("the loaded driver is 570.133.20, libcuda.so is 580.95.05")
    assert line["state"] == "drift"
    assert drift.describe(line) == (
        "nvidia: drift: wanted driver and libraries of the same version, found the loaded driver is 570.133.20, "
        "libcuda.so "
        "is 580.95.05: packages were upgraded while the driver was loaded: reboot, or reload it")


def test_the_tally_names_the_worst_first():
    lines = [{"state": "fine"}] * 10 + [{"state": "drift"}]
    assert drift.tally(lines) == "1 drift, 10 fine"
    assert drift.tally([]) == "nothing to verify"


def test_guests_that_were_restarted_have_expired():
    expired = [{"address": "guest_affinity:vm:200", "expected": "0-3", "reason": "the guest was restarted since"}]
    line, = drift.expired_guests(expired)
    assert drift.describe(line) == "guest_affinity:vm:200: expired: wanted 0-3, found -: the guest was restarted since"
    journal = {"runs": [{"this_boot": True, "run_id": RUN}], "expected_values": {}, "left_alone": [], "expired": []}
    assert drift.all_is_back(journal, None)
    assert not drift.all_is_back({**journal, "expired": expired}, None)
