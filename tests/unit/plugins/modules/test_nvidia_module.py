# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.kernel import plant_kernel
from hosts.modules import plant_module
from hosts.nvidia import plant_nvidia


@pytest.fixture
def root(tree):
    plant_kernel(tree)
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)])
    return str(tree.root)


def test_without_anything_it_reads_all_modules(call, root, tree):
    result = call("nvidia_module", {"sysroot": root})
    assert {module["name"]: module["state"] for module in result["modules"]} == {
        "nvidia": "live", "nvidia_uvm": "live", "nvidia_modeset": "live", "nvidia_drm": "live",
        "nvidia_peermem": "absent", "gdrdrv": "absent", "nvidia_fs": "absent", "nouveau": "absent", "ib_core": "absent"}
    assert (result["changed"], result["changes"], tree.path("/run/gpuhost").exists()) == (False, [], False)


def test_a_name_without_a_state_is_read(call, root):
    result = call("nvidia_module", {"sysroot": root, "name": "nvidia-uvm"})
    assert [(reading["address"], reading["value"]) for reading in result["readings"]] == [
        ("module:nvidia_uvm", "present")]
    assert result["changes"] == []


@pytest.mark.parametrize("check", [True, False])
def test_a22_peermem_without_rdma_is_skipped_and_the_task_is_fine(call, root, check):
    """A-22."""
    result = call("nvidia_module", {"sysroot": root, "name": "nvidia_peermem", "state": "present"}, check=check)
    assert ("failed" in result, result["changed"]) == (False, False)
    assert result["changes"][0]["outcome"] == "skipped"
    assert result["failures"][0]["class"] == "not_applicable"


def test_a27_hyphens(call, root, tree):
    """A-27."""
    plant_module(tree, "nvidia_peermem")
    result = call("nvidia_module", {"sysroot": root, "name": "nvidia-peermem", "state": "present"})
    assert (result["changed"], result["modules"][0]["name"]) == (False, "nvidia_peermem")


def test_a28_absent_and_not_loaded(call, root):
    """A-28."""
    result = call("nvidia_module", {"sysroot": root, "name": "gdrdrv", "state": "absent"})
    assert (result["changed"], result["changes"][0]["outcome"]) == (False, "unchanged")


def test_a25_check_mode_leaves_every_file_as_it_was(call, root, tree):
    """A-25."""
    before = {str(path): path.read_bytes() for path in tree.root.rglob("*") if path.is_file()}
    for name in ("nvidia_peermem", "gdrdrv", "nvidia_fs", "nvidia_uvm", "nvidia", "nouveau"):
        for state in ("present", "absent"):
            predicted = call("nvidia_module", {"sysroot": root, "name": name, "state": state, "on_refusal": "report"},
                             check=True)
            assert {str(path): path.read_bytes() for path in tree.root.rglob("*") if path.is_file()} == before
            done = call("nvidia_module", {"sysroot": root, "name": name, "state": state, "on_refusal": "report"})
            assert predicted["changed"] == done["changed"]


def test_a_recorded_host_runs_no_program(call, root):
    result = call("nvidia_module", {"sysroot": root, "values": {"gdrdrv": "present", "nvidia": "present"}})
    assert [(change["address"], change["outcome"]) for change in result["changes"]] == [
        ("module:gdrdrv", "skipped"), ("module:nvidia", "unchanged")]
    assert "failed" not in result


def test_the_driver_itself_is_refused(call, root):
    result = call("nvidia_module", {"sysroot": root, "name": "nvidia", "state": "absent"})
    assert result["failed"]
    assert "nvidia is the driver itself" in result["msg"]


@pytest.mark.parametrize(("arguments", "message"), [
    ({"state": "present"}, "name"), ({"name": "gdrdrv", "values": {"gdrdrv": "present"}}, "mutually exclusive"),
    ({"values": {"gdrdrv": True}}, "neither present nor absent"), ({"values": {"a b": "present"}}, "not the name of"),
    ({"name": "x y"}, "not the name of"), ({"name": "gdrdrv", "state": "loaded"}, "must be one of")])
def test_nonsense(call, root, arguments, message):
    result = call("nvidia_module", {"sysroot": root, **arguments})
    assert result["failed"]
    assert message in result["msg"]
