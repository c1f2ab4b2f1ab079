# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic bug reports of a fictitious machine, in the formats of nvidia-bug-report.sh over the years.

    text = bug_report("535", xids=[79])

Nothing is copied from real reports. The machine: one socket with four CPUs, one root port with one NVIDIA GPU below it
that negotiated PCIe 3 x8, MaxReadReq 512, MaxPayload 256, in IOMMU group 7.
"""
from __future__ import annotations

from hosts.config_space import LEGACY_ENDPOINT, ConfigSpace, all_ones, root_port_space

RULE = "_" * 44
GPU, PORT = "0000:01:00.0", "0000:00:01.0"
NAME = "NVIDIA Corporation AD102 [Test GPU]"
KERNEL, HOSTNAME = "6.8.0-31-generic", "workbench"
CMDLINE = "BOOT_IMAGE=/boot/vmlinuz-6.8.0-31-generic root=/dev/sda2 ro iommu=pt"
UUID = "GPU-11111111-2222-3333-4444-555555555555"
# generation: (number of the script, version of the driver)
GENERATIONS = {"304": ("18000001", "304.125"), "352": ("20000001", "352.63"), "470": ("30800001", "470.103.01"),
               "525": ("32800001", "525.125.06"), "535": ("33500001", "535.154.05"), "580": ("37000001", "580.95.05")}
_NEW = ("525", "535", "580")
XID_LINE = "NVRM: Xid (PCI:0000:01:00): {number}, pid=77, made up for a test"


def gpu_config(size: int) -> bytes:
    space = ConfigSpace(0x10DE, 0x2684, 0x030000, subsystem=(0x1043, 0x889A))
    space.put(0x10, 0xF6000000, 4).put(0x14, 0xE000000C, 4).put(0x18, 0x0, 4)
    space.power_management(0x60).msi(0x68).express(
        0x78, port_type=LEGACY_ENDPOINT, speed=8.0, width=8, max_speed=16.0, max_width=16, max_read_request=512,
        max_payload=256, ten_bit_tags=False, no_snoop=False)
    space.aer().resizable_bars((1, 256, (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)))
    return space.bytes(size)


def port_config(size: int) -> bytes:
    space = root_port_space(vendor=0x8086, device=0x460D, acs=0x001D, speed=8.0, width=8, max_speed=32.0)
    return space.put(0x18, 0x00, 1).put(0x19, 0x01, 1).put(0x1A, 0x01, 1).bytes(size)


def hexdump(config: bytes) -> str:
    return "".join(f"{at:02x}: {config[at:at + 16].hex(' ')}\n" for at in range(0, len(config), 16))


def section(title: str, body: str = "") -> str:
    return f"{RULE}\n\n{title}\n\n{body}\n"


def file(path: str, body: str, mode: str = "-r--r--r--") -> str:
    when = "2024-05-06 07:08:10.000000000 +0200"
    return f"{RULE}\n\n*** {path}\n*** ls: {mode} 1 root root 0 {when} {path}\n{body}\n\n"


def bug_report(generation: str = "535", *, xids: tuple[int, ...] = (), earlier_xids: tuple[int, ...] = (),
               safe_mode: bool = False, smi: str | None = None, gone: bool = False, ring: str = "whole",
               kernel: str = KERNEL, hostname: str = HOSTNAME) -> str:
    """`smi` replaces the output of nvidia-smi; `gone`: the GPU reads all ones; `ring` is whole or cut: a cut dmesg
    lacks the start of the boot and the Xids, which only the journal then has."""
    number, driver = GENERATIONS[generation]
    parts = [_prologue(number, safe_mode, kernel, hostname, generation)]
    if generation not in ("304", "352", "525") and not safe_mode:
        parts += [file(f"/sys/bus/pci/devices/{GPU}/power/control", "auto"),
                  file(f"/sys/bus/pci/devices/{GPU}/power/runtime_status", "active")]
    parts += [file("/etc/issue", "Ubuntu 22.04.4 LTS \\n \\l\n"),
              file("/var/log/nvidia-installer.log", "[    9.0] NVRM: API mismatch: the client has the version 1.2.3\n"
                   "[    9.1] NVRM: Xid (PCI:0000:01:00): 61, of another boot")]
    parts += [_lspci(generation, gone)]
    if generation in ("535", "580"):
        parts += [file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
                  section("/usr/bin/numactl -H", NUMACTL),
                  file("/proc/sys/kernel/numa_balancing", "1")]
    if generation in ("470", *_NEW):
        parts += [file("/sys/devices/system/node/online", "0"), file(f"/sys/bus/pci/devices/{GPU}/numa_node", "-1"),
                  file(f"/sys/bus/pci/devices/{GPU}/local_cpulist", "0-3")]
    parts += [section("/usr/sbin/dmidecode", DMIDECODE)]
    if generation == "580":
        parts += [f"{RULE}\n\n/sys/module/nvidia_drm/parameters/modeset:Y\n/sys/module/nvidia_uvm/parameters/"
                  "uvm_disable_hmm:N\n"]
    parts += [_logs(generation, xids, earlier_xids, hostname), _dmesg(kernel, driver, xids, ring)]
    parts += [file("/proc/cmdline", CMDLINE), file("/proc/cpuinfo", _cpuinfo()),
              file("/proc/meminfo", "MemTotal:       65536000 kB\nMemAvailable:   60000000 kB\nSwapTotal:      0 kB\n"
                   "Hugetlb:               0 kB"),
              file("/proc/modules", f"nvidia_uvm 1000 0 - Live 0x0\nnvidia 9000 {1 + 1} nvidia_uvm, Live 0x0 (POE)"),
              f"{RULE}\n\n*** /proc/pci does not exist\n\n"]
    parts += [_proc(generation, driver, safe_mode), _smi(generation, driver, safe_mode, smi)]
    return "".join(parts) + f"{RULE}\n\nEnd of NVIDIA bug report log file.\n"


def _prologue(number: str, safe_mode: bool, kernel: str, hostname: str, generation: str) -> str:
    table = (f"Component | Details\nOS Details                          | Distribution : Ubuntu 22.04.4 LTS\n"
             f"                                    | Hostname     : {hostname}\n") if generation == "580" else ""
    return (f"{RULE}\n\nStart of NVIDIA bug report log file.  (made up for a test)\n\n"
            f"nvidia-bug-report.sh Version: {number}\n\nDate: lun. 06 mai 2024 07:08:01 CEST\n"
            f"uname: Linux {hostname} {kernel} #31-Ubuntu SMP PREEMPT_DYNAMIC Sat Apr 20 00:40:06 UTC 2024 x86_64 "
            f"x86_64 x86_64 GNU/Linux\ncommand line flags: {'--safe-mode' if safe_mode else ''}\n\n{table}")


def _lspci(generation: str, gone: bool) -> str:
    new, wide = generation in _NEW, 4096 if generation in ("535", "580") else 256
    config = all_ones(wide) if gone else gpu_config(wide)
    port = hexdump(port_config(wide))
    revision = "ff" if gone else "a1"
    listing = (f"00:01.0 PCI bridge [0604]: Maker of Ports Root Port [8086:460d]\n"
               f"01:00.0 VGA compatible controller [0300]: {NAME} [10de:2684] (rev {revision})\n")
    if not new:
        detail = ("\tSubsystem: Maker of Cards Device 889a\n\tFlags: bus master, fast devsel, latency 0, IRQ 52\n"
                  "\tMemory at f6000000 (32-bit, non-prefetchable) [size=16M]\n"
                  "\tMemory at e0000000 (64-bit, prefetchable) [size=256M]\n"
                  "\tCapabilities: [78] Express Legacy Endpoint, MSI 00\n\tKernel driver in use: nvidia\n")
        head = f"01:00.0 VGA compatible controller: {NAME} (rev {revision}) (prog-if 00 [VGA controller])"
        return (section('/usr/bin/lspci -d "10de:*" -v -xxx', f"{head}\n{detail}{hexdump(config)}\n")
                + f"{RULE}\n/usr/bin/lspci -d \"10b5:*\" -v -xxx\n\n\n"
                + section("/usr/bin/lspci -t", "-[0000:00]-+-01.0-[01]----00.0\n")
                + section("/usr/bin/lspci -nn", listing))
    options = "-nnDvvvxxxx" if wide == 4096 else "-nnDvvvxxx"
    full = (f"{PORT} PCI bridge [0604]: Maker of Ports Root Port [8086:460d] (prog-if 00 [Normal decode])\n"
            "\tIOMMU group: 1\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
            "\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00\n"
            "\tCapabilities: [148 v1] Access Control Services\n"
            "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
            "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
            f"\tKernel driver in use: pcieport\n{port}\n"
            f"{GPU} VGA compatible controller [0300]: NVIDIA Corporation AD102 [Test GPU] [10de:2684] (rev {revision}) "
            "(prog-if 00 [VGA controller])\n\tSubsystem: Maker of Cards Device [1043:889a]\n\tIOMMU group: 7\n"
            "\tRegion 0: Memory at f6000000 (32-bit, non-prefetchable) [size=16M]\n"
            "\tRegion 1: Memory at e0000000 (64-bit, prefetchable) [size=256M]\n"
            "\tCapabilities: [78] Express (v2) Legacy Endpoint, MSI 00\n"
            "\tCapabilities: [100 v1] Advanced Error Reporting\n"
            "\tCapabilities: [148 v1] Physical Resizable BAR\n"
            "\t\tBAR 1: current size: 256MB, supported: 256MB 512MB 1GB 2GB 4GB 8GB 16GB 32GB\n"
            f"\tKernel driver in use: nvidia\n{hexdump(config)}\n")
    tree = "-[0000:00]-+-01.0-[01]----00.0  NVIDIA Corporation AD102 [Test GPU] [10de:2684]"
    return (section("/usr/bin/lspci -nntv", tree)
            + section("/usr/bin/lspci -nn", listing) + section(f"/usr/bin/lspci {options}", full))


def _logs(generation: str, xids: tuple[int, ...], earlier: tuple[int, ...], hostname: str) -> str:
    if generation == "304":
        return section("Scanning kernel log files for NVRM messages:", "/var/log/messages is not readable\n")
    before = "".join(f"mai 05 01:02:03 {hostname} kernel: {XID_LINE.format(number=xid)}\n" for xid in earlier)
    this = "".join(f"mai 06 06:00:0{at} {hostname} kernel: {XID_LINE.format(number=xid)}\n"
                   for at, xid in enumerate(xids))
    return section("Scanning kernel log files for NVIDIA kernel messages:",
                   f"  /var/log/kern.log:\n{before}{this}\n  journalctl -b -0:\n{this}mai 06 07:00:00 {hostname} "
                   f"systemd[1]: Started a unit.\n\n  journalctl -b -1:\n{before}\n")


def _dmesg(kernel: str, driver: str, xids: tuple[int, ...], ring: str) -> str:
    if ring == "cut":
        return section("dmesg:", "[ 7000.000001] something: late in the life of this boot\n")
    lines = [f"[    0.000000] Linux version {kernel} (someone@somewhere)", f"[    0.000000] Command line: {CMDLINE}",
             f"[    0.500000] pci {PORT}: Adding to iommu group 1",
             f"[    0.500001] pci {GPU}: Adding to iommu group 7",
             f"[    5.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Mar 1 00:00:00 UTC 2024"]
    lines += [f"[  10{at}.000000] {XID_LINE.format(number=xid)}" for at, xid in enumerate(xids)]
    return section("dmesg:", "".join(f"{line}\n" for line in lines))


def _cpuinfo() -> str:
    return "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: A Processor For Tests\nphysical id\t: 0\n"
        f"siblings\t: 4\ncore id\t\t: {cpu // 2}\ncpu cores\t: 2\napicid\t\t: {cpu}\nflags\t\t: fpu vme tsc\n"
        for cpu in range(4))


def _proc(generation: str, driver: str, safe_mode: bool) -> str:
    dot = "" if generation in ("304", "580") else "./"
    base = f"/proc/driver/nvidia/{dot}"
    parts = [file(f"{base}version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Mar 1 00:00:00 UTC "
                  "2024\nGCC version:  gcc version 12"), file(f"{base}params", "EnableMSI: 1\nRmMsg: \"\"")]
    if not safe_mode:
        where = "gpus/0" if generation == "304" else f"gpus/{GPU}"
        location = GPU.replace(":00.0", ".00.0") if generation == "304" else GPU
        minor = "" if generation in ("304", "352") else "Device Minor: \t 0\n"
        parts.append(file(f"{base}{where}/information", f"Model: \t\t Test GPU\nIRQ:   \t\t 52\nGPU UUID: \t {UUID}\n"
                          f"Video BIOS: \t 95.02.18.80.87\nBus Type: \t PCIe\nBus Location: \t {location}\n{minor}"))
    return "".join(parts)


def _smi(generation: str, driver: str, safe_mode: bool, smi: str | None) -> str:
    if safe_mode:
        return ""
    if generation == "304":
        return section("Skipping nvidia-smi output (nvidia-smi not found)")
    name = "/usr/bin/nvidia-smi -q" if generation == "352" else "/usr/bin/nvidia-smi --query"
    return section(name, f"{smi_text(generation, driver) if smi is None else smi}\n\n{name} --unit\n\n"
                   "Attached Units                         : 0\n")


def smi_text(generation: str, driver: str) -> str:
    """The fields of each generation that an audit reads, and some others."""
    device = "                Device Max : 4\n                Host Max : 5\n" if generation in _NEW else ""
    reasons = "Clocks Event Reasons" if generation in ("535", "580") else "Clocks Throttle Reasons"
    power = "GPU Power Readings" if generation in ("535", "580") else "Power Readings"
    draw = "Instantaneous Power Draw" if generation == "580" else "Power Draw"
    address = GPU if generation == "352" else f"0000{GPU.upper()}"
    return f"""

