# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each reason for which a running guest is not moved, alone; and that none of them keeps it from being moved back."""
from __future__ import annotations

import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.guest_affinity import GuestAffinityKind

from hosts.movable import (
    CONTAINER,
    CONTAINER_CONF,
    INIT_PID,
    VM_CONF,
    VM_PID,
    TreeScheduler,
    movable,
    plant_pvestatd,
)
from hosts.proxmox import plant_ha, plant_tasks

GUESTS = ("vm:200", "lxc:101")
SCOPE = "/sys/fs/cgroup/qemu.slice/200.scope"


@pytest.fixture(autouse=True)
def node(tree):
    return movable(tree)


@pytest.fixture
def change(tree):
    def run(guest, wanted="0-3", **options):
        host = Host(str(tree.root))
        kind = GuestAffinityKind(host, TreeScheduler(tree))
        [found] = set_values(kind, host, {guest: wanted}, [], **options)["changes"]
        return found
    return run


@pytest.fixture
def refused(change):
    """The reason, which is the same in check mode and without."""
    def run(guest, wanted="0-3"):
        found = [change(guest, wanted, check_mode=check) for check in (True, False)]
        assert [one["outcome"] for one in found] == ["refused", "refused"]
        assert found[0]["reason"] == found[1]["reason"]
        return found[0]["reason"]
    return run


@pytest.mark.parametrize("guest", GUESTS)
def test_nothing_speaks_against_it_on_this_node(change, guest):
    assert change(guest)["outcome"] == "changed"


# -- no such guest -----------------------------------------------------------------------------------------------------


def test_a_guest_that_is_not_running(tree, refused):
    tree.remove("/run/qemu-server/200.pid").file(f"{CONTAINER}/cgroup.events", "populated 0\nfrozen 0")
    assert refused("vm:200") == "absent: VM 200 is not running"
    assert refused("lxc:101") == "absent: container 101 is not running"


def test_a_number_that_no_guest_has(refused):
    assert refused("vm:300") == "absent: this node has no VM 300 (/etc/pve/qemu-server/300.conf)"
    assert refused("lxc:200") == "absent: this node has no container 200 (/etc/pve/lxc/200.conf)"


def test_a_pid_file_whose_process_is_another_program(tree, refused):
    tree.file(f"/proc/{VM_PID}/cmdline", b"/usr/bin/kvm\0-id\x00201\0")
    assert refused("vm:200") == "absent: VM 200 is not running"


def test_a_host_without_proxmox(tree, refused):
    shutil.rmtree(tree.path("/etc/pve"))
    tree.remove("/usr/bin/pveversion").remove("/run/qemu-server/200.pid")
    assert refused("vm:200") == "absent: there is no /etc/pve: this is not a Proxmox VE node"
    assert refused("lxc:101") == "this is not a Proxmox VE node"


def test_a_running_guest_without_configuration(tree, refused):
    tree.remove(VM_CONF)
    assert refused("vm:200") == "this node has no configuration of vm:200"


def test_a_configuration_that_cannot_be_read(tree, refused):
    tree.remove(CONTAINER_CONF).folder(CONTAINER_CONF)
    assert refused("lxc:101") == ("its configuration cannot be read: /etc/pve/local/lxc/101.conf: "
                                  "EISDIR (Is a directory)")


def test_inside_a_container(tree, refused):
    tree.file("/proc/1/environ", b"container=lxc\0")
    assert refused("vm:200") == ("this machine is itself a container (the first process was started with "
                                 "container=lxc): guests are moved on their host")


@pytest.mark.parametrize("guest", GUESTS)
def test_control_groups_of_version_1(tree, refused, guest):
    tree.remove("/sys/fs/cgroup/cgroup.controllers")
    assert refused(guest) == ("absent: only hosts with the unified control group hierarchy (cgroup v2) are supported")


# -- Proxmox VE is at work on it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("guest", "path"), [("vm:200", VM_CONF), ("lxc:101", CONTAINER_CONF)])
def test_a_locked_guest(tree, refused, guest, path):
    text = tree.path(path).read_text()
    tree.file(path, f"lock: backup\n{text}\n[snapshot]\ncores: 1\n")
    assert refused(guest) == "the guest is locked: backup"


def test_a_task_of_the_guest(tree, refused, change):
    plant_tasks(tree, "vncproxy", "qmigrate", guest="200")
    assert refused("vm:200") == "the guest is busy: task qmigrate of root@pam is running"
    assert change("lxc:101")["outcome"] == "changed"


@pytest.mark.parametrize(("guest", "service"), [("vm:200", "vm:200"), ("lxc:101", "ct:101")])
def test_high_availability_moves_the_guest(tree, refused, guest, service):
    plant_ha(tree, services={service: {"state": "relocate", "node": "pve1", "target": "pve2"}})
    assert refused(guest) == "the guest is busy: it is in HA state relocate"


def test_a_guest_that_high_availability_keeps_running(tree, change):
    plant_ha(tree, services={"vm:200": {"state": "started", "node": "pve1"}})
    assert change("vm:200")["outcome"] == "changed"


def test_tasks_and_states_that_cannot_be_read(tree, refused):
    tree.file("/var/log/pve/tasks/active", "nonsense")
    assert refused("vm:200").startswith("whether a task of the guest is running is unknown: ")
    tree.file("/var/log/pve/tasks/active", "").file("/etc/pve/ha/manager_status", "{")
    assert refused("vm:200").startswith("the state of high availability is unknown: ")


