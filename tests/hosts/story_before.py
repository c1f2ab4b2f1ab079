# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of the story: a Proxmox VE 8 node as found by its operator, with eight GPUs and no tuning.

Two EPYC 9335 (128 threads), kernel 6.8.12-9-pve with acpi-cpufreq, 503 GiB and no swap, eight RTX PRO 6000 each
behind a root port of its own, MaxReadReq 512 and MaxPayload 256. The kernel translates DMA (its default) and has
enabled ACS redirection, as on every port while an IOMMU is active. Two containers run, pinned to CPUs: 102 gets its
nodes through devN, 101 in the old way, through mounts and hard-coded majors. A unit creates /dev/nvidia-uvm before
guests are started.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, processes, ras
from .config_space import all_ones, gpu_space, root_port_space
from .nvidia import MAJORS, Gpu, plant_initramfs, plant_libraries, plant_modprobe, plant_nvidia, smi_xml
from .placement import plant_group
from .proxmox import plant_proxmox
from .sysctl import plant_sysctls
from .tree import Tree

# Address, device minor: the driver numbers the GPUs in probe order, here that of the buses.
GPUS = {"0000:01:00.0": 0, "0000:11:00.0": 1, "0000:21:00.0": 2, "0000:31:00.0": 3,
        "0000:41:00.0": 4, "0000:61:00.0": 5, "0000:71:00.0": 6, "0000:81:00.0": 7}
NODE_CPUS = ("0-31,64-95", "32-63,96-127")
BOOT_ID = "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21"
ACS_REDIRECT = 0x001D       # SrcValid ReqRedir CmpltRedir UpstreamFwd: what pci_std_enable_acs() sets

DRIVER = "570.133.20"
SWAP = "/dev/dm-0                               partition\t8388604\t\t0\t\t-2"
UVM_MAJOR = 509             # of nvidia-uvm in this boot
NODES_UNIT = """\
[Unit]
Description=Device nodes of NVIDIA's driver
Before=pve-guests.service nvidia-persistenced.service
[Service]
Type=oneshot
ExecStart=/usr/bin/nvidia-modprobe -c 0 -u
[Install]
WantedBy=multi-user.target
"""

CONTAINERS = {
    "101": """\
arch: amd64
cores: 32
hostname: vllm-a
memory: 131072
ostype: debian
rootfs: local-zfs:subvol-101-disk-0,size=64G
lxc.cgroup2.cpuset.cpus: 0-31
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup2.devices.allow: c 509:* rwm
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file
lxc.mount.entry: /dev/nvidia1 dev/nvidia1 none bind,optional,create=file
lxc.mount.entry: /dev/nvidia2 dev/nvidia2 none bind,optional,create=file
lxc.mount.entry: /dev/nvidia3 dev/nvidia3 none bind,optional,create=file
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file
""",
    "102": """\
arch: amd64
cores: 32
dev0: /dev/nvidia4,gid=44
dev1: /dev/nvidia5,gid=44
dev2: /dev/nvidia6,gid=44
dev3: /dev/nvidia7,gid=44
dev4: /dev/nvidiactl,gid=44
dev5: /dev/nvidia-uvm,gid=44
hostname: vllm-b
memory: 131072
ostype: debian
rootfs: local-zfs:subvol-102-disk-0,size=64G
lxc.cgroup2.cpuset.cpus: 32-63
""",
}


def root_port(gpu: str) -> str:
    """The root port above a GPU: `0000:10:01.1` for `0000:11:00.0`."""
    domain, bus, _function = gpu.split(":")
    return f"{domain}:{int(bus, 16) - 1:02x}:01.1"


def story_before(tree: Tree, *, cores: int = 32, swap: bool = False, vms: dict[str, str] | None = None,
                 mapping: str | None = None) -> Tree:
    """The node before any tuning; `swap` adds a swap device, `vms` and `mapping` virtual machines.

    Fewer `cores` per socket make planting faster; nothing about its GPUs depends on them.
    """
    kernel.plant_kernel(tree, boot_id=BOOT_ID)
    kernel.plant_kernel_config(tree)
    boot.plant_grub(tree, kernel.RELEASE)
    cpu.plant_frequency(tree, plant_processors(tree, cores), governor="performance", max_khz=3000000,
                        hardware_max_khz=3000000)
    plant_node(tree, UVM_MAJOR, swap=swap, vms=vms, mapping=mapping)
    return tree


def plant_processors(tree: Tree, cores: int = 32) -> list[int]:
    """Two EPYC 9335 without a frequency driver; returns the online CPUs."""
    online = cpu.plant_cpus(tree, sockets=2, cores=cores, model_name="AMD EPYC 9335 32-Core Processor")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, NODE_CPUS)
    return online


