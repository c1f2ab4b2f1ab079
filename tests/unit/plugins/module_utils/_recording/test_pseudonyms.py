# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.pseudonyms import Pseudonyms

CONFIG = "/etc/pve/nodes/bigiron/qemu-server/200.conf"
FILES = {
    "/proc/sys/kernel/hostname": b"bigiron.example.com\n",
    "/etc/os-release": b"ID=debian\nVERSION_ID=12\n",
    CONFIG: b"name: render-farm\nnet0: virtio=BC:24:11:AA:BB:CC,bridge=vmbr0,tag=7\n"
            b"smbios1: uuid=4C4C4544-0051-3610-8052-b4c04f4d4d32\nscsi1: /dev/disk/by-id/ata-SSD_S5XX,size=1G\n",
}


def pseudonyms(**more):
    files = {**FILES, **more}
    return Pseudonyms(files, files)


def anonymised(text, path="/proc/x", **more):
    return pseudonyms(**more).data(path, text.encode()).decode()


@pytest.mark.parametrize("text, wanted", [
    ("Hostname set to <bigiron>.", "Hostname set to <anonymous-host1>."),
    ("bigiron.example.com: up", "anonymous-host1.anonymous.domain1: up"),
    ("bigiron2 bigiron-x", "bigiron2 bigiron-x"),
    ("-name render-farm,debug", "-name anonymous-guest1,debug"),
    ("root=UUID=0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21 ro", "root=UUID=00000000-0000-4000-8000-000000000001 ro"),
    ("eth0: bc:24:11:aa:bb:cc", "eth0: 02:00:00:00:00:01"),
    ("eth0: BC:24:11:AA:BB:CC", "eth0: 02:00:00:00:00:01"),
    ("node_guid 0c42:a103:00b3:2d4c", "node_guid 0000:0000:0000:0001"),
    ("ip=10.1.2.3::10.1.2.1:255.255.255.0", "ip=198.18.0.1::198.18.0.2:255.255.255.0"),
    ("listen 127.0.0.1 and 0.0.0.0", "listen 127.0.0.1 and 0.0.0.0"),
    ("fe80::be24:11ff:feaa:bbcc/64", "2001:db8::1/64"),
    ("<serial>1650522003820</serial>", "<serial>anonymous-serial1</serial>"),
    ("usb 1-1: SerialNumber: 0123AB", "usb 1-1: SerialNumber: anonymous-serial1"),
    ("GPU 0000:41:00.0 and 0000:c1:00.0", "GPU 0000:41:00.0 and 0000:c1:00.0"),
    ("570.133.20 98.02.67.00.0a 6.8.12-9-pve", "570.133.20 98.02.67.00.0a 6.8.12-9-pve"),
    ("Xid (PCI:0000:41:00): 79, pid=12", "Xid (PCI:0000:41:00): 79, pid=12"),
    ("12:34:56 up 3 days", "12:34:56 up 3 days"),
])
def test_stand_ins(text, wanted):
    assert anonymised(text) == wanted


def test_the_same_has_the_same_and_another_has_another():
    names = pseudonyms()
    one, two = "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21", "1b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21"
    first = names.text(f"{one} {two} {one.upper()}").split()
    assert first[0] == first[2].lower() != first[1]
    assert names.data("/proc/other", one.encode()) == first[0].encode()
    assert names.path(f"/dev/disk/by-uuid/{one}") == f"/dev/disk/by-uuid/{first[0]}"


def test_a_configuration_of_a_guest():
    assert pseudonyms().data(CONFIG, FILES[CONFIG]).decode() == (
        "name: anonymous-guest1\nnet0: virtio=02:00:00:00:00:01,bridge=vmbr0,tag=7\n"
        "smbios1: uuid=00000000-0000-4000-8000-000000000001\nscsi1: /dev/disk/by-id/anonymous-disk1,size=1G\n")


def test_paths_of_nodes_and_of_interfaces():
    names = pseudonyms()
    assert names.path(CONFIG) == "/etc/pve/nodes/anonymous-host1/qemu-server/200.conf"
    assert names.path("/sys/class/net/enxbc2411aabbcc/mtu") == "/sys/class/net/enx020000000001/mtu"
    assert names.text("nodes/bigiron") == "nodes/anonymous-host1"


def test_a_host_called_by_a_common_word_keeps_it_where_it_is_not_its_name():
    files = {"/proc/sys/kernel/hostname": b"debian\n", "/etc/os-release": b"ID=debian\n",
             "/etc/pve/nodes/debian/lxc/101.conf": b"hostname: node0\n",
             "/sys/devices/system/node/node0/cpulist": b"0\n"}
    names = Pseudonyms(files, files)
    assert names.data("/etc/os-release", files["/etc/os-release"]) == b"ID=debian\n"
    assert names.data("/proc/sys/kernel/hostname", b"debian\n") == b"anonymous-host1\n"
    assert names.path("/etc/pve/nodes/debian/lxc") == "/etc/pve/nodes/anonymous-host1/lxc"
    # Nor does a guest called node0 rename a NUMA node.
    assert names.path("/sys/devices/system/node/node0/cpulist") == "/sys/devices/system/node/node0/cpulist"


@pytest.mark.parametrize("path", ["/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/chassis_asset_tag",
                                  "/sys/devices/x/serial"])
def test_files_that_hold_a_serial_number(path):
    names = pseudonyms()
    assert names.data(path, b"J2XK4Z3\n") == b"anonymous-serial1\n"
    assert names.data(path, b"\n") == b"\n"


def test_registers_and_versions_are_left_alone():
    registers = bytes(range(256)) * 16
    names = pseudonyms()
    assert names.data("/sys/devices/pci0000:00/0000:00:01.0/config", registers) == registers
    assert names.data("/sys/class/dmi/id/bios_version", b"2.10.0.5\n") == b"2.10.0.5\n"
    assert names.data("/proc/x", b"10.0.0.5\xff\n") == b"198.18.0.1\xff\n"


def test_variables_of_the_firmware_keep_their_names():
    path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    names = Pseudonyms({**FILES, path: b"\x06\0\0\0\x01"}, [*FILES, path])
    assert names.path(path) == path
    assert names.text("8be4df61-93ca-11d2-aa0d-00e098032b8c") == "8be4df61-93ca-11d2-aa0d-00e098032b8c"
