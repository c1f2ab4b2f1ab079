# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's host with containers that are set up in other ways: what is said of them, and nothing else changes."""
from __future__ import annotations

import functools

import pytest

from hosts import boot
from hosts.kernel import RELEASE
from hosts.modules import plant_char_devices
from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import CONTAINERS, story_before
from verdicts import changes, judged

PATH = "/etc/pve/nodes/pve1/lxc/101.conf"
MOUNTED = CONTAINERS["101"]
PASSED_ON = CONTAINERS["102"]
# 101 as it should be: the same devices by devN.
RIGHT = MOUNTED.partition("lxc.cgroup2.devices.allow")[0] + "".join(
    f"dev{number}: {path},mode=0666\n" for number, path in enumerate(
        [*map("/dev/nvidia{}".format, range(4)), "/dev/nvidiactl", "/dev/nvidia-uvm"]))


def allow(*rules):
    return "".join(f"lxc.cgroup2.devices.allow: {rule}\n" for rule in rules)


@functools.cache
def with_container(text, change=None):
    """Plants the story with another configuration of container 101."""
    def plant(tree):
        story_before(tree, cores=1)
        tree.file(PATH, text)
        if change is not None:
            change(tree)
    return plant


@pytest.fixture(scope="module")
def story(facts_of):
    """The story with container 101 as it should be."""
    return judged(facts_of(with_container(RIGHT)))


def message(facts_of, story, text, change=None):
    """What is different about container 101."""
    found = changes(story, judged(facts_of(with_container(text, change))))
    assert {subject for _check, subject in found if subject} <= {"lxc:101"}
    return {check: line for (check, subject), line in found.items() if subject}


def other_majors(tree):
    """One more driver asked first, and nvidia-uvm got the next number."""
    tree.remove("/proc/devices")
    plant_char_devices(tree, (195, "nvidia"), (195, "nvidiactl"), (509, "gdrdrv"), (510, "nvidia-uvm"),
                       (240, "infiniband_verbs"), (508, "ptp"))
    uvm_nodes(tree, 510)


def uvm_nodes(tree, major):
    tree.device("/dev/nvidia-uvm", major, 0).device("/dev/nvidia-uvm-tools", major, 1)


def test_by_devn_nothing_is_to_be_said(story):
    assert {check: finding["verdict"] for (check, subject), finding in story.items() if subject == "lxc:101"} == \
        dict.fromkeys(("lxc_gpu_access", "lxc_stale_rules", "lxc_overbroad_rules", "lxc_ignored_settings",
                       "lxc_survives_reboot", "guest_cpus", "guest_memory", "guest_shared_cores", "guest_interrupts",
                       "nvidia_container_library", "container_nodes", "lxc_unreadable_rules"), "pass")


def test_a68_cuda_is_lost_although_nvidia_smi_works(facts_of):
    """A-68: 509 is allowed, which gdrdrv has now; /dev/nvidia-uvm is 510."""
    found = judged(facts_of(with_container(MOUNTED, other_majors)))
    finding = found["lxc_gpu_access", "lxc:101"]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P0")
    assert finding["reason"] == ("/dev/nvidia-uvm is 510:0, not allowed by any rule; c 509:* rwm: the major 509 is "
                                 "gdrdrv")
    assert finding["fix"]["how"].startswith(
        "pct set 101 -dev0 /dev/nvidia0,mode=0666 -dev1 /dev/nvidia1,mode=0666 -dev2 /dev/nvidia2,mode=0666 "
        "-dev3 /dev/nvidia3,mode=0666 -dev4 /dev/nvidia-uvm,mode=0666 -dev5 /dev/nvidiactl,mode=0666, remove")
    assert "Before=pve-guests.service" in finding["fix"]["how"]
    assert found["lxc_gpu_access", "lxc:102"]["verdict"] == "pass"


