# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import DENIED, Reading, as_facts, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guests as pve_guests
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import lxc
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guest_details import read_details

from facts_schema import problems
from hosts.modules import plant_char_devices
from hosts.nvidia import plant_nvidia
from hosts.proxmox import plant_proxmox

GPU = "0000:41:00.0"


def read(host):
    guests = pve_guests.read(host)
    facts = {**guests, **read_details(host, guests)}
    assert problems("guests", as_facts(facts)) == []
    return facts


def container(tree, host, text, **arguments):
    plant_proxmox(tree, containers={"101": text}, **arguments)
    [found] = read(host)["containers"].value
    return found


def claim(tree, host, text, bdf=GPU, **arguments):
    plant_proxmox(tree, vms={"200": text}, **arguments)
    return pve_guests.claims(read(host), bdf)


class Unreadable(Host):
    """A host that lets nobody read below one of its folders, as root is never stopped by permission bits."""

    def __init__(self, sysroot, folder):
        super().__init__(sysroot)
        self._folder = folder

    def read(self, path, *arguments):
        return Reading(DENIED, None, "EACCES") if path.startswith(self._folder) else super().read(path, *arguments)

    def read_list(self, path):
        return Reading(DENIED, None, "EACCES") if path.startswith(self._folder) else super().read_list(path)


# -- which host it is ---------------------------------------------------------------------------------------------


def test_host_without_proxmox(host):
    facts = read(host)
    assert facts == {"status": ok("none"), "containers": ok([]), "vms": ok([]), "running": ok(0),
                     "unpinned_running": ok(0), "node": None, "cluster_nodes": [], "ha": ok([]), "mappings": [],
                     "device_nodes": [], "node_makers": []}
    assert pve_guests.claims(facts, GPU) == ok([])


def test_node_without_guests(tree, host):
    plant_proxmox(tree)
    facts = read(host)
    assert (facts["status"].value, facts["containers"].value, facts["vms"].value) == ("proxmox", [], [])
    assert pve_guests.claims(facts, GPU) == ok([])


@pytest.mark.parametrize("plant", [
    lambda tree: tree.folder("/etc/pve"),                                       # pmxcfs is not mounted
    lambda tree: tree.folder("/etc/pve/nodes/other/qemu-server"),               # nothing of this node
    lambda tree: tree.link("/etc/pve/local", "nodes/pve1"),
    lambda tree: tree.file("/usr/bin/pveversion"),                              # installed, and /etc/pve is missing
    lambda tree: tree.file("/etc/pve"),
])
def test_empty_etc_pve_makes_every_claim_unknown(tree, host, plant):
    tree.file("/proc/sys/kernel/hostname", "pve1")
    plant(tree)
    facts = read(host)
    assert facts["status"].status == "unparsable"
    assert facts["running"].status == facts["unpinned_running"].status == "unparsable"
    assert pve_guests.claims(facts, GPU).status == "unparsable"


@pytest.mark.parametrize("folder", ["/etc/pve", "/etc/pve/local", "/etc/pve/local/qemu-server",
                                    "/etc/pve/local/qemu-server/300.conf"])
def test_unreadable_etc_pve_makes_every_claim_unknown(tree, folder):
    plant_proxmox(tree, containers={"101": "cores: 4"}, vms={"200": "hostpci0: 41:00", "300": "cores: 2"})
    facts = read(Unreadable(str(tree.root), folder))
    assert facts["vms"].status == "denied"
    assert facts["running"].status == "denied"
    claimed = pve_guests.claims(facts, "0000:01:00.0")
    assert claimed.status == "denied"
    assert folder in claimed.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_configuration_without_permission(tree, host):
    plant_proxmox(tree, vms={"200": "hostpci0: 41:00"})
    tree.path("/etc/pve/nodes/pve1/qemu-server/200.conf").chmod(0)
    assert pve_guests.claims(read(host), GPU).status == "denied"


def test_guests_of_other_nodes_do_not_count(tree, host):
    plant_proxmox(tree, vms={"200": "cores: 2"})
    tree.file("/etc/pve/nodes/pve2/qemu-server/201.conf", "hostpci0: 41:00")
    tree.file("/etc/pve/nodes/pve2/lxc/102.conf", "dev0: /dev/nvidia0")
    facts = read(host)
    assert [vm["id"] for vm in facts["vms"].value] == ["200"]
    assert facts["containers"].value == []
    assert pve_guests.claims(facts, GPU).value == []


