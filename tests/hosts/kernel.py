# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel, distribution and firmware of a planted host, and the characteristics of a container."""
from __future__ import annotations

from .memory import choice
from .modules import add_line
from .tree import Tree

RELEASE = "6.8.12-9-pve"
BUILD = "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-9 (2025-03-16T19:18Z)"
CMDLINE = f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/mapper/pve-root ro quiet"
BOOT_ID = "5f0c1d8e-7b1a-4d53-9b7e-0a4c2f9d6e11"
INITIAL_PID_NAMESPACE = "pid:[4026531836]"


def plant_kernel(tree: Tree, *, release: str = RELEASE, build: str = BUILD, cmdline: str = CMDLINE,
                 boot_id: str = BOOT_ID, hostname: str = "pve1", lockdown: str | None = "none",
                 log: tuple[str | tuple[float, str], ...] = ()) -> None:
    """A kernel with its log from the first line; `log` is appended to the lines of every boot."""
    tree.files("/proc/sys/kernel", {"osrelease": release, "version": build, "hostname": hostname,
                                    "random/boot_id": boot_id})
    tree.file("/proc/cmdline", cmdline).file("/proc/uptime", "864000.25 110000000.00")
    tree.link("/proc/self/ns/pid", INITIAL_PID_NAMESPACE)
    tree.folder("/sys/kernel/iommu_groups")     # empty without an IOMMU
    tree.file("/proc/1/environ", b"HOME=/\0TERM=linux\0")
    if lockdown is not None:
        tree.file("/sys/kernel/security/lockdown", choice("none integrity confidentiality", lockdown))
    plant_log(tree, (0.0, f"Linux version {release} (build@proxmox) {build}"), (0.0, f"Command line: {cmdline}"),
              (0.7, f"Kernel command line: {cmdline}"), *log)


def plant_log(tree: Tree, *lines: str | tuple[float, str]) -> None:
    """The whole kernel log as records of /dev/kmsg: texts, or pairs of seconds since boot and text."""
    seconds, records = 0.0, []
    for sequence, line in enumerate(lines):
        seconds, text = (seconds + 0.001, line) if isinstance(line, str) else line
        records.append(f"6,{sequence},{round(seconds * 1e6)},-;{text}")
    tree.kernel_log("\n".join(records))


def add_to_log(tree: Tree, *lines: tuple[float, str]) -> None:
    """Append records to those of plant_log()."""
    for seconds, text in lines:
        add_line(tree, "/recorded/kmsg.txt", f"4,1000,{round(seconds * 1e6)},-;{text}")


def plant_kernel_config(tree: Tree, release: str = RELEASE, *, amd_pstate: bool = True) -> None:
    """/boot/config-<release> with or without the driver amd-pstate."""
    tree.file(f"/boot/config-{release}", "CONFIG_CPU_FREQ=y\nCONFIG_X86_INTEL_PSTATE=y\n" + (
        "CONFIG_X86_AMD_PSTATE=y\nCONFIG_X86_AMD_PSTATE_DEFAULT_MODE=3\n# CONFIG_X86_AMD_PSTATE_UT is not set\n"
        if amd_pstate else "# CONFIG_X86_AMD_PSTATE is not set\n"))


def plant_distribution(tree: Tree, *, id: str = "debian", version_id: str = "12",
                       name: str = "Debian GNU/Linux 12 (bookworm)") -> None:
    tree.file("/usr/lib/os-release", f'PRETTY_NAME="{name}"\nNAME="{name.split()[0]}"\nVERSION_ID="{version_id}"\n'
                                     f'ID={id}\nHOME_URL="https://example.org/"\n')
    tree.link("/etc/os-release", "../usr/lib/os-release")


def plant_firmware(tree: Tree, *, system_vendor: str = "ASUSTeK COMPUTER INC.", product_name: str = "ESC8000A-E13P",
                   board_name: str = "K15PG-D24 Series", bios_vendor: str = "American Megatrends Inc.",
                   bios_version: str = "1302", bios_date: str = "09/18/2025") -> None:
    tree.files("/sys/class/dmi/id", {
        "sys_vendor": system_vendor, "product_name": product_name, "board_name": board_name,
        "bios_vendor": bios_vendor, "bios_version": bios_version, "bios_date": bios_date})


def plant_container(tree: Tree, technology: str = "lxc") -> None:
    """What identifies a container: its own PID namespace, and its manager's variable for the first process."""
    tree.link("/proc/self/ns/pid", "pid:[4026533124]")
    tree.file("/proc/1/environ", f"container={technology}\0TERM=linux\0".encode())
    tree.file("/run/systemd/container", technology)
