# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemons of an NVSwitch fabric by unit and by process, and NVLinks by what nvidia-smi prints."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ABSENT, DENIED, Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import fabric

from hosts import managers
from hosts.hgx import H100, hgx_b200, hgx_h100
from hosts.nvidia import Gpu, plant_links
from hosts.processes import plant_process

NONE = ok([])
GPUS = ok([{"bdf": bdf, "uuid": f"GPU-00000000-0000-4000-8000-{minor:012d}"} for minor, bdf in enumerate(H100)])


def daemons(host, users=NONE):
    return {entry["service"]: (entry["installed"], entry["enabled"], entry["running"])
            for entry in fabric.read_daemons(host, users)}


def test_units_that_run(tree, host):
    hgx_h100(tree)
    assert daemons(host) == {"nvidia-fabricmanager": (True, True, True), "nvlsm": (False, False, False),
                             "nvidia-imex": (False, False, False)}


def test_nvlsm_has_no_unit_and_writes_down_its_process(tree, host):
    hgx_b200(tree)
    assert daemons(host)["nvlsm"] == (True, False, True)
    plant_process(tree, 820, "python3")         # the number belongs to somebody else now
    assert daemons(host)["nvlsm"] == (True, False, False)


def test_a_fabric_manager_in_a_container_is_found_by_its_process(tree, host):
    managers.plant_systemd(tree)
    user = {"pid": 900, "command": "nv-fabricmanage", "container": "0123456789ab", "nodes": ["/dev/nvidiactl"]}
    assert daemons(host, ok([user]))["nvidia-fabricmanager"] == (False, False, True)


def test_without_root_a_daemon_that_is_not_seen_may_run_all_the_same(tree, host):
    hgx_h100(tree)
    hidden = Reading(DENIED, None, "/proc/<pid>/fd of 40 processes is not readable: needs root")
    assert daemons(host, hidden) == {"nvidia-fabricmanager": (True, True, True), "nvlsm": (False, False, None),
                                     "nvidia-imex": (False, False, None)}


def test_without_control_groups_nobody_can_tell(host):
    assert daemons(host, Reading(ABSENT))["nvidia-imex"] == (False, False, None)


def test_links_of_each_gpu(tree, host):
    plant_links(tree, [Gpu(bdf, minor) for minor, bdf in enumerate(H100[:3])], 18, {1: 2, 2: 18})
    answered = {"state": "ok", "gpus": [{"bdf": H100[0], "mig": "Enabled", "fabric_state": None}]}
    assert fabric.read_links(host, GPUS, answered, ["0000:c1:00.0"]).value == [
        {"bdf": H100[0], "links": 18, "active": 18, "mig": "Enabled"},
        {"bdf": H100[1], "links": 18, "active": 16, "mig": None},
        {"bdf": H100[2], "links": 18, "active": 0, "mig": None}]


def test_nvidia_smi_is_not_asked_for_links_without_a_fabric_or_an_answer(tree, host):
    plant_links(tree, [Gpu(H100[0], 0)], 18)
    silent = {"bdf": H100[0], "mig": None, "fabric_state": None}
    for smi, switches in (({"state": "ok", "gpus": [silent]}, []),
                          ({"state": "timeout", "gpus": []}, ["0000:c1:00.0"])):
        assert fabric.read_links(host, GPUS, smi, switches).status == ABSENT
    assert fabric.read_links(host, GPUS, {"state": "ok", "gpus": [{**silent, "fabric_state": "Completed"}]}, []).ok


def test_lines_that_are_no_links():
    assert fabric.parse_links("NVLink not supported\n\t Link 0: 25 GB/s\n", []) == []
    assert fabric.parse_links("GPU 0: NVIDIA A100 (UUID: GPU-1)\n", [{"bdf": "0000:41:00.0", "uuid": "GPU-1"}]) == [
        {"bdf": "0000:41:00.0", "links": 0, "active": 0}]


def test_links_of_a_real_machine(field_files):
    gpus = [{"bdf": "0000:10:00.0", "uuid": "GPU-5269b708-678a-b1a8-60f0-c90406537486"}]
    text = (field_files / "nvidia" / "gpud__nvidia-smi.nvlink.status.a100.txt").read_text()
    assert fabric.parse_links(text, gpus) == [{"bdf": "0000:10:00.0", "links": 12, "active": 12}]