def test_node_by_its_host_name(tree, host):
    tree.file("/proc/sys/kernel/hostname", "pve7.example.org")
    tree.file("/etc/pve/nodes/pve7/qemu-server/200.conf", "hostpci0: 41:00").folder("/etc/pve/nodes/pve7/lxc")
    assert pve_guests.claims(read(host), GPU).value[0]["vm"] == "200"


def test_one_kind_of_guests_alone(tree, host):
    tree.file("/etc/pve/qemu-server/200.conf", "hostpci0: 41:00").file("/etc/pve/qemu-server/notes.txt", "")
    facts = read(host)
    assert facts["containers"].value == []
    assert pve_guests.claims(facts, GPU).value == [{"vm": "200", "key": "hostpci0", "value": "41:00"}]


# -- claims -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0000:41:00", "41:00.0", "01:00;41:00,pcie=1", "host=0000:41:00.0,x-vga=1",
                                   "pcie=1,host=41:00", "41:00.0,mdev=nvidia-1105"])
def test_claim_in_every_form(tree, host, value):
    assert claim(tree, host, f"cores: 8\nhostpci3: {value}\n").value == [
        {"vm": "200", "key": "hostpci3", "value": value}]


def test_stopped_vm_claims_as_well(tree, host):
    plant_proxmox(tree, vms={"200": "hostpci0: 41:00"})
    facts = read(host)
    assert facts["vms"].value[0]["running"] is False
    assert len(pve_guests.claims(facts, GPU).value) == 1


def test_whole_slot_claims_every_function_and_no_other_slot(tree, host):
    plant_proxmox(tree, vms={"200": "hostpci0: 41:00"})
    facts = read(host)
    assert [len(pve_guests.claims(facts, bdf).value) for bdf in (
        "0000:41:00.0", "0000:41:00.1", "0000:41:01.0", "0000:42:00.0", "0001:41:00.0")] == [1, 1, 0, 0, 0]


def test_one_function_claims_itself_only(tree, host):
    plant_proxmox(tree, vms={"200": "hostpci0: 41:00.1"})
    facts = read(host)
    assert [len(pve_guests.claims(facts, bdf).value) for bdf in ("0000:41:00.0", "0000:41:00.1")] == [0, 1]


def test_two_vms_name_one_gpu(tree, host):
    plant_proxmox(tree, vms={"1000": "hostpci0: 41:00", "201": "hostpci1: 0000:41:00.0"}, running=("201",))
    assert [entry["vm"] for entry in pve_guests.claims(read(host), GPU).value] == ["201", "1000"]


MAPPING = "rtx\n\tmap node=pve1,path=0000:41:00.0,id=10de:2bb5\n\tmap node=pve2,path=0000:01:00.0,id=10de:2bb5\n"


def test_mapping_is_resolved_for_this_node(tree, host):
    plant_proxmox(tree, vms={"200": "hostpci0: mapping=rtx,pcie=1"}, mapping=MAPPING)
    facts = read(host)
    assert pve_guests.claims(facts, GPU).value == [{"vm": "200", "key": "hostpci0", "value": "mapping=rtx,pcie=1"}]
    assert pve_guests.claims(facts, "0000:01:00.0").value == []


def test_mapping_that_is_not_defined_names_nothing(tree, host):
    assert claim(tree, host, "hostpci0: mapping=rtx") == ok([])
    assert claim(tree, host, "hostpci0: mapping=other", mapping=MAPPING) == ok([])


def test_mappings_that_are_not_understood(tree, host):
    mapping = "rtx\n\tmap node=pve1,path=somewhere\n"
    assert claim(tree, host, "hostpci0: mapping=rtx", mapping=mapping).status == "unparsable"


def test_mappings_that_may_not_be_read(tree):
    plant_proxmox(tree, vms={"200": "hostpci0: mapping=rtx", "201": "hostpci0: 81:00"}, mapping=MAPPING)
    host = Unreadable(str(tree.root), "/etc/pve/mapping")
    facts = read(host)
    assert pve_guests.claims(facts, GPU).status == "unparsable"
    assert facts["running"] == ok(0)