def plant_node(tree: Tree, uvm_major: int, *, swap: bool = False, vms: dict[str, str] | None = None,
               mapping: str | None = None) -> None:
    """What is the same with any kernel: distribution, memory, GPUs, guests. Majors change with each boot."""
    kernel.plant_distribution(tree)
    kernel.plant_firmware(tree)
    memory.plant_memory(tree)
    memory.plant_thp(tree)
    memory.plant_swap(tree, *([SWAP] if swap else []))
    plant_sysctls(tree)
    managers.plant_debian_12(tree, "ksmtuned", "nvidia-persistenced")
    network.plant_card(tree, "enp225s0f0np0", "0000:e1:00.0")
    network.plant_software(tree, "lo", "vmbr0", "veth101i0", "veth102i0")
    network.plant_softnet(tree, (81200, 0, 3), (90400, 2, 0))
    plant_gpus(tree)
    plant_nvidia(tree, DRIVER, gpus=[Gpu(address, minor) for address, minor in GPUS.items()],
                 majors=[(name, uvm_major if name == "nvidia-uvm" else major) for name, major in MAJORS])
    plant_modprobe(tree, "blacklist nouveau\noptions nvidia NVreg_DynamicPowerManagement=0x03\n"
                         "options nvidia-drm modeset=1\n")
    tree.file("/sys/module/nvidia_drm/parameters/modeset", "Y")
    tree.file("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N")
    plant_initramfs(tree, tree.path("/proc/sys/kernel/osrelease").read_text().strip())
    plant_proxmox(tree, version="8.4.1", containers=CONTAINERS, vms=vms, running=("101", "102"), mapping=mapping)
    for node, (number, cpus) in enumerate((("101", "0-31"), ("102", "32-63"))):
        plant_group(tree, f"/lxc/{number}", (*(0, 0)[:node], 96), file=(20, 20), cpuset=cpus, nodes="0-1")
        tree.file(f"/sys/fs/cgroup/lxc/{number}/ns/cpuset.cpus.effective", cpus)
    for number in CONTAINERS:
        plant_libraries(tree, DRIVER, processes.plant_container_init(tree, 5000 + int(number), number))
        first = 0 if number == "101" else 4
        processes.plant_container_nodes(tree, 5000 + int(number), {
            **{f"/dev/nvidia{minor}": (195, minor) for minor in range(first, first + 4)},
            "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (uvm_major, 0)})
    tree.file("/etc/systemd/system/nvidia-nodes.service", NODES_UNIT)
    processes.plant_persistenced(tree, 1201,
                                 ("/dev/nvidiactl", *map("/dev/nvidia{}".format, range(8))))


def plant_gpus(tree: Tree) -> None:
    for number, address in enumerate(GPUS):
        node = number // 4
        place = {"numa_node": node, "local_cpulist": NODE_CPUS[node], "iommu_type": "DMA-FQ"}
        port = pci.plant_root_port(tree, root_port(address), acs=ACS_REDIRECT, iommu_group=40 + number, **place)
        pci.plant_gpu(tree, address, parent=port, iommu_group=60 + number,
                      interrupts={200 + number: NODE_CPUS[node]}, **place)


# -- problems of single GPUs -------------------------------------------------------------------------------------------


def narrow(tree: Tree, address: str) -> None:
    """The link of one GPU trained with eight lanes; both ends report it."""
    pci.write_config(tree, address, gpu_space(width=8))
    pci.write_config(tree, root_port(address), root_port_space(acs=ACS_REDIRECT, width=8))


def all_ones_on(tree: Tree, address: str) -> None:
    """One GPU fell off the bus."""
    pci.write_config(tree, address, all_ones())


def other_read_request(tree: Tree, address: str, size: int = 256) -> None:
    pci.write_config(tree, address, gpu_space(max_read_request=size))


def given_to_vfio(tree: Tree, address: str) -> None:
    """One GPU was unbound from the NVIDIA driver, which no longer lists it; its device node stays until a reboot."""
    pci.bind(tree, address, "vfio-pci")
    tree.remove(f"/proc/driver/nvidia/gpus/{address}/information").path(f"/proc/driver/nvidia/gpus/{address}").rmdir()
    tree.program("nvidia-smi.xml", smi_xml([Gpu(*gpu) for gpu in GPUS.items() if gpu[0] != address], DRIVER))


def asleep(tree: Tree, address: str) -> None:
    pci.suspend(tree, address)


def in_use(tree: Tree, address: str) -> None:
    """A process in container 102 has the GPU's node open."""
    processes.plant_container_process(tree, 4711, "vllm", "102", (f"/dev/nvidia{GPUS[address]}",))


def with_virtual_function(tree: Tree, address: str) -> str:
    """One GPU has a virtual function enabled, not assigned to any guest; returns its address.

    The ids in the function's registers are all ones (SR-IOV specification, 3.4.1.1), those in sysfs the GPU's.
    """
    tree.files(pci.device_path(tree, address), {"sriov_totalvfs": 16, "sriov_numvfs": 1})
    return pci.plant_gpu(tree, address[:-1] + "4", parent=root_port(address), physical_function=address, aer=None,
                         config=gpu_space().put(0x00, 0xFFFFFFFF, 4),
                         driver=None, iommu_group=90, iommu_type="DMA-FQ", numa_node=1, local_cpulist=NODE_CPUS[1])
