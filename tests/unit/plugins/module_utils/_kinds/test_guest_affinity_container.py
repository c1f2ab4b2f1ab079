# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import Journal

from hosts.movable import CONTAINER, INIT_PID
from moved_guests import MovedGuests


@pytest.fixture
def guests(tree):
    return MovedGuests(tree)


@pytest.fixture
def host(guests):
    return guests.host


@pytest.fixture
def change(guests):
    return guests.change


@pytest.fixture
def restore(guests):
    return guests.restore


def test_an_inner_control_group_without_a_list_stays_without(guests, host, change, restore):
    """The kernel would not let it be cleared again: ENOSPC."""
    assert guests.groups() == [b"0-7\n", b"\n"]
    done = change({"lxc:101": "0-3"})
    assert (done["before"], done["after"], done["outcome"]) == ("0-7", "0-3", "changed")
    assert change({"lxc:101": "0-3"})["outcome"] == "unchanged"
    restore()
    assert host.writes == [(f"{CONTAINER}/cpuset.cpus", b"0-3\n"), (f"{CONTAINER}/cpuset.cpus", b"0-7\n")]
    assert guests.groups() == [b"0-7\n", b"\n"]
    assert guests.open_generations() == []


@pytest.mark.parametrize(("inner", "before"), [("0-7", "0-7"), ("1-6", "0-7 ns=1-6")])
def test_both_control_groups_are_written_and_restored_together(tree, guests, change, restore, inner, before):
    tree.file(f"{CONTAINER}/ns/cpuset.cpus", inner)
    done = change({"lxc:101": "0-3"})
    assert (done["before"], done["after"], done["outcome"]) == (before, "0-3", "changed")
    assert guests.groups() == [b"0-3\n", b"0-3\n"]
    restore()
    assert guests.groups() == [b"0-7\n", f"{inner}\n".encode()]
    assert guests.open_generations() == []


NOT_AGAIN = "has no list of CPUs, and one could not be removed again while the guest runs"


@pytest.mark.parametrize(("outer", "inner", "wanted", "reason"), [
    ("\n", "\n", "0-3", f"its control group {NOT_AGAIN}"),
    ("\n", "0-3", "0-2", f"its control group {NOT_AGAIN}"),
    ("0-7", "\n", "0-3 ns=1", f"its control group ns {NOT_AGAIN}"),
    ("0-7", "\n", "none", "ENOSPC (No space left on device): the list of a control group cannot be removed while the "
                          "guest runs"),
])
def test_what_the_kernel_would_not_take_back(tree, host, change, outer, inner, wanted, reason):
    tree.file(f"{CONTAINER}/cpuset.cpus", outer).file(f"{CONTAINER}/ns/cpuset.cpus", inner)
    done = change({"lxc:101": wanted})
    assert (done["outcome"], done["reason"], host.writes) == ("refused", reason, [])


def test_a_container_of_which_a_killed_run_wrote_one_group_is_restored(tree, guests, host, restore):
    tree.file(f"{CONTAINER}/ns/cpuset.cpus", "0-7")
    with Journal(host, "killed") as journal:
        journal.start([{"address": "guest_affinity:lxc:101", "before": "0-7", "wanted": "0-3", "restores": False,
                        "together": [], "identity": f"vmid 101 pid {INIT_PID} starttime 3300"}])
    host.put(f"{CONTAINER}/cpuset.cpus", "0-3")
    assert restore()["outcome"] == "changed"
    assert guests.groups() == [b"0-7\n", b"0-7\n"]