def test_a68_as_it_was_reported(facts_of, field_files):
    """A-68: the configuration and /proc/devices of the report, with and without the module that moves the major."""
    def plant(name, uvm_major):
        def change(tree):
            uvm_nodes(tree.file("/proc/devices", (field_files / "proc" / name).read_text()), uvm_major)
        return with_container((field_files / "lxc" / "gaming500_majors195-509.conf").read_text(), change)

    moved = judged(facts_of(plant("devices__rdma-gdrdrv-uvm510-nvswitch511.txt", 510)))["lxc_gpu_access", "lxc:101"]
    assert (moved["verdict"], "/dev/nvidia-uvm is 510:0, not allowed by any rule" in moved["reason"],
            "the major 509 is gdrdrv" in moved["reason"]) == ("fail", True, True)
    same = judged(facts_of(plant("devices__same-host-no-gdrdrv-uvm509.txt", 509)))["lxc_gpu_access", "lxc:101"]
    assert same["verdict"] == "pass"


def test_a68_before_the_reboot_every_number_of_a_driver_that_moves_is_named(facts_of, story):
    """A-68: 509 and 235 are handed out anew; 195 is NVIDIA's own."""
    text = MOUNTED + allow("c 235:* rwm") + "lxc.mount.entry: /dev/nvidia-caps dev/nvidia-caps none bind,create=dir\n"
    assert message(facts_of, story, text) == {
        "lxc_survives_reboot": 'fail info: ["c 509:* rwm is nvidia-uvm only until the next boot", '
                               '"c 235:* rwm is nvidia-caps only until the next boot"] -> empty true'}


def test_a69_rules_of_the_other_version_are_named_one_by_one(facts_of, story):
    """A-69: with : and with =, neither allows anything."""
    text = RIGHT + "lxc.cgroup.devices.allow: c 195:* rwm\nlxc.cgroup.devices.allow = c 509:0 rw\n"
    assert message(facts_of, story, text) == {
        "lxc_ignored_settings": 'fail P2: ["lxc.cgroup.devices.allow: c 195:* rwm", '
                                '"lxc.cgroup.devices.allow: c 509:0 rw"] -> empty true'}


def test_a76_majors_of_others_are_named_with_their_owner(facts_of):
    """A-76: everything allowed that NVIDIA's driver might get some day."""
    text = MOUNTED + allow("c 226:* rwm", "c 240:* rwm", "c 508:* rwm", "c 510:* rwm", "c 511:* rwm")
    finding = judged(facts_of(with_container(text, other_majors)))["lxc_stale_rules", "lxc:101"]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P1")
    assert finding["actual"] == [
        "c 511:* rwm: no driver has the major 511", "c 240:* rwm: the major 240 is infiniband_verbs",
        "c 508:* rwm: the major 508 is ptp"]


@pytest.mark.parametrize("text, checks", [
    # nvidia-smi works, CUDA does not: nothing but 195 is allowed
    (MOUNTED.replace("lxc.cgroup2.devices.allow: c 509:* rwm\n", ""),
     {"lxc_gpu_access": 'fail P0: ["/dev/nvidia-uvm is 509:0, not allowed by any rule"] -> empty true'}),
    (MOUNTED.replace("c 509:* rwm", "c 509:* m"),
     {"lxc_gpu_access": 'fail P0: ["/dev/nvidia-uvm is 509:0, not allowed by any rule"] -> empty true'}),
    (RIGHT.replace("/dev/nvidia-uvm,", "/dev/nvidia-uvm,deny-write=1,"),
     {"lxc_gpu_access": 'fail P0: ["/dev/nvidia-uvm has deny-write, but the driver is opened for writing"]'
                        ' -> empty true'}),
    (RIGHT.replace("dev5: /dev/nvidia-uvm,mode=0666\n", "unprivileged: 1\n"),
     {"lxc_gpu_access": 'fail P0: ["/dev/nvidia-uvm is missing in its configuration"] -> empty true'}),
    # it makes its nodes itself, and may
    (RIGHT.replace("dev5: /dev/nvidia-uvm,mode=0666\n", allow("c 509:0 rwm")),
     {"lxc_survives_reboot": 'fail info: ["c 509:0 rwm is nvidia-uvm only until the next boot"] -> empty true'}),
    # contradictory but harmless: devN is looked up at each start
    (RIGHT + allow("c 195:* rwm", "c 509:* rwm"), {}),
    (RIGHT + allow("c 507:* rwm"),
     {"lxc_stale_rules": 'fail P2: ["c 507:* rwm: no driver has the major 507"] -> empty true'}),
    (RIGHT + allow("a"), {"lxc_overbroad_rules": 'fail P1: ["a: every device"] -> empty true'}),
    (RIGHT + "unprivileged: 1\n" + allow("c *:* rwm"),
     {"lxc_overbroad_rules": 'fail P2: ["c *:* rwm: every character device"] -> empty true'}),
    # LXC's own default: any node may be made, none opened
    (RIGHT + allow("c *:* m", "b *:* m"), {}),
    (RIGHT + "lxc.mount.entry: /usr/lib/libcuda.so.550.54.14 usr/lib/libcuda.so.1 none bind,optional,create=file\n",
     {"lxc_library_mounts": 'fail P1: ["libcuda.so.550.54.14 is of version 550.54.14"] -> empty true',
      "lxc_survives_reboot": 'fail info: ["libcuda.so.550.54.14 will be missing after a driver update, and it starts '
                             'without it"] -> empty true'}),
    (RIGHT + "mp0: /usr/lib/libcuda.so.570.133.20,mp=/usr/lib/libcuda.so.1\n",
     {"lxc_library_mounts": "pass P1: []",
      "lxc_survives_reboot": 'fail info: ["libcuda.so.570.133.20 will be missing after a driver update, and then it '
                             'does not start"] -> empty true'}),
    (RIGHT + "dev6: /dev/infiniband/uverbs0\n", {"lxc_memlock": 'fail P1: not set -> matches unlimited(:unlimited)?'}),
    (RIGHT + "dev6: /dev/infiniband/uverbs0\nlxc.prlimit.memlock: unlimited\n", {"lxc_memlock": "pass P1: unlimited"}),
    (RIGHT + "lxc.mount.entry: tmpfs dev/shm tmpfs size=64m,create=dir 0 0\n",
     {"lxc_shm_size": "fail P1: 64 -> at_least 4096"}),
    (RIGHT + "lxc.mount.entry: tmpfs dev/shm tmpfs size=16g,create=dir 0 0\n",
     {"lxc_shm_size": "pass P1: 16384"}),
])
def test_another_configuration(facts_of, story, text, checks):
    assert message(facts_of, story, text) == checks


