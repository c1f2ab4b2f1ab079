# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import config as pve
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import device_rules

CONTAINER = """\
# GPUs:
#dev0%3A /dev/nvidia0,gid=44
#hostpci0: 41:00
arch: amd64
hostname: ct101

dev0: /dev/nvidia0,gid=44,mode=0666
dev1: path=/dev/nvidia-uvm
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup.devices.allow = c 511:0 rw
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
mp0: /dev/dri,mp=/dev/dri
mp1: local:vm-101-disk-1,mp=/models,size=100G
lxc.mount.entry: /srv/models srv/models none bind 0 0

[before]
#dev2%3A ignored
dev2: /dev/nvidia7
[pve:pending]
dev3: /dev/nvidia6
"""


def test_only_the_top_section_holds():
    top = pve.parse_sections(CONTAINER)[""]
    assert [key for key, _value in top] == [
        "arch", "hostname", "dev0", "dev1", "lxc.cgroup2.devices.allow", "lxc.cgroup.devices.allow", "lxc.mount.entry",
        "mp0", "mp1", "lxc.mount.entry"]


def test_description_lines_are_no_settings():
    """A-73: `#dev0%3A /dev/nvidia0`, also where it is not encoded."""
    assert not any("41:00" in value for _key, value in pve.parse_sections(CONTAINER)[""])
    assert pve.parse_sections("#dev0%3A /dev/nvidia0,gid=44\n  #dev1: /dev/nvidia1\n") == {"": []}


def test_sections_by_name():
    sections = pve.parse_sections("a: 1\n[snap-1]\nb: 2\n[pending]\nhostpci0: 41:00\n[special:cloudinit]\nc: 3\n")
    assert sections == {"": [("a", "1")], "snap-1": [("b", "2")], "PENDING": [("hostpci0", "41:00")],
                        "special:cloudinit": [("c", "3")]}


@pytest.mark.parametrize("line", [
    "lxc.cgroup2.cpuset.cpus: 0-7", "lxc.cgroup2.cpuset.cpus = 0-7", "lxc.cgroup2.cpuset.cpus=0-7  ",
    "  lxc.cgroup2.cpuset.cpus:0-7\r"])
def test_both_forms_of_a_setting(line):
    """A-69."""
    assert pve.parse_sections(line)[""] == [("lxc.cgroup2.cpuset.cpus", "0-7")]


def test_value_keeps_its_own_signs():
    assert pve.parse_sections("hostpci0: host=0000:41:00.0,pcie=1")[""] == [("hostpci0", "host=0000:41:00.0,pcie=1")]
    assert pve.parse_sections("lxc.apparmor.profile = x = y")[""] == [("lxc.apparmor.profile", "x = y")]
    assert pve.parse_sections("lxc.cap.drop:\n")[""] == [("lxc.cap.drop", "")]


@pytest.mark.parametrize("text", ["", "\n\n", "no setting\n", "[", "[]\nx: 1\n", ": value\n", "\0\xff"])
def test_odd_text(text):
    assert pve.parse_sections(text)[""] == []


def test_properties():
    assert pve.parse_properties("0000:41:00,pcie=1, x-vga=1", "host") == {
        "host": "0000:41:00", "pcie": "1", "x-vga": "1"}
    assert pve.parse_properties("mapping=gpu,mdev=nvidia-63", "host") == {"mapping": "gpu", "mdev": "nvidia-63"}


@pytest.mark.parametrize(("value", "addresses"), [
    ("0000:41:00", ["0000:41:00"]),
    ("41:00.0", ["0000:41:00.0"]),
    ("41:00", ["0000:41:00"]),
    ("01:00;02:00", ["0000:01:00", "0000:02:00"]),
    ("0000:41:00.0;0000:41:00.1,pcie=1,x-vga=1", ["0000:41:00.0", "0000:41:00.1"]),
    ("host=0000:C1:00.0,rombar=0", ["0000:c1:00.0"]),
    ("pcie=1,host=c1:00", ["0000:c1:00"]),
    ("10000:e1:00.0", ["10000:e1:00.0"]),
    ("00:02.0,legacy-igd=1", ["0000:00:02.0"]),
    ("41:00.4,mdev=nvidia-1105", ["0000:41:00.4"]),
    ("mapping=rtx,pcie=1", ["0000:41:00.0", "0000:81:00"]),
    ("mapping=unknown", []),
])
def test_forms_of_hostpci(value, addresses):
    assert pve.claimed_addresses("hostpci0", value, {"rtx": ["0000:41:00.0", "0000:81:00"]}) == addresses


