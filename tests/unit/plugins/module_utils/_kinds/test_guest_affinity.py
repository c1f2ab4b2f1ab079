# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import BadValues, set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.guest_affinity import (
    GuestAffinityKind,
    running_guests,
)

from hosts.movable import (
    IO_WORKER,
    NO_SETAFFINITY,
    THREADS,
    VM_PID,
    plant_stat,
    plant_thread,
)
from moved_guests import MovedGuests

VM, LXC = "guest_affinity:vm:200", "guest_affinity:lxc:101"


@pytest.fixture
def guests(tree):
    return MovedGuests(tree)


@pytest.fixture
def host(guests):
    return guests.host


@pytest.fixture
def scheduler(guests):
    return guests.scheduler


@pytest.fixture
def change(guests):
    return guests.change


@pytest.fixture
def restore(guests):
    return guests.restore


@pytest.fixture
def affinities(guests):
    return guests.affinities


def test_all_threads_of_a_vm_are_moved_and_moved_back(guests, scheduler, change, restore, affinities):
    done = change({"vm:200": "0-3"})
    assert (done["before"], done["after"], done["outcome"]) == ("0-7", "0-3", "changed")
    assert affinities() == dict.fromkeys(THREADS, "0,1,2,3")
    assert [thread for thread, _cpus in scheduler.moved] == list(THREADS)
    assert change({"vm:200": "3,0-2"})["outcome"] == "unchanged"
    assert restore()["outcome"] == "changed"
    assert affinities() == dict.fromkeys(THREADS, "0,1,2,3,4,5,6,7")
    assert guests.open_generations() == []


def test_an_inner_group_without_a_list_has_that_of_the_outer(host, change):
    assert change({"lxc:101": "0-7"})["outcome"] == "unchanged"
    assert host.writes == []


def test_check_mode_moves_nothing(host, scheduler, change):
    for values in ({"vm:200": "0-3"}, {"lxc:101": "0-3"}):
        done = change(values, check_mode=True)
        assert (done["outcome"], done["after"], done["certainty"]) == ("would_change", "0-3", "kernel_decides")
    assert (scheduler.moved, host.writes, read_journal(host).status) == ([], [], "absent")


def test_threads_pinned_one_by_one_are_restored_one_by_one(tree, guests, change, restore, affinities):
    plant_thread(tree, THREADS[1], "2")
    plant_thread(tree, THREADS[3], "3")
    done = change({"vm:200": "0-3"})
    assert done["before"] == f"0-7 {THREADS[1]}=2 {THREADS[3]}=3"
    assert set(affinities().values()) == {"0,1,2,3"}
    restore()
    assert affinities() == {THREADS[0]: "0,1,2,3,4,5,6,7", THREADS[1]: "2", THREADS[2]: "0,1,2,3,4,5,6,7",
                            THREADS[3]: "3"}
    assert guests.open_generations() == []


def test_a_pinned_thread_that_ended_since_leaves_nothing_to_restore(tree, guests, change, restore):
    plant_thread(tree, THREADS[1], "2")
    change({"vm:200": "0-3"})
    shutil.rmtree(tree.path(f"/proc/{VM_PID}/task/{THREADS[1]}"))
    assert (restore()["outcome"], guests.open_generations()) == ("changed", [])


def test_threads_that_appear_while_others_are_moved_are_moved_too(tree, scheduler, change, affinities):
    late = iter((VM_PID + 10, VM_PID + 11))

    def start_one():
        for thread in late:
            plant_thread(tree, thread)
            break

    scheduler.after = start_one
    assert change({"vm:200": "0-3"})["outcome"] == "changed"
    assert affinities()[VM_PID + 10] == affinities()[VM_PID + 11] == "0,1,2,3"


def test_a_process_that_never_stops_making_threads_is_given_up_and_rolled_back(tree, scheduler, change):
    scheduler.after = lambda: len(scheduler.moved) < 60 and plant_thread(tree, VM_PID + 100 + len(scheduler.moved))
    done = change({"vm:200": "0-3"})
    assert done["outcome"] == "refused"
    assert "after 16 rounds there are still threads on other CPUs" in done["reason"]
    assert done["after"] == "0-7"


def test_a_thread_that_ends_is_no_error(tree, scheduler, change):
    def end_one():
        shutil.rmtree(tree.path(f"/proc/{VM_PID}/task/{THREADS[2]}"), ignore_errors=True)

    scheduler.after = end_one
    assert change({"vm:200": "0-3"})["outcome"] == "changed"
    assert THREADS[2] not in [thread for thread, _cpus in scheduler.moved]


def test_a_thread_that_cannot_be_moved_takes_the_others_back(scheduler, change, affinities):
    scheduler.errors[THREADS[2]] = PermissionError(1, "Operation not permitted")
    done = change({"vm:200": "0-3"})
    assert (done["outcome"], done["error"]) == ("refused", "EPERM (Operation not permitted)")
    assert done["after"] == "0-7"
    assert affinities()[THREADS[0]] == "0,1,2,3,4,5,6,7"