FAR = ("bound to CPUs 40-47: 0000:01:00.0 is at node0 (0-31,64-95); 0000:11:00.0 is at node0 (0-31,64-95); "
       "0000:21:00.0 is at node0 (0-31,64-95); 0000:31:00.0 is at node0 (0-31,64-95)")


@pytest.mark.parametrize("cpus, verdict, reason", [
    ("40-47", "fail", FAR),
    ("0-63", "fail", "bound to CPUs 0-63: CPUs 32-63 are at node1, where none of its GPUs is"),
    ("0-7", "pass", "bound to CPUs 0-7, beside 0000:01:00.0, 0000:11:00.0, 0000:21:00.0, 0000:31:00.0"),
    ("rubbish", "unknown", "the CPUs that it may use could not be read: what it is bound to is no list of CPUs")])
def test_cpus_of_the_other_node(facts_of, cpus, verdict, reason):
    """GPUs 0 to 3 are at node 0, with CPUs 0-31,64-95."""
    text = RIGHT.replace("cpuset.cpus: 0-31", f"cpuset.cpus: {cpus}")
    found = judged(facts_of(with_container(text)))["guest_cpus", "lxc:101"]
    assert (found["verdict"], found["reason"]) == (verdict, reason)


def test_where_to_bind_a_guest_is_said_for_containers_and_for_vms(facts_of):
    containers = judged(facts_of(with_container(RIGHT.replace("cpuset.cpus: 0-31", "cpuset.cpus: 40-47"))))
    assert containers["guest_cpus", "lxc:101"]["fix"]["how"].startswith(
        "In /etc/pve/lxc/101.conf: lxc.cgroup2.cpuset.cpus: 0-31,64-95, then pct reboot 101.")
    vms = judged(facts_of(vm_on_the_other_node))
    assert vms["guest_cpus", "vm:200"]["reason"] == "bound to CPUs 0-7: 0000:41:00.0 is at node1 (32-63,96-127)"
    assert vms["guest_cpus", "vm:200"]["fix"]["how"].startswith("qm set 200 --affinity 32-63,96-127, then stop")


def vm_on_the_other_node(tree):
    story_before(tree, cores=1, vms={"200": "affinity: 0-7\nhostpci0: 41:00\n"})


def no_unit(tree):
    tree.remove("/etc/systemd/system/nvidia-nodes.service")


