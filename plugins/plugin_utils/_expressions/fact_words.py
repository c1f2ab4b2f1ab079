# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a fact is about, in words for operators, with the file or command that has it.

Messages say these words and not the path of the fact, which only authors of checks know.
"""
from __future__ import annotations

import re

_CPUFREQ = "CPU frequency settings (/sys/devices/system/cpu/cpufreq)"
_KERNEL_LOG = "the kernel log of this boot (dmesg)"
_NUMA = "NUMA nodes (/sys/devices/system/node)"
_MEMORY = "memory sizes (/proc/meminfo)"
_EARLIER = "kernel logs of earlier boots (journalctl -k -b -1)"
_BOOT = "the boot configuration (/etc/default/grub, /etc/kernel)"
_MODPROBE = "options and blacklists of modules (/etc/modprobe.d)"
_SMI = "the answer of nvidia-smi -q"
_REGISTERS = "PCIe registers (lspci -xxxx)"
_ACS = "ACS and IOMMU settings of PCIe ports (lspci -vvv, /sys/kernel/iommu_groups)"
_RDMA = "RDMA devices (/sys/class/infiniband)"
_GUESTS = "guests of Proxmox VE (/etc/pve)"
_PLACED = "guests and GPU processes with their CPUs and memory (/etc/pve, /proc)"
_INTERRUPTS = "interrupts and their CPUs (/proc/irq, /proc/interrupts)"
_LIBRARIES = "versions of the NVIDIA libraries (libnvidia-ml.so.1, libcuda.so.1)"
_DEVICE_NODES = "device nodes in containers (/proc/PID/root/dev)"
_AER = "PCIe error counters (aer_dev_* in sysfs)"
_DRIVER = "the loaded NVIDIA driver (/proc/driver/nvidia, /proc/modules)"
_SYSCTL_FILES = "sysctl settings at boot (/etc/sysctl.d, /etc/sysctl.conf)"

# By the path without `host.`, quotes of names and indices; the longest prefix counts. `it` is one subject of a check.
_WORDS = {
    "boot": _BOOT, "cluster": "the state of the cluster (/etc/pve)", "cluster.ha": "the HA manager (/etc/pve/ha)",
    "cpu": "the CPUs (/proc/cpuinfo, /sys/devices/system/cpu)",
    "cpu.clocksource": "the clock source (/sys/devices/system/clocksource)", "cpu.frequency": _CPUFREQ,
    "cpu.frequency.max_perf_pct": "the limit of intel_pstate (max_perf_pct)",
    "cpu.idle": "CPU idle states (/sys/devices/system/cpu/cpu*/cpuidle)",
    "cpu.microcode": "the microcode of the CPUs (/proc/cpuinfo)",
    "cpu.smt": "SMT (/sys/devices/system/cpu/smt)",
    "cpu.uncore": "uncore frequencies (/sys/devices/system/cpu/intel_uncore_frequency)",
    "cpu.vulnerabilities": "CPU vulnerabilities (/sys/devices/system/cpu/vulnerabilities)",
    "derived.aspm_links": _REGISTERS, "derived.boot": _BOOT, "derived.boost_switches": _CPUFREQ,
    "derived.boot_sysctls": _SYSCTL_FILES, "derived.boots_with_harm": _EARLIER,
    "derived.compute_gpus": "the GPUs (/sys/bus/pci/devices, lspci)",
    "derived.amdgpu_errors": _KERNEL_LOG, "derived.container": "whether this is a container",
    "derived.container_nodes": _DEVICE_NODES, "derived.corrected_errors": _AER,
    "derived.die_controllers": _NUMA, "derived.driver_branch": _DRIVER,
    "derived.dropped_per_million": "dropped packets (/proc/net/softnet_stat)",
    "derived.earlier_boots": _EARLIER,
    "derived.fabric": "NVSwitches and their services (lspci, systemctl, nvidia-smi)",
    "derived.firmware": "firmware settings as Linux sees them (/sys, dmidecode)",
    "derived.frequency_limits": _CPUFREQ, "derived.gpu_containers": _GUESTS,
    "derived.gpu_count": "the number of NVIDIA GPUs (lspci, /proc/driver/nvidia, nvidia-smi)",
    "derived.gpu_templates": _GUESTS, "derived.gpu_vms": _GUESTS,
    "derived.hung": "whether a GPU hung while it was measured (/run/gpuhost)",
    "derived.idle_states": "CPU idle states (/sys/devices/system/cpu/cpu*/cpuidle)",
    "derived.iommu_faults": _KERNEL_LOG, "derived.isolated_guests": _GUESTS, "derived.library_mismatch": _LIBRARIES,
    "derived.lockups": _KERNEL_LOG, "derived.log_reach": _KERNEL_LOG, "derived.logged_mismatches": _KERNEL_LOG,
    "derived.memory_errors": "memory error counters (/sys/devices/system/edac)",
    "derived.memory_gib": _MEMORY, "derived.memory_kib": _MEMORY, "derived.memory_shares": _MEMORY,
    "derived.missing_nodes": "device nodes of the host (/dev)", "derived.modprobe": _MODPROBE,
    "derived.nic_paths": f"{_RDMA} and {_ACS}", "derived.nothing_to_boost": "CPPC levels of the cores (acpi_cppc)",
    "derived.numa": _NUMA, "derived.nvidia_gpus": "the GPUs (/sys/bus/pci/devices, lspci)",
    "derived.nvme_errors": _KERNEL_LOG, "derived.odd_policies": _CPUFREQ, "derived.oom_kills": _KERNEL_LOG,
    "derived.p2p": _ACS, "derived.pci_options": "the kernel command line (/proc/cmdline)",
    "derived.peermem": f"{_RDMA} and the module nvidia_peermem",
    "derived.persisted": "what is persisted (/var/lib/gpuhost)", "derived.placement": _PLACED,
    "derived.rdma_cards": _RDMA, "derived.rdma_ports": _RDMA, "derived.resets_required": _KERNEL_LOG,
    "derived.scaling_driver": _CPUFREQ, "derived.static_pools": "huge pages (/sys/kernel/mm/hugepages)",
    "derived.stopped_by_reboot": _GUESTS, "derived.sxids": _KERNEL_LOG, "derived.sysctl_places": _SYSCTL_FILES,
    "derived.translation": _ACS, "derived.tuning_services": "services that change settings (systemctl)",
    "derived.usual_huge_page": "sizes of transparent huge pages (/sys/kernel/mm/transparent_hugepage)",
    "derived.told": "whether this is a container or a virtual machine",
    "derived.virtual": "whether this is a virtual machine",
    "derived.vulnerable": "CPU vulnerabilities (/sys/devices/system/cpu/vulnerabilities)",
    "derived.xids": _KERNEL_LOG,
    "firmware": "the names of machine and firmware (dmidecode, /sys/class/dmi/id)",
    "gpus": "the GPUs (/sys/bus/pci/devices, lspci)", "gpus.acs": "ACS (lspci -vvv)", "gpus.pcie": _REGISTERS,
    "guests": _GUESTS, "guests.device_nodes": "device nodes of the host (/dev)",
    "guests.running": "which guests run (qm list, pct list)",
    "guests.unpinned_running": "which running guests are bound to no CPUs (/etc/pve, /proc)",
    "identity": "what kind of system this is", "identity.os": "the distribution (/etc/os-release)",
    "identity.proxmox": "whether this is a Proxmox VE node (/etc/pve)",
    "interrupts": _INTERRUPTS, "iommu": "the IOMMU (/sys/kernel/iommu_groups)",
    "kernel": "the running kernel (uname -a, /proc)", "kernel.cmdline": "the kernel command line (/proc/cmdline)",
    "kernel.earlier_boots": _EARLIER,
    "kernel.lockdown": "kernel lockdown (/sys/kernel/security/lockdown)", "kernel.log": _KERNEL_LOG,
    "kernel.mounts": "mounts (/proc/mounts)", "kernel.parameters": "the kernel command line (/proc/cmdline)",
    "kernel.unknown_parameters": _KERNEL_LOG,
    "managers": "services and files that set tunables (systemctl, /etc/sysctl.d, /etc/tuned)",
    "managers.services": "which services are installed and enabled (systemctl)",
    "managers.sysctl": _SYSCTL_FILES, "memory": _MEMORY,
    "memory.arc": "the ZFS ARC (/proc/spl/kstat/zfs/arcstats)",
    "memory.hugepages": "huge pages (/sys/kernel/mm/hugepages)", "memory.ksm": "KSM (/sys/kernel/mm/ksm)",
    "memory.locking": "memory lock limits of processes (/proc/PID/limits)",
    "memory.shm_kib": "the size of /dev/shm (/proc/mounts)", "memory.swap": "swap (/proc/swaps)",
    "memory.thp": "transparent huge pages (/sys/kernel/mm/transparent_hugepage)",
    "network": "network interfaces (/sys/class/net)",
    "network.backlog": "dropped packets (/proc/net/softnet_stat)", "numa": _NUMA,
    "nvidia": _DRIVER, "nvidia.container_libraries": "NVIDIA libraries in running containers (/proc/PID/root)",
    "nvidia.container_nodes": _DEVICE_NODES, "nvidia.cuda_library_version": _LIBRARIES,
    "nvidia.fabric": "NVSwitches and NVLinks (nvidia-smi nvlink --status)",
    "nvidia.hung": "whether a GPU hung while it was measured (/run/gpuhost)",
    "nvidia.initramfs": "the initramfs (/boot/initrd.img-*)",
    "nvidia.init_failures": _KERNEL_LOG,
    "nvidia.kernels": "installed kernels and their NVIDIA modules (/lib/modules)",
    "nvidia.library_version": _LIBRARIES, "nvidia.majors": "device numbers (/proc/devices)",
    "nvidia.mismatches": _KERNEL_LOG, "nvidia.modprobe": _MODPROBE,
    "nvidia.nodes": "device nodes of the driver (ls -l /dev/nvidia*)",
    "nvidia.parameters": "parameters of the NVIDIA driver (/proc/driver/nvidia/params)",
    "nvidia.peermem": "the module nvidia_peermem (/proc/modules)", "nvidia.repeats": _KERNEL_LOG,
    "nvidia.reset_required": _KERNEL_LOG, "nvidia.smi": _SMI, "nvidia.sxids": _KERNEL_LOG,
    "nvidia.xids": _KERNEL_LOG, "pcie": "PCI devices (/sys/bus/pci/devices)",
    "pcie.aspm_policy": "the ASPM policy (/sys/module/pcie_aspm/parameters/policy)",
    "persisted": "what is persisted (/var/lib/gpuhost)", "placement": _PLACED,
    "placement.features": "instruction sets of the CPUs (/proc/cpuinfo)",
    "ports": "PCIe ports above the GPUs (/sys/bus/pci/devices, lspci)", "ports.acs": "ACS (lspci -vvv)",
    "ports.aer": _AER, "ras": "memory error counters (/sys/devices/system/edac)", "ras.errors": _KERNEL_LOG,
    "ras.events": _KERNEL_LOG, "rdma": _RDMA, "rdma.devices.above.acs": "ACS (lspci -vvv)",
    "sysctl": "sysctls (sysctl -a)",
    "it.acs": "ACS (lspci -vvv)", "it.aer": _AER, "it.balloon": "memory and balloon of the VM",
    "it.bars": "BARs (the resource file in sysfs, lspci -v)", "it.blocked": "the device rules of the container",
    "it.boosts": "boost (/sys/devices/system/cpu/cpufreq/boost)",
    "it.claims": _GUESTS, "it.compute_lost": _DEVICE_NODES, "it.containers": _GUESTS,
    "it.cpus": "the CPUs that it may use", "it.derived": "readings of the GPU (lspci -vvv, /sys/bus/pci/devices)",
    "it.derived.aer_correctable": _AER, "it.derived.aer_counted": _AER, "it.derived.aer_uncorrectable": _AER,
    "it.derived.claims": "whether a VM is given the GPU (/etc/pve)",
    "it.derived.hung": "whether the GPU hung while it was measured (/run/gpuhost)",
    "it.derived.memory_troubles": _SMI, "it.derived.nvidia_smi": _SMI, "it.derived.pending_modes": _SMI,
    "it.derived.recovery": _SMI, "it.derived.remote_interrupts": _INTERRUPTS,
    "it.derived.rivals": _GUESTS, "it.derived.slowdowns": _SMI, "it.derived.slowdowns_in_words": _SMI,
    "it.driver": "the driver", "it.duplex": "duplex (/sys/class/net)", "it.epp": _CPUFREQ, "it.errors": _KERNEL_LOG,
    "it.fatal": _KERNEL_LOG, "it.faults": _KERNEL_LOG, "it.files": "idle states (cpuidle in sysfs)",
    "it.generation": "the generation of the GPU", "it.governor": _CPUFREQ, "it.governors": _CPUFREQ,
    "it.ha": "the HA rules and the other nodes (/etc/pve/ha)", "it.ha.elsewhere": "the nodes on which HA may start it",
    "it.hidden_features": "instruction sets that the VM sees", "it.huge_pages": "huge pages that its memory would fit",
    "it.ignored": "settings of the container (/etc/pve/lxc)",
    "it.interrupts": _INTERRUPTS, "it.largest_bar": "BARs (the resource file in sysfs, lspci -v)",
    "it.latency_us": "idle states (cpuidle in sysfs)", "it.libraries": "mounted libraries of the container",
    "it.limit_bytes": "memory lock limits of processes (/proc/PID/limits)",
    "it.links": "NVLinks (nvidia-smi nvlink --status)", "it.local_cpus": "the CPUs near the device (local_cpulist)",
    "it.max_khz": _CPUFREQ, "it.memlock": "the memory lock limit of the container (/etc/pve/lxc)",
    "it.memory": "where its memory is (/proc/PID/numa_maps)",
    "it.memory_mib": "the size of the GPU's memory (nvidia-smi -q)",
    "it.numa_node": "the NUMA node of the device (numa_node in sysfs)", "it.nodes": _DEVICE_NODES,
    "it.overbroad": "the device rules of the container (/etc/pve/lxc)", "it.path": "the ports above the GPU (lspci -t)",
    "it.pcie": _REGISTERS, "it.per_second": _AER, "it.physical": "the state of the port (/sys/class/infiniband)",
    "it.power": "power management (power/control in sysfs)", "it.problems": "problems of the service (systemctl)",
    "it.reboot": "settings of the container (/etc/pve/lxc)", "it.resizable_bar": "Resizable BAR (config space)",
    "it.running": "whether it runs (systemctl)", "it.settings": "NUMA settings of the VM (/etc/pve/qemu-server)",
    "it.sharing": "the CPUs of guests and cores (/etc/pve, /proc)", "it.speed_mbps": "the link speed (/sys/class/net)",
    "it.stale": "device numbers and the rules of the container (/proc/devices, /etc/pve/lxc)",
    "it.state": "its state", "it.trailing_text": "settings of the container (/etc/pve/lxc)",
    "it.unreadable_rules": "settings of the container (/etc/pve/lxc)",
    "it.users": "the processes that use the GPU (/proc/PID/fd)", "it.value": _SYSCTL_FILES,
    "it.versions": "NVIDIA libraries in running containers (/proc/PID/root)",
    "it.virtual_function": "whether it is a virtual function (physfn in sysfs)",
    "it.virtual_nodes": "NUMA nodes of the VM (/etc/pve/qemu-server)", "it.wrong": _DEVICE_NODES,
}
_INDEX = re.compile(r"\[[^\]]*\]")
_SYSCTL = re.compile(r'(?:host\.)?(?:sysctl\.(?:"([^"]+)"|(\w+))|tunables\."([^"]+)")')


def fact_in_words(path: str) -> str:
    """`the kernel log of this boot (dmesg)` for `host.kernel.log`; the path itself if nothing is known of it, which
    only happens in checks of users."""
    tunable = _SYSCTL.match(path)
    if tunable:
        key = tunable[1] or tunable[2]
        return f"the sysctl {key}" if key else tunable[3]
    names = _INDEX.sub("", path).removeprefix("host.").split(".")
    known = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((_WORDS[one] for one in known if one in _WORDS), path.removeprefix("host.").removeprefix("it."))
