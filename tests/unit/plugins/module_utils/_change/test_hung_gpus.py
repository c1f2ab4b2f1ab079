# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import stat

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.hung_gpus import (
    leave_hung,
    list_hung,
    mark_hung,
    read_marks,
    reason_to_leave,
)

from hosts.nvidia import plant_hung

GPU, OTHER = "0000:01:00.0", "0000:21:00.0"
MARKS = "/run/gpuhost/hung.json"


@pytest.fixture(autouse=True)
def boot(tree):
    tree.sysctl("kernel.random.boot_id", "boot-1")


def test_nothing_hung_on_a_host_that_nobody_measured(host, tree):
    assert (list_hung(host).value, reason_to_leave(read_marks(host), GPU)) == ([], None)
    assert not tree.path("/run/gpuhost").exists()


def test_a_mark_says_what_a_person_has_to_know(host, tree):
    mark_hung(host, [GPU, OTHER], "r1", "d2h of 64 MiB", 4711)
    kept = json.loads(tree.path(MARKS).read_text())
    assert list(kept) == [GPU, OTHER]
    assert {key: kept[GPU][key] for key in ("run_id", "what", "pid", "boot")} == {
        "run_id": "r1", "what": "d2h of 64 MiB", "pid": 4711, "boot": "boot-1"}
    assert [sorted(mark) for mark in list_hung(host).value] == [["bdf", "run_id", "since", "what"]] * 2
    assert stat.S_IMODE(tree.path(MARKS).stat().st_mode) == 0o600
    assert [path.name for path in tree.path("/run/gpuhost").iterdir()] == ["hung.json"]


def test_the_first_hang_is_kept_beside_later_ones(host):
    mark_hung(host, [GPU], "r1", "first", None)
    mark_hung(host, [GPU, OTHER], "r2", "second", 7)
    assert {bdf: mark["what"] for bdf, mark in read_marks(host).value.items()} == {GPU: "first", OTHER: "second"}


def test_marks_of_another_boot_count_no_more(host, tree):
    plant_hung(tree, GPU)
    tree.sysctl("kernel.random.boot_id", "boot-2")
    assert list_hung(host).value == []
    mark_hung(host, [OTHER], "r2", "later", None)
    assert list(json.loads(tree.path(MARKS).read_text())) == [OTHER]


def test_one_gpu_and_the_driver_of_all(host, tree):
    plant_hung(tree, GPU)
    marks = read_marks(host)
    assert reason_to_leave(marks, GPU) == reason_to_leave(marks) == (
        "0000:01:00.0 hung at 2026-11-30T03:00:00Z during a measurement (run r9, the pair 0000:01:00.0 and "
        "0000:21:00.0): it is not touched until the host is rebooted")
    assert reason_to_leave(marks, OTHER) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"0000:01:00.0": 1}'])
def test_a_file_that_says_nothing_leaves_everything_alone(host, tree, text):
    tree.file(MARKS, text)
    assert list_hung(host).status == "unparsable"
    assert reason_to_leave(read_marks(host), GPU).startswith("whether a GPU hung during a measurement is unknown")


def test_marks_are_not_written_where_another_user_could_read_along(host, tree):
    tree.folder("/run/gpuhost").path("/run/gpuhost").chmod(0o777)
    with pytest.raises(PermissionError):
        mark_hung(host, [GPU], "r1", "d2h", None)


def test_only_what_touches_the_gpu_or_its_driver_is_left_out_of_a_restore(host, tree):
    plant_hung(tree, GPU)
    values = {"pcie_maxreadreq": {GPU: {"set": 512}, OTHER: {"set": 512}}, "module": {"gdrdrv": {"set": "absent"}},
              "sysctl": {"vm.swappiness": {"set": "60"}}}
    kept, left = leave_hung(values, read_marks(host))
    assert kept == {"pcie_maxreadreq": {OTHER: {"set": 512}}, "sysctl": {"vm.swappiness": {"set": "60"}}}
    assert [one["address"] for one in left] == ["pcie_maxreadreq:0000:01:00.0", "module:gdrdrv"]