==============NVSMI LOG==============

Timestamp                              : Mon May  6 07:08:09 2024
Driver Version                         : {driver}

Attached GPUs                          : 1
GPU {address}
    Product Name                       : Test GPU
    Display Active                     : Disabled
    Persistence Mode                   : Disabled
    MIG Mode
        Current                        : N/A
        Pending                        : N/A
    GPU UUID                           : {UUID}
    Minor Number                       : 0
    VBIOS Version                      : 95.02.18.80.87
    PCI
        Bus                            : 0x01
        Bus Id                         : {address}
        GPU Link Info
            PCIe Generation
                Max                    : 3
                Current                : 3
{device}            Link Width
                Max                    : 16x
                Current                : 8x
    Performance State                  : P2
    {reasons}
        Idle                           : Not Active
        SW Power Cap                   : Active
        HW Slowdown                    : Active
            HW Thermal Slowdown        : Active
            HW Power Brake Slowdown    : Not Active
        Display Clock Setting          : Not Active
    FB Memory Usage
        Total                          : 24564 MiB
        Used                           : 100 MiB
    BAR1 Memory Usage
        Total                          : 256 MiB
        Used                           : 3 MiB
    Compute Mode                       : Default
    Utilization
        Gpu                            : 42 %
        Memory                         : 7 %
    ECC Mode
        Current                        : Enabled
        Pending                        : Disabled
    ECC Errors
        Volatile
            SRAM Correctable           : 3
            SRAM Uncorrectable Parity  : 1
            SRAM Uncorrectable SEC-DED : 1
            DRAM Correctable           : 0
            DRAM Uncorrectable         : 2
        Aggregate
            SRAM Uncorrectable Parity  : 4
            SRAM Uncorrectable SEC-DED : 0
            DRAM Uncorrectable         : 5
        Channel Repair Pending         : No
        TPC Repair Pending             : Yes
    Retired Pages
        Pending Page Blacklist         : N/A
    Remapped Rows
        Correctable Error              : 0
        Pending                        : Yes
        Remapping Failure Occurred     : No
    Temperature
        GPU Current Temp               : 71 C
    {power}
        {draw}                         : 210.25 W
        Current Power Limit            : 400.00 W
        Default Power Limit            : 450.00 W
    Clocks
        Graphics                       : 2100 MHz
        SM                             : 2100 MHz
    Processes
        Process ID                     : 4711
            Type                       : C
            Name                       : python3
            Used GPU Memory            : 90 MiB
        Process ID                     : 4712
            Type                       : C
            Name                       : GPU 0000:09:00.0
"""


NUMACTL = """available: 1 nodes (0)
node 0 cpus: 0 1 2 3
node 0 size: 64000 MB
node 0 free: 50000 MB
node distances:
node   0
  0:  10
"""
DMIDECODE = """# dmidecode 3.3
Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: Firmware Makers
\tVersion: 1.23
\tRelease Date: 01/02/2024

Handle 0x0001, DMI type 1, 27 bytes
System Information
\tManufacturer: Makers of Machines
\tProduct Name: Bench 9000
\tSerial Number: SECRET-SERIAL

Handle 0x0002, DMI type 2, 15 bytes
Base Board Information
\tManufacturer: Makers of Boards
\tProduct Name: Board 7
"""
