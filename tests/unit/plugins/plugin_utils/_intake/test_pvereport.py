# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pvereport prints, written after PVE/Report.pm for a node that does not exist."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.pvereport import read_pvereport

REPORT = """
==== general system info ====

# hostname
pve9

# pveversion --verbose
proxmox-ve: 8.4.0 (running kernel: 6.8.12-13-pve)
pve-manager: 8.4.11 (running version: 8.4.11/14a32011146091ed)
corosync: 3.1.9-pve1

# cat /etc/hosts
127.0.0.1 localhost

# lscpu
Architecture:                         x86_64
CPU(s):                               8
On-line CPU(s) list:                  0-7
Thread(s) per core:                   2
NUMA node0 CPU(s):                    0-3
NUMA node1 CPU(s):                    4-7
Vulnerability Spec store bypass:      Mitigation; Speculative Store Bypass disabled via prctl

==== info about virtual guests ====

# qm list
      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID
       200 llm one              running    65536             64.00 4242
       201 spare                stopped    65536             64.00 0

# cat /etc/pve/qemu-server/200.conf
affinity: 0-3
hostpci0: 0000:41:00.0,pcie=1
# a comment of the guest's owner
name: llm
numa: 1


# cat /etc/pve/qemu-server/201.conf
hostpci0: 0000:42:00.0
name: spare


# pct list
VMID       Status     Lock         Name
101        running                 ct1
102        stopped                 ct2

# cat /etc/pve/lxc/101.conf
arch: amd64
hostname: ct1
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file


# cat /etc/pve/lxc/102.conf
hostname: ct2

==== info about bios ====

# dmidecode -t bios
# dmidecode 3.4
Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: Firmware Makers
\tVersion: 9.9
\tRelease Date: 03/04/2025

==== info about pci ====

# lspci -nnk
00:01.0 PCI bridge [0604]: Maker Port [1022:1234]
\tKernel driver in use: pcieport
41:00.0 3D controller [0302]: NVIDIA Corporation Test GPU [10de:2bb5] (rev a1)
\tSubsystem: NVIDIA Corporation Test GPU [10de:204e]
\tKernel driver in use: vfio-pci
42:00.0 3D controller [0302]: NVIDIA Corporation Test GPU [10de:2bb5] (rev a1)
\tSubsystem: NVIDIA Corporation Test GPU [10de:204e]
"""


@pytest.fixture
def node(tmp_path):
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.writer import write_host

    return Host(str(write_host(read_pvereport(REPORT.splitlines(), "pve9.txt"), tmp_path / "node")))


def test_guests_and_which_of_them_run(node):
    from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guest_state import read_vm_running
    from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guests import read_all_configs
    from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.lxc import read_running_containers

    configs = read_all_configs(node)
    assert (configs.status.value, configs.node) == ("proxmox", "pve9")
    vms = {number: dict(sections[""]) for number, sections in configs.vms.value}
    assert (vms["200"]["name"], vms["200"]["hostpci0"]) == ("llm", "0000:41:00.0,pcie=1")
    assert [(number, read_vm_running(node, number)) for number in vms] == [("200", True), ("201", False)]
    assert [number for number, _sections in configs.containers.value] == ["101", "102"]
    assert read_running_containers(node).value == {"101"}


def test_the_node(node):
    assert node.read("/proc/sys/kernel/hostname").value == "pve9"
    assert node.read("/proc/sys/kernel/osrelease").value == "6.8.12-13-pve"
    assert "Package: pve-manager\nStatus: install ok installed\nVersion: 8.4.11\n" in node.read(
        "/var/lib/dpkg/status").value
    assert node.read("/sys/class/dmi/id/bios_version").value == "9.9"
    assert node.read("/sys/devices/system/node/node1/cpulist").value == "4-7"
    assert node.read("/sys/devices/system/cpu/vulnerabilities/spec_store_bypass").value.startswith("Mitigation")


def test_devices_have_a_driver_but_no_place(node):
    folder = "/sys/bus/pci/devices/0000:41:00.0"
    assert node.link_name(f"{folder}/driver") == "vfio-pci"
    assert node.read(f"{folder}/class").value == "0x030200"
    assert not node.read_link(folder).ok
    assert node.read(f"{folder}/numa_node").status == "not_recorded"
    assert node.read_link("/sys/bus/pci/devices/0000:42:00.0/driver").status == "absent"


def test_what_it_does_not_print_is_not_recorded(node):
    for path in ("/etc/pve/mapping/pci.cfg", "/proc/sys/vm/swappiness", "/etc/default/grub"):
        assert node.read(path).status == "not_recorded", path