@pytest.mark.parametrize("value", ["gpu1", "41", "pcie=1", "41:00;next", "0000:41:00.0.0", "zz:00.0"])
def test_form_that_is_not_understood_is_unknown(value):
    assert pve.claimed_addresses("hostpci0", value, {}) is None


def test_mapping_that_cannot_be_read_is_unknown():
    assert pve.claimed_addresses("hostpci0", "mapping=rtx", None) is None


@pytest.mark.parametrize(("value", "addresses"), [
    ("-device vfio-pci,host=0000:41:00.0,id=x -cpu host,kvm=off", ["0000:41:00.0"]),
    ("-device vfio-pci,host=41:00.0 -device vfio-pci,host=81:00.0", ["0000:41:00.0", "0000:81:00.0"]),
    ("-device vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:C1:00.0", ["0000:c1:00.0"]),
    ("-device vfio-pci,id=x,sysfsdev=/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/", ["0000:41:00.0"]),
    ("""-device '{"driver": "vfio-pci", "host": "0000:41:00.0", "id": "x"}' -cpu host""", ["0000:41:00.0"]),
    ("--device=vfio-pci-nohotplug,host=81:00.0,bus=ich9-pcie-port-1", ["0000:81:00.0"]),
    ("-device virtio-net,mac=52:54:00:41:00.0 -device vfio-pci,host=0000:41:00.1", ["0000:41:00.1"]),
    ("-cpu host -smbios type=0", []),
    ("-device vfio-pci,id=x", None),
])
def test_device_among_the_arguments(value, addresses):
    assert pve.claimed_addresses("args", value, {}) == addresses


@pytest.mark.parametrize("parent", ["0000:75:00.0", None])
def test_b13_a_mediated_device_is_asked_for_by_its_path(parent):
    """B-13: no address is in the arguments, and that of the port before the GPU in the path is not the GPU's."""
    folder = "/sys/devices/pci0000:70/0000:70:01.1/0000:75:00.0/00000000-aaaa-4bbb-8ccc-000000000205"
    asked = []
    found = pve.claimed_addresses("args", f"-device 'vfio-pci,sysfsdev={folder}' -cpu host", {},
                                  lambda path: asked.append(path) or parent)
    assert (found, asked) == (parent and [parent], [folder])


MAPPING = """\
# of the cluster
rtx
\tdescription two cards
\tmap id=10de:2bb5,iommugroup=31,node=pve1,path=0000:41:00.0,subsystem-id=10de:204e
\tmap id=10de:2bb5,iommugroup=32,node=pve1,path=0000:81:00
\tmap id=10de:2bb5,iommugroup=11,node=pve2,path=0000:01:00.0
\tmdev 1

nic
\tmap id=15b3:1021,node=pve2,path=0000:21:00.0;0000:21:00.1
"""


def test_mapping_of_each_node():
    assert pve.parse_mapping(MAPPING, "pve1") == {"rtx": ["0000:41:00.0", "0000:81:00"], "nic": []}
    assert pve.parse_mapping(MAPPING, "pve2") == {"rtx": ["0000:01:00.0"], "nic": ["0000:21:00.0", "0000:21:00.1"]}
    assert pve.parse_mapping("", "pve1") == {}


def test_nodes_of_each_mapping():
    assert pve.parse_mapping_nodes(MAPPING) == {"rtx": ["pve1", "pve2"], "nic": ["pve2"]}
    assert pve.parse_mapping_nodes("\tmap node=pve1,path=41:00\n") == pve.parse_mapping_nodes("") == {}