def test_form_that_is_not_understood_may_name_any_gpu(tree, host):
    claimed = claim(tree, host, "hostpci0: the-big-one", bdf="0000:01:00.0")
    assert claimed.status == "unparsable"
    assert "VM 200: hostpci0: the-big-one" in claimed.detail


def test_snapshot_and_description_claim_nothing(tree, host):
    text = "#hostpci0: 41:00\ncores: 4\n[before]\nhostpci0: 41:00\nsnaptime: 1700000000\n"
    assert claim(tree, host, text) == ok([])


def test_change_that_waits_for_the_next_start_claims(tree, host):
    assert claim(tree, host, "cores: 4\n[PENDING]\nhostpci1: 41:00\n").value == [
        {"vm": "200", "key": "hostpci1 (pending)", "value": "41:00"}]


def test_arguments_of_qemu_claim(tree, host):
    assert claim(tree, host, "args: -device vfio-pci,host=41:00.0").value[0]["key"] == "args"
    assert claim(tree, host, "args: -cpu host,kvm=off") == ok([])


# -- containers ---------------------------------------------------------------------------------------------------


def test_container_with_two_gpus(tree, host):
    found = container(tree, host, "hostname: llm\ndev0: /dev/nvidia0,gid=44\ndev1: /dev/nvidia1\n"
                                  "dev2: /dev/nvidia-uvm\nmp0: /srv/models,mp=/models\n", running=("101",))
    assert found == {
        "id": "101", "name": "llm", "running": True, "lock": None, "onboot": False, "unprivileged": False,
        "template": False,
        "gpu_devices": ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1"],
        "devices": [{"key": key, "path": path, "optional": False, "writable": True, "target": path} for key, path in (
            ("dev0", "/dev/nvidia0"), ("dev1", "/dev/nvidia1"), ("dev2", "/dev/nvidia-uvm"))],
        "unreadable_rules": [], "trailing_text": [], "other_sections": [], "memory_nodes": None,
        "allow": [], "deny": [], "allows_everything": False, "hook": False, "libraries": [], "memlock": None,
        "shm_size": None, "ignored": [], "cpus": None, "pinned": False}


def test_container_with_the_rest(tree, host):
    found = container(tree, host, """\
onboot: 1
unprivileged: 1
lxc.cgroup2.devices.deny: a
lxc.cgroup2.devices.deny: c 10:* rwm
lxc.hook.mount: /usr/share/lxc/hooks/nvidia
lxc.prlimit.memlock: unlimited
lxc.mount.entry: tmpfs dev/shm tmpfs size=8g,create=dir 0 0
lxc.mount.entry: /usr/lib/libcuda.so.570.133.20 usr/lib/libcuda.so.1 none bind,optional,create=file
""")
    wanted = ("onboot", "unprivileged", "deny", "hook", "memlock", "shm_size", "libraries")
    assert {key: found[key] for key in wanted} == {
        "onboot": True, "unprivileged": True, "deny": ["a", "c 10:* rwm"], "hook": True, "memlock": "unlimited",
        "shm_size": "8g",
        "libraries": [{"path": "/usr/lib/libcuda.so.570.133.20", "version": "570.133.20", "optional": True}]}


def test_devices_that_the_host_has_and_has_not(tree, host):
    tree.folder("/sys/bus/pci/devices/0000:41:00.0")
    plant_proxmox(tree, mapping=MAPPING, vms={
        "200": "hostpci0: 41:00\nhostpci1: 0000:42:00.0;41:00.0\nhostpci2: mapping=rtx\nonboot: 1\n"})
    [vm] = read(host)["vms"].value
    assert [(named["mapping"], named["missing"]) for named in vm["hostpci"]] == [
        (None, []), (None, ["0000:42:00.0"]), ("rtx", [])]
    assert vm["onboot"] is True


def test_node_that_the_host_lacks(tree, host):
    """A-71: it would start without CUDA, as `optional` says."""
    found = container(tree, host, "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file\n")
    assert found["devices"] == [{"key": "lxc.mount.entry", "path": "/dev/nvidia-uvm", "optional": True,
                                 "writable": True, "target": "/dev/nvidia-uvm"}]