def late_unit(tree):
    tree.file("/etc/systemd/system/nvidia-nodes.service", "[Service]\nExecStart=/usr/bin/nvidia-modprobe -u\n")


def managed(tree):
    late_unit(tree)
    tree.file("/etc/pve/ha/resources.cfg", "ct: 101\n\tstate started\n")


@pytest.mark.parametrize("extra, change, risk", [
    ("", no_unit, "nothing creates /dev/nvidia-uvm at boot: no unit and no udev rule runs nvidia-modprobe"),
    ("", late_unit, None),
    ("onboot: 1\n", late_unit, "/etc/systemd/system/nvidia-nodes.service creates /dev/nvidia-uvm, but without "
                               "Before=pve-guests.service"),
    ("", managed, "/etc/systemd/system/nvidia-nodes.service creates /dev/nvidia-uvm, but without "
                  "Before=pve-guests.service")])
def test_a_node_has_to_be_there_before_the_container(facts_of, extra, change, risk):
    found = judged(facts_of(with_container(RIGHT + extra, change)))["lxc_survives_reboot", "lxc:101"]
    assert found["actual"] == ([risk] if risk else [])


# -- before a reboot, with the profile of that name -------------------------------------------------------------------

def failing_before_reboot(facts):
    return {(check, subject): (finding["priority"], finding["reason"]) for (check, subject), finding
            in judged(facts, "before_reboot").items() if finding["verdict"] == "fail"}


def test_before_the_reboot_the_story_has_one_container_to_mend(facts_of):
    assert failing_before_reboot(facts_of(story_before)) == {
        ("lxc_survives_reboot", "lxc:101"): ("P1", "c 509:* rwm is nvidia-uvm only until the next boot")}


def story_with_much_to_come(tree):
    """A newer kernel that has no NVIDIA module starts next, and the IOMMU goes off with it."""
    story_before(tree, cores=1, vms={"200": "name: desk\nhostpci0: 0000:c1:00.0\n"})
    tree.folder("/sys/bus/pci/devices/0000:c1:00.0")
    boot.plant_grub(tree, RELEASE, normally="quiet amd_pstate=active amd_iommu=off")
    boot.plant_installed_kernel(tree, "6.14.11-4-pve", ())


def test_before_the_reboot_kernel_containers_and_vms_are_judged(facts_of):
    assert failing_before_reboot(facts_of(story_with_much_to_come)) == {
        ("next_kernel", None): ("info", "6.14.11-4-pve starts next (the newest installed); 6.8.12-9-pve runs"),
        ("next_kernel_nvidia", None): ("P1", "kernel 6.14.11-4-pve starts next (the newest installed) "
                                             "and has no nvidia.ko; built for 6.8.12-9-pve"),
        ("cmdline_configured", None): ("info", "GRUB boots this host: amd_pstate=active amd_iommu=off in "
                                               "/etc/default/grub takes effect at the next boot"),
        ("lxc_survives_reboot", "lxc:101"): ("P1", "c 509:* rwm is nvidia-uvm only until the next boot"),
        ("vm_survives_reboot", "vm:200"): ("P1", "amd_iommu=off takes effect at the next boot: without an IOMMU the "
                                                 "VM does not start")}


def two_nodes(tree):
    """A cluster that moves container 101, which allows 509 by number."""
    story_before(tree, cores=1)
    tree.folder("/etc/pve/nodes/pve2").file("/etc/pve/ha/resources.cfg", "ct: 101\n\tstate started\n")


def test_a_guest_that_moves_is_judged_by_the_audit_of_the_other_node(facts_of):
    alone = judged(facts_of(two_nodes))["ha_guests", "lxc:101"]
    assert (alone["verdict"], alone["reason"]) == (
        "unknown", "the nodes on which HA may start it could not be read: "
                   "pve2 not audited yet with this report directory")
    same = judged(facts_of(two_nodes), peers={"pve2": facts_of(story_before)})["ha_guests", "lxc:101"]
    assert (same["verdict"], same["reason"]) == ("pass", "available on pve2")
    moved = judged(facts_of(two_nodes), peers={"pve2": facts_of(story_after_reboot)})["ha_guests", "lxc:101"]
    assert (moved["verdict"], moved["reason"]) == (
        "fail", "pve2: c 509:* rwm is nvidia-uvm here, whose major there is 511")