def test_mapping_with_a_path_that_is_no_address():
    with pytest.raises(ValueError, match="not a list of PCI addresses"):
        pve.parse_mapping("rtx\n\tmap node=pve1,path=somewhere\n", "pve1")


def test_paths_a_container_is_given():
    assert pve.container_devices(pve.parse_sections(CONTAINER)[""]) == [
        ("dev0", "/dev/nvidia0", False, True, "/dev/nvidia0"),
        ("dev1", "/dev/nvidia-uvm", False, True, "/dev/nvidia-uvm"),
        ("lxc.mount.entry", "/dev/nvidiactl", True, True, "/dev/nvidiactl"),
        ("mp0", "/dev/dri", False, True, "/dev/dri")]


def test_odd_paths_a_container_is_given():
    text = "dev0: mode=0666\nlxc.mount.entry:\nlxc.mount.entry: /dev/my\\040gpu x none bind\ndev1: /device/x\nmp0:\n"
    assert pve.container_devices(pve.parse_sections(text)[""]) == [
        ("lxc.mount.entry", "/dev/my gpu", False, True, "/x")]


@pytest.mark.parametrize(("options", "writable"), [
    ("", True), (",deny-write=1", False), (",deny-write=0", True), (",gid=44,deny-write=yes", False)])
def test_device_that_may_not_be_written(options, writable):
    [device] = pve.container_devices([("dev3", f"/dev/nvidia0{options}")])
    assert device.writable is writable


def test_libraries_under_their_full_names():
    entries = ("/usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01 usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01 none "
               "bind,optional,create=file", "/opt/nv/libnvidia-ml.so.550.90 usr/lib/x none bind,create=file",
               "/usr/lib/x86_64-linux-gnu/libcuda.so.1 usr/lib/x none bind", "/usr/lib/libssl.so.3.0.11 x none bind")
    found = pve.container_libraries([*(("lxc.mount.entry", entry) for entry in entries),
                                     ("mp0", "/opt/libnvcuvid.so.570.133.20,mp=/usr/lib/libnvcuvid.so.1")])
    assert found == [("/usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01", "590.48.01", True),
                     ("/opt/nv/libnvidia-ml.so.550.90", "550.90", False),
                     ("/opt/libnvcuvid.so.570.133.20", "570.133.20", False)]


@pytest.mark.parametrize(("entry", "size"), [
    ("tmpfs dev/shm tmpfs rw,nosuid,size=64m,create=dir 0 0", "64m"), ("tmpfs /dev/shm tmpfs size=50% 0 0", "50%"),
    ("none dev/shm tmpfs rw 0 0", None), ("/dev/shm dev/shm none bind 0 0", None), ("tmpfs run tmpfs size=1g", None)])
def test_size_of_a_tmpfs(entry, size):
    assert pve.mount_option([("lxc.mount.entry", entry)], "dev/shm", "size") == size


def test_containers_from_the_field(field_files):
    def rules_and_devices(name):
        settings = pve.parse_sections((field_files / "lxc" / name).read_text())[""]
        return ([(rule.major, rule.minor) for rule in device_rules.parse_rules(settings)],
                [device.path for device in pve.container_devices(settings)])

    assert rules_and_devices("ollama106_desc-urlencoded_gh-repo.conf") == (
        [(195, None), (511, None), (236, None)],
        ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-modeset"])
    assert rules_and_devices("lxc_cgroup1_equals-style_lxc2991.conf") == ([(1, 3), (1, 5), (5, 0)], [])
    assert rules_and_devices("jammsen_100.conf") == ([(226, 1), (226, 128), (235, None)], ["/dev/dri", "/dev/kfd"])


@pytest.mark.parametrize("name", ["pve-test__commit_lxc_203.conf", "pve-test__create_lxc_103.conf",
                                  "pve-test__rollback_lxc_205.conf"])
def test_snapshots_from_the_field(field_files, name):
    sections = pve.parse_sections((field_files / "lxc" / name).read_text())
    assert list(sections) == ["", "test"]
    assert not any(key == "snaptime" for key, _value in sections[""])
