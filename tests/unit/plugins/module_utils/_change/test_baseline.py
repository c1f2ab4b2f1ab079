# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import (
    list_baselines,
    pair_lines,
    plan_back,
    summarize_runs,
)

GPU = "pcie_maxreadreq:0000:41:00.0"
NAME = "0000:41:00.0"
BLACKWELL = "10de:2bb5 10de:204e a1"


def write(run, before, after, *, wanted=None, outcome="changed", address=GPU, boot="boot-1", identity=BLACKWELL,
          restores=False, finished=True, together=()):
    """The lines of one write; `finished` False is a run that was killed before the end."""
    stamp = {"at": "2026-11-29T18:30:00Z", "run": run, "boot": boot, "address": address}
    lines = [{**stamp, "event": "start", "before": before, "wanted": after if wanted is None else wanted,
              "identity": identity, "restores": restores, "together": list(together)}]
    if finished:
        lines.append({**stamp, "event": "end", "after": after, "outcome": outcome})
    return lines


def plan(*writes, run=None, boot="boot-1"):
    return plan_back(pair_lines([line for lines in writes for line in lines]), boot, run)


def back(*writes, run=None):
    return plan(*writes, run=run).restore.get("pcie_maxreadreq", {}).get(NAME)


def test_one_run_goes_back_to_its_before():
    assert back(write("r1", 512, 4096)) == {"set": 512, "only_from": 4096, "identity": BLACKWELL, "restores": True}


def test_two_runs_go_back_to_the_first_before():
    assert back(write("r1", 512, 1024), write("r2", 1024, 4096)) == {
        "set": 512, "only_from": 4096, "identity": BLACKWELL, "restores": True}


def test_a_foreign_change_between_two_runs_starts_a_new_generation():
    found = back(write("r1", 512, 4096), write("r2", 256, 4096))
    assert (found["set"], found["only_from"]) == (256, 4096)


def test_three_runs_with_a_foreign_change_before_the_second():
    found = back(write("r1", 512, 4096), write("r2", 256, 1024), write("r3", 1024, 2048))
    assert (found["set"], found["only_from"]) == (256, 2048)


def test_a_restore_ends_the_generation():
    assert back(write("r1", 512, 4096), write("r2", 4096, 512, restores=True)) is None


def test_after_a_restore_the_next_before_counts():
    found = back(write("r1", 512, 4096), write("r2", 4096, 512, restores=True), write("r3", 128, 4096))
    assert found["set"] == 128


def test_a_forced_restore_over_a_hand_change_is_no_new_baseline():
    """We set 1, somebody 20, and restore was told to go back to 35 all the same."""
    assert back(write("r1", 35, 1), write("r2", 20, 35, restores=True)) is None


def test_a_run_that_took_itself_back_leaves_nothing():
    assert back(write("r1", 512, 4096), write("r1", 4096, 512, restores=True, outcome="reverted")) is None


def test_an_undone_second_run_keeps_the_baseline_of_the_first():
    found = back(write("r1", 512, 1024), write("r2", 1024, 4096), write("r2", 4096, 1024, restores=True))
    assert (found["set"], found["only_from"]) == (512, 1024)


def test_a_start_without_an_end_accepts_what_was_there_and_what_was_wanted():
    assert back(write("r1", 512, 4096, finished=False)) == {
        "set": 512, "only_from": [512, 4096], "identity": BLACKWELL, "restores": True}


def test_what_a_killed_run_did_not_set_itself_may_be_anything():
    """A companion that the kernel changes along has no wanted value."""
    start = write("r1", 512, 4096, finished=False)[0]
    assert plan([{**start, "wanted": None}]).restore["pcie_maxreadreq"][NAME] == {
        "set": 512, "identity": BLACKWELL, "restores": True}


def test_a_run_after_a_killed_one_keeps_its_baseline():
    found = back(write("r1", 512, 4096, finished=False), write("r2", 4096, 2048))
    assert (found["set"], found["only_from"]) == (512, 2048)


def test_an_end_that_could_not_read_the_value_is_as_none():
    assert back(write("r1", 512, None, wanted=4096, outcome="refused"))["only_from"] == [512, 4096]


def test_a_refused_write_leaves_nothing_to_bring_back():
    assert plan(write("r1", 512, 512, wanted=4096, outcome="refused")).restore == {}


def test_another_device_at_the_address_is_another_generation():
    found = back(write("r1", 512, 4096), write("r2", 4096, 1024, identity="10de:2684 10de:16a1 a1"))
    assert (found["set"], found["identity"]) == (4096, "10de:2684 10de:16a1 a1")


def test_writes_of_another_boot_are_over():
    found = plan(write("r1", 512, 4096, boot="boot-0"))
    assert (found.restore, found.expected, found.left_alone) == ({}, {}, [])
    assert plan(write("r1", 512, 4096, boot="boot-0"), run="r1").left_alone == [
        {"address": GPU, "reason": "it was set before the last boot, which reset it"}]


def test_without_an_identity_there_is_no_guard_for_it():
    found = plan(write("r1", "60", "10", address="sysctl:vm.swappiness", identity=None))
    assert found.restore == {"sysctl": {"vm.swappiness": {"set": "60", "only_from": "10", "restores": True}}}


def test_what_was_written_last_goes_back_first():
    found = plan(write("r1", "1", "0", address="sysctl:kernel.numa_balancing", identity=None),
                 write("r1", "60", "10", address="sysctl:vm.swappiness", identity=None),
                 write("r1", 512, 4096))
    assert list(found.restore) == ["pcie_maxreadreq", "sysctl"]
    assert list(found.restore["sysctl"]) == ["vm.swappiness", "kernel.numa_balancing"]