def test_gpus_by_minor_and_not_by_place(tree, host):
    """A-72: /dev/nvidia0 and /dev/nvidia1 are the third and the fourth GPU of this bus."""
    plant_nvidia(tree, gpus=[("0000:06:00.0", 2), ("0000:07:00.0", 3), ("0000:75:00.0", 0), ("0000:76:00.0", 1)])
    plant_proxmox(tree, containers={"101": "dev0: /dev/nvidia0\ndev1: /dev/nvidia1\n", "102": "cores: 2\n"})
    facts = read(host)
    assert {minor: lxc.containers_given(facts, [f"/dev/nvidia{minor}"]) for minor in range(4)} == {
        0: ["101"], 1: ["101"], 2: [], 3: []}


def test_stale_major_and_its_new_owner(tree, host):
    """A-68: allowed is 509, which another driver has now."""
    plant_char_devices(tree, (195, "nvidia"), (195, "nvidiactl"), (509, "gdrdrv"), (510, "nvidia-uvm"))
    found = container(tree, host, "lxc.cgroup2.devices.allow: c 195:* rwm\nlxc.cgroup2.devices.allow: c 509:* rwm\n")
    assert [(rule["major"], rule["owners"]) for rule in found["allow"]] == [
        (195, ["nvidia", "nvidiactl"]), (509, ["gdrdrv"])]


def test_allowed_to_be_safe(tree, host):
    """A-76: majors that belong to no NVIDIA device are named with their real owner."""
    plant_char_devices(tree, (195, "nvidia"), (226, "drm"), (240, "infiniband_verbs"), (508, "trace"),
                       (511, "nvidia-uvm"))
    found = container(tree, host, "".join(f"lxc.cgroup2.devices.allow: c {major}:* rwm\n"
                                          for major in (195, 226, 234, 240, 508, 511)))
    assert [(rule["major"], rule["owners"]) for rule in found["allow"]] == [
        (195, ["nvidia"]), (226, ["drm"]), (234, []), (240, ["infiniband_verbs"]), (508, ["trace"]),
        (511, ["nvidia-uvm"])]


def test_settings_of_the_other_version_have_no_effect(tree, host):
    """A-69."""
    text = ("lxc.cgroup.devices.allow = c 195:0 rw\nlxc.cgroup.devices.allow: c 511:0 rw\n"
            "lxc.cgroup.cpuset.cpus: 0-7\n")
    found = container(tree, host, text)
    assert (found["allow"], found["pinned"], found["gpu_devices"]) == ([], False, [])
    assert found["ignored"] == ["lxc.cgroup.devices.allow: c 195:0 rw", "lxc.cgroup.devices.allow: c 511:0 rw",
                                "lxc.cgroup.cpuset.cpus: 0-7"]
    tree.remove("/sys/fs/cgroup/cgroup.controllers").folder("/sys/fs/cgroup/devices")
    [found] = read(host)["containers"].value
    assert (found["ignored"], found["cpus"], found["gpu_devices"]) == ([], "0-7", ["/dev/nvidia0"])


def test_description_hands_out_no_device(tree, host):
    """A-73."""
    found = container(tree, host, "#dev0%3A /dev/nvidia0,gid=44\nlxc.cgroup2.devices.allow: c 195:* rwm\n"
                                  "lxc.cgroup2.devices.allow: c 511:* rwm\nlxc.cgroup2.devices.allow: c 236:* rwm\n")
    assert found["devices"] == []
    assert [rule["major"] for rule in found["allow"]] == [195, 511, 236]


def test_snapshot_hands_out_no_device(tree, host):
    assert container(tree, host, "cores: 2\n[old]\ndev0: /dev/nvidia0\n")["gpu_devices"] == []


