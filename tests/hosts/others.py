# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts to which most of the catalogue does not apply: a workstation, an Intel server, a guest, containers."""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .config_space import ConfigSpace
from .nvidia import GEFORCE, Gpu, plant_nvidia
from .story_before import GPUS, plant_gpus, root_port
from .sysctl import plant_sysctls
from .tree import Tree

RTX_4090 = "0000:01:00.0"


def workstation(tree: Tree) -> Tree:
    """A Ryzen desktop with Debian 13, one RTX 4090 at full link speed, active amd-pstate, a swap partition."""
    release = "6.12.57+deb13-amd64"
    kernel.plant_kernel(tree, release=release, build="#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1", hostname="desk",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{release} root=/dev/nvme0n1p2 ro quiet")
    kernel.plant_kernel_config(tree, release)
    boot.plant_grub(tree, "6.12.48+deb13-amd64", release)
    kernel.plant_distribution(tree, version_id="13", name="Debian GNU/Linux 13 (trixie)")
    kernel.plant_firmware(tree, system_vendor="Micro-Star International Co., Ltd.", product_name="MS-7E12",
                          board_name="MAG X670E TOMAHAWK WIFI (MS-7E12)", bios_version="1.G0", bios_date="08/20/2025")
    online = cpu.plant_cpus(tree, sockets=1, cores=16, family=25, model=97, stepping=2,
                            model_name="AMD Ryzen 9 7950X 16-Core Processor", microcode="0xa60120c")
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        max_khz=5881000, hardware_max_khz=5881000, policy_boost=1, amd_pstate="active")
    cpu.plant_idle(tree, online, states=(cpu.EPYC_STATES[0], cpu.EPYC_STATES[1],
                                         cpu.IdleState("C2", "ACPI IOPORT 0x414", 18, 36)))
    cpu.plant_clocksource(tree)
    numa.plant_nodes(tree, ["0-31"], memory_kib=63 * numa.GIB)
    memory.plant_memory(tree, total_kib=63 * numa.GIB, available_kib=50 * numa.GIB)
    memory.plant_thp(tree, enabled="always")
    memory.plant_swap(tree, "/dev/nvme0n1p3                          partition\t16777212\t\t0\t\t-2")
    plant_sysctls(tree, {"kernel.numa_balancing": "0", "vm.swappiness": "10", "kernel.perf_event_paranoid": "3"})
    managers.plant_debian_13(tree, "irqbalance")
    tree.file("/etc/sysctl.d/local.conf", "vm.swappiness = 10\n")
    network.plant_card(tree, "enp10s0", "0000:0a:00.0", driver="r8169", speed=2500, numa_node=-1)
    port = pci.plant_root_port(tree, "0000:00:01.1", device=0x14DB, local_cpulist="0-31", iommu_group=12,
                               express={"max_speed": 16.0, "speed": 2.5})
    space = ConfigSpace(0x10DE, 0x2684, 0x030000).power_management(0x60).msi(0x68)
    space.express(0x78, port_type=1, max_speed=16.0, speed=2.5, max_payload=256).aer()
    space.resizable_bars((1, 32768, (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)))
    pci.plant_gpu(tree, RTX_4090, parent=port, config=space, device=0x2684, class_=0x030000, local_cpulist="0-31",
                  iommu_group=13, interrupts={90: "0-31"},
                  bars=[(0, 0xF600_0000, 16 << 20, 32, False), (1, 0xF8_0000_0000, 32 << 30, 64, True)])
    plant_nvidia(tree, version="570.153.02",
                 gpus=[Gpu(RTX_4090, 0, "NVIDIA GeForce RTX 4090", 24564, 32768, smi=GEFORCE)])
    return tree


def intel_server(tree: Tree) -> Tree:
    """A two-socket Xeon server without a GPU: active intel_pstate with governor powersave, Ubuntu 24.04."""
    release = "6.8.0-60-generic"
    kernel.plant_kernel(tree, release=release, build="#63-Ubuntu SMP PREEMPT_DYNAMIC", hostname="xeon",
                        cmdline=f"BOOT_IMAGE=/vmlinuz-{release} root=/dev/sda2 ro")
    kernel.plant_kernel_config(tree, release)
    boot.plant_grub(tree, release, modules=(), normally="")
    kernel.plant_distribution(tree, id="ubuntu", version_id="24.04", name="Ubuntu 24.04.2 LTS")
    kernel.plant_firmware(tree, system_vendor="Dell Inc.", product_name="PowerEdge R760", board_name="0VVT0J",
                          bios_vendor="Dell Inc.", bios_version="2.5.4", bios_date="01/16/2025")
    online = cpu.plant_cpus(tree, sockets=2, cores=16, vendor="GenuineIntel", family=6, model=143, stepping=8,
                            model_name="Intel(R) Xeon(R) Gold 6426Y", microcode="0x2b000603", flags=cpu.XEON_FLAGS)
    cpu.plant_frequency(tree, online, driver="intel_pstate", governor="powersave", epp="performance", boost=None,
                        intel_pstate="active", no_turbo=0, max_perf_pct=100, acpi_cppc=True, max_khz=4100000,
                        hardware_max_khz=4100000)
    cpu.plant_idle(tree, online, states=cpu.XEON_STATES, driver="intel_idle")
    cpu.plant_uncore(tree, "package_00_die_00")
    cpu.plant_uncore(tree, "package_01_die_00")
    ras.plant_controllers(tree, 8, name="Intel_i10nm EDAC")
    cpu.plant_clocksource(tree)
    numa.plant_nodes(tree, ["0-15,32-47", "16-31,48-63"], far=21)
    memory.plant_memory(tree)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree)
    managers.plant_ubuntu_24_04(tree, "irqbalance")
    network.plant_card(tree, "eno8303", "0000:04:00.0", driver="tg3", speed=1000)
    return tree


