# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Combine the parts of a report, and mark what is complete: the last step to a recorded host."""
from __future__ import annotations

import json
import re

from ...module_utils._nvidia.driver import MODULES
from ...module_utils._nvidia.proc import parse_version
from ...module_utils._pci.address import DEVICES
from ...module_utils._pci.listed_names import FILE as NAMES
from . import cpus_and_nodes, kernel_log, machine
from .contradictions import contradictions
from .gathered import Gathered, old_gpu_address
from .machine_kind import kind_of_host
from .pci_files import GROUPS, place, put_devices
from .recorded_host import RecordedHost

PROC = "/proc/driver/nvidia"
SAFE_MODE = "left out by --safe-mode"
SMI_RECORDED = ("/recorded/nvidia-smi.xml", "/recorded/nvidia-smi.txt")
INITIAL_PID_NAMESPACE = "pid:[4026531836]"      # PROC_PID_INIT_INO, include/linux/proc_ns.h
_GROUP_LINE = re.compile(r"\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): Adding to iommu group (\d{1,6})\b")
_SWAP = re.compile(r"^SwapTotal:\s+(\d+) kB$", re.MULTILINE)


def finish(host: RecordedHost, found: Gathered) -> None:
    """Write what `found` has besides files, and mark what is complete."""
    safe = "--safe-mode" in found.flags
    log = found.dmesg or [line.text for line in kernel_log.parse_journal(found.journals.get(0, ()))]
    put_machine(host, found, log)
    put_kernel_log(host, found)
    put_pci(host, found, log)
    put_modules(host)
    put_driver(host, found, safe)
    put_smi(host, found, safe)
    for text in contradictions(host):
        host.note(text)
    kind = kind_of_host(found.devices if found.all_devices else {}, log)
    if kind is not None and "/proc/cpuinfo" not in host.files:
        host.put("/recorded/machine.json", json.dumps(kind))
    if found.units or found.journals.get(0) or found.dmidecode or found.machine:
        # The machine's own journal, system manager or firmware tables: this was not run inside a container.
        host.outer_links["/proc/self/ns/pid"] = INITIAL_PID_NAMESPACE
        for path in ("/proc/1/environ", "/run/systemd/container", "/sys/hypervisor/type"):
            host.close(path)


def put_machine(host: RecordedHost, found: Gathered, log: list[str]) -> None:
    """Firmware, system, CPUs and NUMA nodes."""
    release = (machine.put_uname(host, found.uname or "") or machine.put_version(host, host.text("/proc/version") or "")
               or machine.put_version(host, "\n".join(log[:200])))
    if not machine.put_dmidecode(host, found.dmidecode):
        machine.put_dmi_line(host, log)
    machine.close_proxmox(host, release, machine.put_os_release(host, found.distribution))
    cpus_and_nodes.put_cpus(host, host.text("/proc/cpuinfo") or "")
    cpus_and_nodes.put_present(host, log)
    cpus_and_nodes.put_numactl(host, found.numactl or "")
    cpus_and_nodes.put_nodes(host, log)
    swap = _SWAP.search(host.text("/proc/meminfo") or "")
    if swap is not None and not int(swap[1]):
        host.put_line("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority")


def put_kernel_log(host: RecordedHost, found: Gathered) -> None:
    """recorded/kmsg.txt and recorded/earlier_boots.json."""
    log = kernel_log.put_together(found.dmesg, found.journals, found.log_files)
    if log.this:
        host.put("/recorded/kmsg.txt", log.this)
    if log.earlier:
        host.put("/recorded/earlier_boots.json", json.dumps(log.earlier))
    for text in log.notes:
        host.note(text)


def put_pci(host: RecordedHost, found: Gathered, log: list[str]) -> None:
    """The devices of lspci with their IOMMU groups, even if only the kernel log has these."""
    told = {bdf: device["iommu_group"] for bdf, device in found.devices.items() if device["iommu_group"] is not None}
    in_log = {match[1]: int(match[2]) for line in log if "iommu group" in line and (match := _GROUP_LINE.search(line))}
    for bdf, group in in_log.items():
        if not told and bdf in found.devices:
            found.devices[bdf]["iommu_group"] = group
    folders = place(host, found.devices, found.tree)
    put_devices(host, found.devices, folders, whole=found.all_devices)
    names = {bdf: device["name"] for bdf, device in found.devices.items() if device["name"] and not device["device"]}
    if names:
        host.put(f"/recorded/{NAMES}", json.dumps(names))
    _move_device_files(host, folders)
    groups = told or in_log
    if groups or kernel_log.holds_start(log):
        # lspci names every group, or the log every device that joined one: other devices are in none.
        host.folder(GROUPS)
        host.list_whole(GROUPS)
        for bdf, folder in folders.items():
            if bdf not in groups:
                host.close(f"{folder}/iommu_group")


def _move_device_files(host: RecordedHost, folders: dict[str, str]) -> None:
    """Move files that the report has below a device's short name to where that name leads."""
    for path in [path for path in host.files if path.startswith(f"{DEVICES}/")]:
        bdf, _slash, rest = path[len(DEVICES) + 1:].partition("/")
        if not rest:
            continue
        data, mode = host.files.pop(path), host.modes.pop(path, None)
        host.put(f"{folders.get(bdf, f'{DEVICES}/{bdf}')}/{rest}", data, mode)


def put_modules(host: RecordedHost) -> None:
    """/sys/module of the modules that an audit needs: /proc/modules lists all loaded ones."""
    text = host.text("/proc/modules")
    if text is None:
        return
    loaded = {line.split()[0] for line in text.splitlines() if line.split()}
    for name in MODULES:
        if name in loaded:
            host.put_line(f"/sys/module/{name}/initstate", "live")
        else:
            host.close(f"/sys/module/{name}")


def put_driver(host: RecordedHost, found: Gathered, safe: bool) -> None:
    """/proc/driver/nvidia: the script includes all of it, except the GPUs in safe mode."""
    for files in found.old_gpus.values():
        bdf = old_gpu_address(files.get("information", ""))
        for name, text in files.items():
            if bdf is not None:
                host.put(f"{PROC}/gpus/{bdf}/{name}", text)
    version = host.text(f"{PROC}/version")
    if version is None:
        if f"{PROC}/version" in host.closed:
            host.close(PROC)
        return
    try:
        host.put_line("/sys/module/nvidia/version", parse_version(version).version)
    except ValueError:
        host.note(f"{PROC}/version names no version")
    if safe:
        host.leave_out(f"{PROC}/gpus", SAFE_MODE)
    else:
        host.folder(f"{PROC}/gpus")
        host.close(f"{PROC}/gpus")


def put_smi(host: RecordedHost, found: Gathered, safe: bool) -> None:
    """recorded/nvidia-smi.txt, including its error message if it failed."""
    if found.smi:
        host.put("/recorded/nvidia-smi.txt", f"{found.smi}\n")
    elif found.smi_missing:
        for path in SMI_RECORDED:
            host.failures[path] = ["absent", "nvidia-smi is not installed"]
    elif safe:
        for path in SMI_RECORDED:
            host.leave_out(path, SAFE_MODE)