@pytest.mark.parametrize("flags", [IO_WORKER, NO_SETAFFINITY])
def test_workers_of_the_kernel_are_moved_where_it_allows_that_and_never_compared(tree, scheduler, change, flags):
    plant_thread(tree, VM_PID + 9, "5", 0x00400040 | flags)
    if flags == NO_SETAFFINITY:
        scheduler.errors[VM_PID + 9] = OSError(22, "Invalid argument")
    done = change({"vm:200": "0-3"})
    assert (done["before"], done["after"], done["outcome"]) == ("0-7", "0-3", "changed")
    assert ((VM_PID + 9, [0, 1, 2, 3]) in scheduler.moved) is (flags == IO_WORKER)
    plant_thread(tree, VM_PID + 9, "6", 0x00400040 | flags)
    assert change({"vm:200": "0-3"})["outcome"] == "unchanged"


def test_a_thread_that_somebody_moved_is_a_change_by_something_else(tree, change, restore, affinities):
    change({"vm:200": "0-3"})
    plant_thread(tree, THREADS[1], "6")
    done = restore()
    assert (done["outcome"], done["reason"]) == (
        "refused", f"changed by something else: found 0-3 {THREADS[1]}=6, expected 0-3")
    assert affinities()[THREADS[1]] == "6"


def test_cpus_that_went_offline_meanwhile_do_not_keep_it_from_being_restored(tree, scheduler, change, restore):
    for thread in THREADS:
        plant_thread(tree, thread, "0-15")       # all that the kernel could have, as before any affinity was set
    assert change({"vm:200": "0-3"})["before"] == "0-15"
    tree.file("/sys/devices/system/cpu/online", "0-6")
    scheduler.drop = {7, *range(8, 16)}
    done = restore()
    assert (done["outcome"], done["after"]) == ("changed", "0-6")


@pytest.mark.parametrize("moves", range(1, 5))
def test_a_vm_of_which_a_killed_run_moved_some_threads_is_restored(tree, guests, restore, affinities, moves):
    plant_thread(tree, THREADS[3], "3")
    guests.kill_after(moves)
    assert list(affinities().values()).count("0,1,2,3") == moves
    assert restore()["outcome"] == "changed"
    assert affinities() == {**dict.fromkeys(THREADS, "0,1,2,3,4,5,6,7"), THREADS[3]: "3"} | (
        {} if moves == 4 else dict.fromkeys(THREADS[moves:3], "0-7"))


def test_a_third_value_after_a_killed_run_is_somebody_elses(tree, guests, restore):
    guests.kill_after(2)
    plant_thread(tree, THREADS[3], "6")
    assert restore()["reason"].startswith("changed by something else: found 0-3 ")


def test_the_journal_has_the_identity_of_the_process(host, change):
    change({"vm:200": "0-3"})
    change({"lxc:101": "0-3"})
    assert {line["address"]: line["identity"] for line in read_journal(host).value if line["event"] == "start"} == {
        VM: "vmid 200 pid 20200 starttime 4400", LXC: "vmid 101 pid 5101 starttime 3300"}


def test_a_guest_that_was_restarted_is_not_the_one_that_was_moved(tree, change, restore):
    change({"vm:200": "0-3"})
    plant_stat(tree, f"/proc/{VM_PID}/stat", VM_PID, 9900)
    assert restore()["reason"] == ("another process: found vmid 200 pid 20200 starttime 9900, expected "
                                   "vmid 200 pid 20200 starttime 4400")


def test_a_guest_that_restarts_between_reading_and_writing(tree, host, scheduler):
    kind = GuestAffinityKind(host, scheduler)
    [tunable] = kind.find("vm:200")
    tunable.read()
    plant_stat(tree, f"/proc/{VM_PID}/stat", VM_PID, 9900)
    with pytest.raises(Exception, match="another process: found vmid 200 pid 20200 starttime 9900, a moment ago"):
        tunable.write("0-3")
    assert scheduler.moved == []


def test_running_guests_of_a_node(host):
    assert running_guests(host) == ["lxc:101", "vm:200"]


@pytest.mark.parametrize(("values", "message"), [
    ({"vm:200": ""}, "the list of CPUs is empty: a guest needs at least one"),
    ({"vm:200": " "}, "the list of CPUs is empty"),
    ({"vm:200": "3-0"}, "descending range"),
    ({"vm:200": "none"}, "'none' is for containers"),
    ({"vm:200": "0-3 ns=1"}, "is for containers"),
    ({"lxc:101": "0-3 ns=none"}, "only the control group of a container may have no list"),
    ({"lxc:101": "0-3 4711=2"}, "names threads"),
    ({"vm:200": True}, "is a boolean"),
    ({"vm:200": {"at_least": 3}}, "at_least is for sysctls"),
    ({"ct:101": "0-3"}, "'ct:101' is not a guest of Proxmox VE, such as vm:200 or lxc:101"),
    ({"lxc/101": "0-3"}, "is not a guest of Proxmox VE"),
    ({"lxc.monitor:101": "0-3"}, "is not a guest of Proxmox VE"),
    ({"lxc:101/ns": "0-3"}, "is not a guest of Proxmox VE"),
    ({"lxc:../101": "0-3"}, "is not a guest of Proxmox VE"),
    ({"200": "0-3"}, "is not a guest of Proxmox VE"),
])
def test_values_that_make_no_sense(host, scheduler, values, message):
    with pytest.raises(BadValues, match=message):
        set_values(GuestAffinityKind(host, scheduler), host, values, [])