def test_what_changes_together_and_was_left_alone_is_held():
    """The ratio was really 0 and the bytes 0: to go back the setter must know both."""
    ratio, face = "sysctl:vm.dirty_ratio", "sysctl:vm.dirty_bytes"
    found = plan(write("r1", "0", "0", wanted="0", address=ratio, identity=None, outcome="followed", together=[face])
                 + write("r1", "0", "268435456", address=face, identity=None, together=[ratio]))
    assert found.restore == {"sysctl": {
        "vm.dirty_bytes": {"set": "0", "only_from": "268435456", "restores": True},
        "vm.dirty_ratio": {"set": "0", "only_from": "0", "restores": True}}}
    assert found.expected == {"sysctl": {"vm.dirty_bytes": {"set": "268435456", "only_from": "0"}}}


def test_a_run_killed_within_its_start_lines_named_more_than_it_recorded():
    found = plan(write("r1", "powersave", "performance", address="sysfs:/sys/a", identity=None, finished=False,
                       together=["sysfs:/sys/b"]))
    assert found.restore == {"sysfs": {
        "/sys/a": {"set": "powersave", "only_from": ["powersave", "performance"], "restores": True}}}


def test_a_way_back_that_was_killed_while_it_held_another_value():
    """To clear the bytes the ratio is written twice: killed in between, it is at neither value."""
    ratio, face = "sysctl:vm.dirty_ratio", "sysctl:vm.dirty_bytes"
    found = plan(write("r1", "10", "10", address=ratio, identity=None, outcome="unchanged", together=[face])
                 + write("r1", "0", "268435456", address=face, identity=None, together=[ratio]),
                 write("r2", "10", "10", address=ratio, identity=None, restores=True, finished=False, together=[face])
                 + write("r2", "268435456", "0", address=face, identity=None, restores=True, finished=False,
                         together=[ratio]))
    assert found.restore == {"sysctl": {"vm.dirty_bytes": {"set": "0", "only_from": ["268435456", "0"],
                                                           "restores": True},
                                        "vm.dirty_ratio": {"set": "10", "only_from": ["10", "10"],
                                                           "restores": True}}}


# -- one run ------------------------------------------------------------------------------------------------------


def test_a_named_run_goes_back_to_what_was_there_before_it():
    found = plan(write("r1", 512, 1024), write("r2", 1024, 4096), run="r2")
    assert found.restore == {"pcie_maxreadreq": {NAME: {"set": 1024, "only_from": 4096, "identity": BLACKWELL,
                                                        "restores": True}}}


def test_after_a_named_run_went_back_the_older_one_still_can():
    writes = (write("r1", 512, 1024), write("r2", 1024, 4096), write("r3", 4096, 1024, restores=True))
    assert (back(*writes)["set"], back(*writes)["only_from"]) == (512, 1024)


@pytest.mark.parametrize(("writes", "reason"), [
    ((write("r1", 512, 1024), write("r2", 1024, 4096)), "run r2 changed it afterwards"),
    ((write("r1", 512, 1024), write("r2", 256, 4096)), "changed by something else since"),
    ((write("r1", 512, 1024), write("r2", 1024, 512, restores=True)), "its value is again 512 since run r2"),
])
def test_a_named_run_says_what_it_leaves_alone(writes, reason):
    found = plan(*writes, run="r1")
    assert (found.restore, found.left_alone) == ({}, [{"address": GPU, "reason": reason}])


def test_an_unknown_run_has_nothing():
    found = plan(write("r1", 512, 4096), run="r9")
    assert (found.restore, found.expected, found.left_alone) == ({}, {}, [])


# -- what verify expects -------------------------------------------------------------------------------------------


def test_expected_is_what_we_left_and_knows_where_it_came_from():
    assert plan(write("r1", 512, 4096)).expected == {
        "pcie_maxreadreq": {NAME: {"set": 4096, "only_from": 512, "identity": BLACKWELL}}}


def test_expected_after_a_killed_run_is_what_it_wanted():
    assert plan(write("r1", 512, 4096, finished=False)).expected["pcie_maxreadreq"][NAME]["set"] == 4096


# -- lists ---------------------------------------------------------------------------------------------------------


def test_runs_are_listed_with_their_writes():
    runs = summarize_runs(pair_lines(write("r0", 512, 4096, boot="boot-0") + write("r1", 512, 4096, finished=False)),
                          "boot-1")
    assert [(run["run_id"], run["this_boot"], run["unfinished"]) for run in runs] == [("r0", False, 0), ("r1", True, 1)]
    assert runs[0]["writes"] == [{"address": GPU, "before": 512, "wanted": 4096, "after": 4096, "outcome": "changed",
                                  "identity": BLACKWELL, "at": "2026-11-29T18:30:00Z", "restores": False}]


def test_baselines_are_those_that_are_open():
    lines = (write("r1", 512, 1024) + write("r2", 1024, 4096)
             + write("r2", "60", "10", address="sysctl:vm.swappiness", identity=None)
             + write("r3", "10", "60", address="sysctl:vm.swappiness", identity=None, restores=True))
    assert list_baselines(pair_lines(lines), "boot-1") == [
        {"address": GPU, "before": 512, "left": 4096, "unfinished": False, "identity": BLACKWELL, "runs": ["r1", "r2"],
         "since": "2026-11-29T18:30:00Z"}]


def test_an_end_without_a_start_is_ignored():
    assert pair_lines([{"event": "end", "address": GPU, "after": 4096, "outcome": "changed"}]) == []


def test_nothing_comes_from_nothing():
    assert plan() == ({}, {}, [])