# -- CPUs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guest", GUESTS)
def test_cpus_that_the_host_does_not_have(tree, refused, guest):
    for path in ("", "/lxc"):
        tree.file(f"/sys/fs/cgroup{path}/cpuset.cpus.effective", "0-15")
    assert refused(guest, "0-9") == "the host has no CPU 8-9: it has 0-7"


@pytest.mark.parametrize("guest", GUESTS)
def test_cpus_that_are_offline(tree, refused, guest):
    tree.file("/sys/devices/system/cpu/online", "0-2,4-7")
    assert refused(guest) == "the CPUs 3 are offline"


def test_cpus_that_the_control_groups_above_do_not_have(tree, refused):
    tree.file("/sys/fs/cgroup/lxc/cpuset.cpus.effective", "0-1")
    tree.file(f"{SCOPE}/cpuset.cpus.effective", "0,2")
    assert refused("lxc:101") == "its control group may only use the CPUs 0-1, not 2-3"
    assert refused("vm:200") == "its control group may only use the CPUs 0,2, not 1,3"


def test_a_list_of_cpus_that_cannot_be_read(tree, refused):
    tree.file("/sys/devices/system/cpu/present", "many")
    assert refused("vm:200").startswith("/sys/devices/system/cpu/present cannot be read: ")


# -- the control group -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/sys/fs/cgroup/lxc", CONTAINER, f"{CONTAINER}/ns", f"{CONTAINER}/cpuset.cpus"])
def test_a_control_group_that_is_a_link(tree, refused, path):
    tree.path(path).rename(tree.path(path).with_name("other"))
    tree.link(path, "other")
    assert refused("lxc:101") == f"denied: {path} is a link, not the container's own control group"


@pytest.mark.parametrize(("guest", "pid", "path", "own"), [
    ("vm:200", VM_PID, "/machine.slice/200.scope", "/qemu.slice/200.scope"),
    ("vm:200", VM_PID, "/qemu.slice/200.scope.d", "/qemu.slice/200.scope"),
    ("vm:200", VM_PID, "/system.slice/qemu.slice/200.scope", "/qemu.slice/200.scope"),
    ("lxc:101", INIT_PID, "/lxc.payload.101/init.scope", "/lxc/101"),
    ("lxc:101", INIT_PID, "/lxc/1011/ns", "/lxc/101"),
])
def test_a_process_in_a_control_group_that_is_not_the_guests_own(tree, refused, guest, pid, path, own):
    tree.file(f"/proc/{pid}/cgroup", f"0::{path}")
    assert refused(guest) == f"its process {pid} is in the control group {path}, not in {own}"


def test_a_container_without_the_controller(tree, refused):
    tree.remove(f"{CONTAINER}/cpuset.cpus")
    assert refused("lxc:101") == f"absent: {CONTAINER}/cpuset.cpus does not exist: the controller cpuset is not enabled"


def test_a_container_without_a_first_process(tree, refused):
    tree.file(f"/proc/{INIT_PID}/status", f"Name:\tsh\nNSpid:\t{INIT_PID}\t7\t1\n")
    assert refused("lxc:101") == f"absent: container 101 has no first process in {CONTAINER}"


def test_a_recorded_vm_is_not_moved(tree):
    host = Host(str(tree.root))
    [found] = set_values(GuestAffinityKind(host), host, {"vm:200": "0-3"}, [])["changes"]
    assert (found["outcome"], found["reason"]) == ("skipped", "needs a live host")


# -- pvestatd ----------------------------------------------------------------------------------------------------------

TAKEN_BACK = ("pvestatd would take it back within 10 seconds: it sets the CPUs of every container without "
              "lxc.cgroup2.cpuset.cpus; put that line into /etc/pve/lxc/101.conf and restart the container")


@pytest.mark.parametrize("text", ["cores: 4", "hostname: no-limit", "[snapshot]\nlxc.cgroup2.cpuset.cpus: 0-7"])
def test_a_container_whose_cpus_pvestatd_sets(tree, refused, text):
    plant_pvestatd(tree).file(CONTAINER_CONF, text)
    assert refused("lxc:101") == TAKEN_BACK


@pytest.mark.parametrize("key", ["lxc.cgroup2.cpuset.cpus", "lxc.cgroup.cpuset.cpus"])
def test_a_container_that_pvestatd_leaves_alone(tree, change, key):
    plant_pvestatd(tree).file(CONTAINER_CONF, f"cores: 4\n{key}: 0-7")
    assert change("lxc:101")["outcome"] == "changed"


def test_a_node_without_pvestatd(tree, change):
    tree.file(CONTAINER_CONF, "cores: 4")
    assert change("lxc:101", check_mode=True)["outcome"] == "would_change"
    tree.file("/run/pvestatd.pid", "901")       # of one that has ended
    assert change("lxc:101")["outcome"] == "changed"


def test_pvestatd_cannot_be_found_out_about(tree, refused):
    tree.file(CONTAINER_CONF, "cores: 4").file("/run/pvestatd.pid", "none of your business")
    assert refused("lxc:101") == TAKEN_BACK


def test_a_vm_is_no_concern_of_pvestatd(tree, change):
    plant_pvestatd(tree)
    assert change("vm:200")["outcome"] == "changed"