def virtual_machine(tree: Tree, *, swap: bool = False, counters: bool = False) -> Tree:
    """A stock Debian 12 guest of KVM: no cpufreq, no idle states, no IOMMU, an emulated display, no GPU.

    `swap` adds the partition that the installer creates, `counters` the performance counters of the host's CPU.
    """
    release = "6.1.0-37-amd64"
    kernel.plant_kernel(tree, release=release, build="#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1", hostname="guest",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{release} root=/dev/vda1 ro quiet")
    kernel.plant_kernel_config(tree, release)
    boot.plant_grub(tree, release, modules=())
    kernel.plant_distribution(tree)
    kernel.plant_firmware(tree, system_vendor="QEMU", product_name="Standard PC (Q35 + ICH9, 2009)", board_name="",
                          bios_vendor="SeaBIOS", bios_version="1.16.2", bios_date="04/01/2014")
    cpu.plant_cpus(tree, sockets=1, cores=4, threads=1, flags=cpu.VM_FLAGS, model_name="QEMU Virtual CPU version 2.5+",
                   family=15, model=107)
    cpu.plant_no_frequency(tree)
    cpu.plant_clocksource(tree, current="kvm-clock", available="kvm-clock tsc hpet acpi_pm ")
    numa.plant_nodes(tree, ["0-3"], memory_kib=8 * numa.GIB)
    memory.plant_memory(tree, total_kib=8 * numa.GIB, available_kib=7 * numa.GIB)
    memory.plant_thp(tree, enabled="always", sizes={})
    memory.plant_swap(tree, *(["/dev/vda5                               partition\t999420\t\t0\t\t-2"] if swap else []))
    plant_sysctls(tree, {"kernel.numa_balancing": "0", "kernel.perf_event_paranoid": "3"})
    managers.plant_debian_12(tree)
    if not counters:
        # Without a performance monitoring unit the kernel makes the file read-only with value 0.
        tree.file("/proc/sys/kernel/nmi_watchdog", "0", mode=0o444)
    pci.plant_device(tree, "0000:00:01.0", vendor=0x1234, device=0x1111, class_=0x030000, driver="bochs-drm",
                     subsystem=(0x1AF4, 0x1100), config=ConfigSpace(0x1234, 0x1111, 0x030000, size=256),
                     local_cpulist="0-3", numa_node=-1)
    return tree


def container_with_gpus(tree: Tree) -> Tree:
    """A container that sees all GPUs of its host in /sys and /proc, the first 64 bytes of their configuration spaces,
    and an error counted by one of their ports."""
    container(tree)
    plant_gpus(tree)
    plant_nvidia(tree, gpus=[Gpu(address, minor) for address, minor in GPUS.items()])
    for address in GPUS:
        for device in (address, root_port(address)):
            path = f"{pci.DEVICES}/{device}/config"
            tree.file(path, tree.path(path).read_bytes()[:64])
    pci.plant_aer(tree, root_port("0000:41:00.0"), {"fatal": {"DLP": 1}})
    return tree


def container(tree: Tree) -> Tree:
    """A Debian 12 container on the story's Proxmox node: it sees the host's CPUs and kernel, not its net.core."""
    kernel.plant_kernel(tree, hostname="vllm-a")
    kernel.plant_distribution(tree)
    kernel.plant_container(tree)
    online = cpu.plant_cpus(tree, sockets=2, cores=32, model_name="AMD EPYC 9335 32-Core Processor")
    cpu.plant_frequency(tree, online, governor="performance")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    numa.plant_nodes(tree, ("0-31,64-95", "32-63,96-127"))
    memory.plant_memory(tree, total_kib=128 * numa.GIB, available_kib=120 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, {"net.core.rmem_max": None, "net.core.wmem_max": None, "net.core.rmem_default": None,
                         "net.core.wmem_default": None})
    return tree