@pytest.mark.parametrize(("text", "devices"), [
    ("lxc.cgroup2.devices.allow: c 195:1 rwm\nlxc.cgroup2.devices.allow: c 195:255 rwm\n", ["/dev/nvidia1"]),
    ("lxc.cgroup2.devices.allow: c 195:* rwm\n", ["/dev/nvidia0", "/dev/nvidia1"]),
    ("lxc.cgroup2.devices.allow: c 195:* rwm\nlxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind\n", ["/dev/nvidia0"]),
    ("lxc.cgroup2.devices.allow: c 195:* rwm\nlxc.mount.entry: /dev/nvidiactl dev/x none bind\n",
     ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]),
    ("lxc.cgroup2.devices.allow: c 226:* rwm\nlxc.mount.entry: /dev/dri dev/dri none bind\n", ["/dev/dri"]),
    ("lxc.cgroup2.devices.allow: a\n", []),
    ("lxc.hook.mount: /usr/share/lxc/hooks/nvidia\nlxc.environment: NVIDIA_VISIBLE_DEVICES=all\n",
     ["/dev/nvidia0", "/dev/nvidia1"]),
    ("lxc.mount.entry: /dev dev none rbind\n", ["/dev"]),
    ("dev0: /dev/ttyUSB0\n", []),
])
def test_ways_to_hand_out_a_gpu(tree, host, text, devices):
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0), ("0000:41:00.0", 1)])
    assert container(tree, host, text)["gpu_devices"] == devices


def test_folder_hands_out_all_that_is_in_it(tree, host):
    plant_proxmox(tree, containers={"101": "lxc.mount.entry: /dev/dri dev/dri none bind,optional,create=dir\n",
                                    "102": "lxc.mount.entry: /dev dev none rbind\n", "103": "dev0: /dev/dri/card1\n"})
    facts = read(host)
    assert lxc.containers_given(facts, ["/dev/dri/renderD128", "/dev/dri/card0"]) == ["101", "102"]
    assert lxc.containers_given(facts, ["/dev/dri/card1"]) == ["101", "102", "103"]
    assert lxc.containers_given(facts, ["/dev/nvidia0"]) == ["102"]
    assert lxc.containers_given(facts, []) == []


# -- running and pinned -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "pinned"), [
    ("cores: 8\n", False), ("lxc.cgroup2.cpuset.cpus: 0-31\n", True), ("lxc.cgroup2.cpuset.cpus = 0-31\n", True),
    ("lxc.cgroup2.cpuset.cpus:\n", False), ("#lxc.cgroup2.cpuset.cpus: 0-31\n", False)])
def test_pinned_container(tree, host, text, pinned):
    assert container(tree, host, text)["pinned"] is pinned


@pytest.mark.parametrize(("text", "pinned"), [
    ("cores: 8\nnuma: 1\n", False), ("affinity: 0-31\n", True),
    ("numa: 1\nnuma0: cpus=0-7,hostnodes=0,memory=65536,policy=bind\n", True),
    ("numa0: cpus=0-7,hostnodes=0,memory=1024\nnuma1: cpus=8-15,memory=1024\n", False)])
def test_pinned_vm(tree, host, text, pinned):
    plant_proxmox(tree, vms={"200": text})
    assert read(host)["vms"].value[0]["pinned"] is pinned


def test_counts_of_what_runs(tree, host):
    plant_proxmox(tree, running=("101", "102", "200"), containers={
        "101": "cores: 8\n", "102": "lxc.cgroup2.cpuset.cpus: 0-31\n", "103": "cores: 2\n"},
        vms={"200": "affinity: 32-63\n", "201": "cores: 4\n"})
    facts = read(host)
    assert (facts["running"].value, facts["unpinned_running"].value) == (3, 1)


def test_what_runs_cannot_be_told(tree, host):
    plant_proxmox(tree, containers={"101": "cores: 8\n"})
    tree.remove("/proc/net/unix").remove("/sys/fs/cgroup/cgroup.controllers")
    tree.path("/sys/fs/cgroup").rmdir()
    facts = read(host)
    assert facts["containers"].value[0]["running"] is None
    assert facts["running"].status == "unparsable"
    assert pve_guests.claims(facts, GPU) == ok([])


def test_nonsense_does_not_raise(tree, host):
    plant_proxmox(tree, containers={"101": "\0\xff[["}, vms={"200": "\n:::\n[\nhostpci0:\n"})
    tree.file("/etc/pve/nodes/pve1/lxc/102.conf", b"\xff\xfe\0").file("/proc/net/unix", b"\xff\n\n")
    facts = read(host)
    assert [guest["id"] for guest in facts["containers"].value] == ["101", "102"]
    assert pve_guests.claims(facts, GPU) == ok([])


def test_this_machine_is_valid():
    assert read(Host())["status"].status in ("ok", "denied", "unparsable")
