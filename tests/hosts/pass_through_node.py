# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE 9 node that passes its GPUs to VMs: two sockets, four L40S, iommu=pt, ZFS and systemd-boot.

`node_of_vms` passes all four, `node_with_one_left` leaves one to the host, for its driver and container 101.
The two VMs with GPUs at node 0 and node 1 run, a third is stopped.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, processes, ras
from .config_space import ConfigSpace
from .nvidia import Gpu, plant_libraries, plant_nvidia
from .proxmox import plant_proxmox
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.14.11-2-pve"
CMDLINE = "root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt"
CARDS = ("0000:21:00.0", "0000:41:00.0", "0000:a1:00.0", "0000:c1:00.0")
NODE_CPUS = ("0-31,64-95", "32-63,96-127")
DRIVER = "570.148.08"
VM = """\
affinity: {cpus}
agent: 1
balloon: 0
cores: 32
cpu: host
{devices}machine: q35
memory: 131072
name: {name}
numa: 0
onboot: 1
ostype: l26
scsi0: local-zfs:vm-200-disk-0,size=200G
sockets: 1
"""
CONTAINER = """\
arch: amd64
cores: 16
dev0: /dev/nvidia0,gid=44
dev1: /dev/nvidiactl,gid=44
dev2: /dev/nvidia-uvm,gid=44
hostname: embed
memory: 65536
ostype: debian
rootfs: local-zfs:subvol-101-disk-0,size=64G
lxc.cgroup2.cpuset.cpus: 48-63
"""
UVM_RULE = 'KERNEL=="nvidia_uvm", RUN+="/usr/bin/nvidia-modprobe -c 0 -u"'


def node_of_vms(tree: Tree) -> Tree:
    """The host uses no GPU itself: it provides memory, clocks and isolation for its VMs."""
    plant_machine(tree)
    _plant_cards(tree, taken=CARDS)
    plant_proxmox(tree, version="9.0.11", vms={**_vms(), "202": vm("tests", "32-63", CARDS[3])},
                  running=("200", "201"))
    return tree


def node_with_one_left(tree: Tree) -> Tree:
    """The last GPU is used from the host, in a container."""
    plant_machine(tree)
    _plant_cards(tree, taken=CARDS[:3])
    plant_nvidia(tree, DRIVER, gpus=[
        Gpu(CARDS[3], 0, "NVIDIA L40S", 46068, 65536, smi={"power_limit": 350, "default_power_limit": 350})])
    plant_proxmox(tree, version="9.0.11", containers={"101": CONTAINER}, vms=_vms(), running=("101", "200", "201"))
    plant_libraries(tree, DRIVER, processes.plant_container_init(tree, 5101, "101"))
    processes.plant_container_nodes(tree, 5101, {
        "/dev/nvidia0": (195, 0), "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (511, 0)})
    return tree.file("/etc/udev/rules.d/70-nvidia.rules", UVM_RULE)


def vm(name: str, cpus: str, *cards: str) -> str:
    """The configuration of a VM with these cards."""
    devices = "".join(f"hostpci{number}: {card},pcie=1\n" for number, card in enumerate(cards))
    return VM.format(name=name, cpus=cpus, devices=devices)


def _vms() -> dict[str, str]:
    return {"200": vm("vllm-a", "0-31", *CARDS[:2]), "201": vm("vllm-b", "32-47", CARDS[2])}


def plant_machine(tree: Tree) -> None:
    kernel.plant_kernel(tree, release=RELEASE, build="#1 SMP PREEMPT_DYNAMIC PMX 6.14.11-2", cmdline=CMDLINE)
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_systemd_boot(tree, RELEASE, line=CMDLINE)
    kernel.plant_distribution(tree, version_id="13", name="Debian GNU/Linux 13 (trixie)")
    kernel.plant_firmware(tree, system_vendor="Dell Inc.", product_name="PowerEdge R7625", board_name="0C0PDF",
                          bios_vendor="Dell Inc.", bios_version="1.10.6", bios_date="12/06/2024")
    online = cpu.plant_cpus(tree, sockets=2, cores=32, family=25, model=17, microcode="0xa101148",
                            model_name="AMD EPYC 9354 32-Core Processor")
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        max_khz=3799072, hardware_max_khz=3799072, amd_pstate="active")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, NODE_CPUS, memory_kib=377 * numa.GIB)
    memory.plant_memory(tree, total_kib=755 * numa.GIB, available_kib=400 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    memory.plant_arc(tree, 16 << 30, configured=16 << 30)
    plant_sysctls(tree)
    managers.plant_debian_13(tree, "nvidia-persistenced")
    network.plant_card(tree, "eno1np0", "0000:c5:00.0")
    network.plant_softnet(tree, (81200, 0, 3), (90400, 0, 0))


def _plant_cards(tree: Tree, taken: tuple[str, ...]) -> None:
    for number, card in enumerate(CARDS):
        node = number // 2
        place = {"numa_node": node, "local_cpulist": NODE_CPUS[node]}
        given = card in taken
        port = pci.plant_root_port(tree, f"0000:{int(card[5:7], 16) - 1:02x}:01.1", device=0x14AB, acs=0x001D,
                                   iommu_group=10 + number, express={"max_speed": 16.0, "speed": 2.5}, **place)
        space = ConfigSpace(0x10DE, 0x26B9, 0x030200).power_management(0x60).msi(0x68)
        space.express(0x78, max_speed=16.0, speed=2.5).msix(0xC8).aer()
        space.resizable_bars((1, 65536, (65536,)))
        pci.plant_gpu(tree, card, parent=port, config=space, device=0x26B9, driver="vfio-pci" if given else "nvidia",
                      iommu_group=30 + number, iommu_type="DMA" if given else "identity",
                      interrupts={200 + number: NODE_CPUS[node]},
                      bars=[(0, 0xA000_0000, 16 << 20, 32, False),
                            (1, 0x380_0000_0000 + (number << 36), 64 << 30, 64, True)], **place)
