# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, as_facts, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.containers import own_group
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.device_users import read_users
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement import topology
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.guests import read_guests
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.processes import read_processes
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.threads import read_threads
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guests as pve_guests

from hosts.modules import plant_char_devices
from hosts.placement import plant_caches, plant_group, plant_threads
from hosts.processes import plant_container_process, plant_process
from hosts.proxmox import plant_proxmox

DOCKER = "3f9c2ab41d07" + "0" * 52


def placed(host):
    configs = pve_guests.read_all_configs(host)
    found = as_facts(read_guests(host, configs, pve_guests.read(host, configs)))
    return {guest["subject"]: guest for guest in found["value"]}


@pytest.mark.parametrize("path, found", [
    ("/system.slice/vllm.service", ("vllm.service", "/system.slice/vllm.service")),
    ("/system.slice/vllm.service/worker", ("vllm.service", "/system.slice/vllm.service")),
    (f"/system.slice/docker-{DOCKER}.scope/init", ("3f9c2ab41d07", f"/system.slice/docker-{DOCKER}.scope")),
    (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{DOCKER}.scope",
     ("3f9c2ab41d07", f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{DOCKER}.scope")),
    ("/user.slice/user-1000.slice/session-3.scope", ("session-3.scope", "/user.slice/user-1000.slice/session-3.scope")),
    ("/user.slice/user-1000.slice/user@1000.service/app.slice/fake.service",
     ("user@1000.service", "/user.slice/user-1000.slice/user@1000.service")),
    ("/", None), ("", None), ("/user.slice", None)])
def test_the_unit_or_container_that_root_made(path, found):
    assert own_group(path) == found


def test_threads_are_counted_by_what_they_may_run_on(tree, host):
    plant_threads(tree, 50, {"0-3": 3, "8": 1}, "0")
    found = read_threads(host, 50)
    assert found["threads"] == ok([{"cpus": "0-3", "count": 3}, {"cpus": "8", "count": 1}])
    assert (found["cpus"].value, found["memory_nodes"].value) == ("0-3,8", "0")


def test_a_thread_that_has_no_such_line_leaves_all_of_it_unknown(tree, host):
    plant_threads(tree, 50, {"0-3": 1})
    tree.file("/proc/50/task/51/status", "Name:\tx\n")
    assert {reading.status for reading in read_threads(host, 50).values()} == {"unparsable"}


def test_what_runs_is_read_of_guests_that_run_alone(tree, host):
    plant_proxmox(tree, containers={"101": "cores: 4\n", "102": "cores: 4\n"}, running=("101", "200"),
                  vms={"200": "hugepages: 2\nnuma: 1\n[PENDING]\naffinity: 0-3\ndelete: numa0\nname: x\n", "201": ""})
    plant_group(tree, "/lxc/101", (1, 1), cpuset="3,9", nodes="0-1")
    plant_threads(tree, 20200, {"0-255": 5})
    tree.file("/proc/20200/numa_maps", "7f00 default file=/run/hugepages/x huge dirty=8 N1=8 kernelpagesize_kB=2048")
    found = placed(host)
    assert found["lxc:102"]["real"] is None and found["vm:201"]["real"] is None
    assert found["lxc:101"]["real"]["cpus"]["value"] == "3,9"
    assert (found["vm:200"]["real"]["pid"], found["vm:200"]["real"]["cpus"]["value"]) == (20200, "0-255")
    assert found["vm:200"]["real"]["memory"]["value"][1]["hugetlb_kib"] == 16384
    assert found["vm:200"]["pending"] == ["affinity: 0-3", "delete: numa0"]


def test_guests_that_cannot_be_read_are_none_that_are_not_there():
    lost = {"containers": Reading("denied"), "vms": ok([])}
    assert read_guests(None, None, lost).status == "denied"


def test_services_and_containers_but_no_guests(tree, host):
    plant_char_devices(tree, (195, "nvidia"))
    plant_proxmox(tree, containers={"101": ""}, running=("101",))
    plant_container_process(tree, 40, "vllm", "101", ("/dev/nvidia0",))
    for pid, cgroup in ((41, "/system.slice/a.service"), (42, "/system.slice/a.service"), (43, "/"),
                        (44, f"/system.slice/docker-{DOCKER}.scope"), (45, "/qemu.slice/200.scope")):
        plant_process(tree, pid, "python3", ("/dev/nvidia0",), cgroup=f"0::{cgroup}")
        plant_threads(tree, pid, {f"{pid}": 1})
    plant_group(tree, "/system.slice/a.service", (3, 0), cpu_max="800000 100000")
    found = read_processes(host, read_users(host), pve_guests.read(host))
    assert {one["subject"]: one["pids"] for one in found.value} == {
        "process:a.service": [41, 42], "process:python3": [43], "process:3f9c2ab41d07": [44]}
    service, plain = found.value[0]["real"], found.value[1]["real"]
    assert (service["cpus"].value, service["cpu_limit"].value) == ("41-42", 8.0)
    assert service["memory"].value[0]["anon_kib"] == 3 << 20
    assert plain["memory"].status == "absent"


def test_groups_of_cpus_are_read_once_each_and_whole_or_not_at_all(tree, host):
    tree.file("/sys/devices/system/cpu/online", "0-7")
    plant_caches(tree, ["0-1,4-5", "2-3,6-7"])
    names = ("cache/index3/shared_cpu_list",)
    assert topology.read_groups(host, range(8), names) == ["0-1,4-5", "2-3,6-7"]
    tree.remove("/sys/devices/system/cpu/cpu2/cache/index3/shared_cpu_list")
    assert topology.read_groups(host, range(8), names) == []
