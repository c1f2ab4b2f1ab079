# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plant the NVIDIA driver: modules, /proc/driver/nvidia, majors, device nodes and the output of nvidia-smi."""
from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .modules import plant_char_devices, plant_module
from .tree import Tree

RTX_PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell Server Edition"

# 195 is reserved for the driver (three names since the 570 series); the kernel assigns the others dynamically.
MAJORS = (("nvidia", 195), ("nvidia-modeset", 195), ("nvidiactl", 195), ("nvidia-nvlink", 234),
          ("nvidia-caps", 235), ("nvidia-caps-imex-channels", 236), ("nvidia-uvm", 511))

PARAMETERS = {
    "ResmanDebugLevel": 4294967295, "ModifyDeviceFiles": 1, "DeviceFileMode": 438, "RmProfilingAdminOnly": 1,
    "DynamicPowerManagement": 3, "EnablePCIERelaxedOrderingMode": 0, "EnableResizableBar": 0, "EnableGpuFirmware": 18,
    "DmaRemapPeerMmio": 1, "RegistryDwords": '""', "TemporaryFilePath": '"/var/tmp"',
}


# State, status and the other fields of <fabric>; a GPU without an NVSwitch has none.
NO_FABRIC = ("N/A", "N/A", "")
FABRIC_UP = ("Completed", "Success", "<cliqueId>0</cliqueId>"
             "<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>"
             "<health><summary>Healthy</summary><bandwidth>Full</bandwidth>"
             "<route_recovery_in_progress>False</route_recovery_in_progress></health>")
FABRIC_WAITS = ("In Progress", "N/A", "<cliqueId>N/A</cliqueId><clusterUuid>N/A</clusterUuid>"
                "<health><summary>N/A</summary><bandwidth>N/A</bandwidth></health>")

# The output of nvidia-smi for a GPU without problems, by XML element; `reasons`: active clock event reasons.
HEALTHY: Mapping[str, object] = {
    "persistence_mode": "Enabled", "display_active": "Disabled", "compute_mode": "Default", "current_mig": "Disabled",
    "pending_mig": "Disabled", "current_ecc": "Enabled", "pending_ecc": "Enabled", "power_limit": 600,
    "default_power_limit": 600, "power_draw": 39.17, "reasons": (), "sram_uncorrectable": 0, "dram_uncorrectable": 0,
    "remapped_row_pending": "No", "remapped_row_failure": "No", "pending_retirement": "N/A",
    "channel_repair_pending": "No", "recovery": "None", "bar1_used": 1, "vbios_version": "98.02.67.00.0A",
    "temperature": 45, "sm_clock": 180, "fabric": NO_FABRIC,
}
# A card without ECC, multi-instance mode and row remapping.
GEFORCE = {"power_limit": 450, "default_power_limit": 450, "display_active": "Enabled", **dict.fromkeys((
    "current_mig", "pending_mig", "current_ecc", "pending_ecc", "sram_uncorrectable", "dram_uncorrectable",
    "remapped_row_pending", "remapped_row_failure", "channel_repair_pending"), "N/A")}
_REASONS = ("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown",
            "hw_power_brake_slowdown", "sync_boost", "sw_thermal_slowdown", "display_clocks_setting")


class Gpu(NamedTuple):
    """One GPU that the driver has probed."""

    bdf: str
    minor: int
    model: str = RTX_PRO_6000
    memory_mib: int = 97887
    bar1_mib: int = 131072
    firmware: str | None = None     # None: the driver's own version
    pstate: str = "P8"
    utilization: int = 0
    processes: int = 0
    smi: Mapping[str, object] = HEALTHY     # differences in its nvidia-smi output, see HEALTHY

    @property
    def uuid(self) -> str:
        return f"GPU-00000000-0000-4000-8000-{self.minor:012d}"


def plant_nvidia(tree: Tree, version: str = "570.133.20", flavour: str = "open", gpus=(),
                 majors=MAJORS, nodes: bool = True, uvm: bool = True, parameters: dict | None = None,
                 smi: bool = True) -> Tree:
    """A host whose NVIDIA driver is loaded and drives `gpus`: Gpu or tuples `(bdf, minor[, model, ...])`.

    `nodes` plants their /dev/nvidia*; `uvm=False` omits what is created when CUDA is first used.
    """
    gpus = [Gpu(*gpu) for gpu in gpus]
    if uvm:
        plant_module(tree, "nvidia_uvm", refcount=4)
    plant_module(tree, "nvidia_drm")
    plant_module(tree, "nvidia_modeset", refcount=1, holders=("nvidia_drm",))
    plant_module(tree, "nvidia", version=version, refcount=10,
                 holders=("nvidia_modeset", "nvidia_uvm") if uvm else ("nvidia_modeset",))
    majors = [(name, major) for name, major in majors if uvm or name != "nvidia-uvm"]
    plant_char_devices(tree, *((major, name) for name, major in majors))
    tree.file("/proc/driver/nvidia/version", version_text(version, flavour))
    tree.file("/proc/driver/nvidia/params",
              "\n".join(f"{name}: {value}" for name, value in (parameters or PARAMETERS).items()))
    for gpu in gpus:
        tree.file(f"/proc/driver/nvidia/gpus/{gpu.bdf}/information", information_text(gpu, version))
    plant_libraries(tree, version)
    if nodes:
        plant_nodes(tree, gpus, dict(majors))
    if smi:
        tree.program("nvidia-smi.xml", smi_xml(gpus, version))
    return tree


def plant_links(tree: Tree, gpus, links: int, inactive: Mapping[int, int] = MappingProxyType({})) -> Tree:
    """The output of `nvidia-smi nvlink --status`; `inactive`: the number of inactive links by minor of the GPU."""
    return tree.program("nvidia-smi-nvlink.txt", "".join(
        f"GPU {gpu.minor}: {gpu.model} (UUID: {gpu.uuid})\n" + "".join(
            f"\t Link {number}: {'<inactive>' if number < inactive.get(gpu.minor, 0) else '26.562 GB/s'}\n"
            for number in range(links)) for gpu in gpus))


def plant_hung(tree: Tree, *bdfs: str, boot: str = "boot-1") -> Tree:
    """GPUs that hung in `boot` during a measurement."""
    tree.file("/run/gpuhost/hung.json", json.dumps({bdf: {
        "since": "2026-11-30T03:00:00Z", "run_id": "r9", "what": "the pair 0000:01:00.0 and 0000:21:00.0", "pid": 4711,
        "boot": boot} for bdf in bdfs}), 0o600)
    tree.path("/run/gpuhost").chmod(0o700)
    return tree


def plant_modprobe(tree: Tree, text: str, *, path: str = "/etc/modprobe.d/nvidia.conf",
                   time: str = "2026-10-30T06:00:00Z") -> Tree:
    """A file of modprobe.d with that time of modification."""
    return tree.file(path, text).made(path, time)


def plant_initramfs(tree: Tree, release: str, time: str = "2026-11-01T06:00:00Z") -> Tree:
    return tree.file(f"/boot/initrd.img-{release}", b"\x1f\x8b").made(f"/boot/initrd.img-{release}", time)


def plant_libraries(tree: Tree, version: str, root: str = "") -> Tree:
    """libnvidia-ml and libcuda of one version below `root`, with the links made by ldconfig."""
    for library in ("libnvidia-ml.so", "libcuda.so"):
        folder = f"{root}/usr/lib/x86_64-linux-gnu"
        tree.file(f"{folder}/{library}.{version}", b"\x7fELF").link(f"{folder}/{library}.1", f"{library}.{version}")
    return tree


def plant_nodes(tree: Tree, gpus, majors: dict[str, int]) -> Tree:
    """The device nodes created by nvidia-modprobe and the driver's udev rules."""
    for gpu in gpus:
        tree.device(f"/dev/nvidia{gpu.minor}", 195, gpu.minor)
    tree.device("/dev/nvidiactl", 195, 255).device("/dev/nvidia-modeset", 195, 254)
    if "nvidia-uvm" in majors:
        tree.device("/dev/nvidia-uvm", majors["nvidia-uvm"], 0).device("/dev/nvidia-uvm-tools", majors["nvidia-uvm"], 1)
    if "nvidia-caps" in majors:
        tree.device("/dev/nvidia-caps/nvidia-cap1", majors["nvidia-caps"], 1, "0400")
        tree.device("/dev/nvidia-caps/nvidia-cap2", majors["nvidia-caps"], 2, "0444")
    return tree


def version_text(version: str, flavour: str) -> str:
    """/proc/driver/nvidia/version of an `open` or `proprietary` driver."""
    name = "Open Kernel Module for x86_64" if flavour == "open" else "x86_64 Kernel Module"
    built = "Release Build  (root@host)  " if flavour == "open" else ""
    return (f"NVRM version: NVIDIA UNIX {name}  {version}  {built}Sun Mar 30 12:00:00 UTC 2025\n"
            "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n")


def information_text(gpu: Gpu, version: str) -> str:
    """/proc/driver/nvidia/gpus/<bdf>/information: tabs after the colon align the values."""
    return (f"Model: \t\t {gpu.model}\n"
            f"IRQ:   \t\t {120 + gpu.minor}\n"
            f"GPU UUID: \t {gpu.uuid}\n"
            "Video BIOS: \t 98.02.67.00.0a\n"
            "Bus Type: \t PCIe\n"
            "DMA Size: \t 52 bits\n"
            "DMA Mask: \t 0xfffffffffffff\n"
            f"Bus Location: \t {gpu.bdf}\n"
            f"Device Minor: \t {gpu.minor}\n"
            f"GPU Firmware: \t {version if gpu.firmware is None else gpu.firmware}\n"
            "GPU Excluded:\t No\n")


def smi_xml(gpus, version: str) -> str:
    """The output of `nvidia-smi -q -x` for these GPUs, as far as it is read."""
    head = ('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
            f"<driver_version>{version}</driver_version>\n<attached_gpus>{len(gpus)}</attached_gpus>\n")
    return head + "".join(_smi_gpu(Gpu(*gpu), version) for gpu in gpus) + "</nvidia_smi_log>\n"


def _smi_gpu(gpu: Gpu, version: str) -> str:
    domain, rest = gpu.bdf.split(":", 1)
    answers = {**HEALTHY, **gpu.smi}
    branch = int(version.partition(".")[0])
    process = "<process_info><pid>1</pid></process_info>" * gpu.processes
    return (f'<gpu id="{int(domain, 16):08X}:{rest.upper()}">\n'
            f"<product_name>{gpu.model}</product_name>\n"
            f"<display_active>{answers['display_active']}</display_active>\n"
            f"<persistence_mode>{answers['persistence_mode']}</persistence_mode>\n"
            f"<mig_mode><current_mig>{answers['current_mig']}</current_mig>"
            f"<pending_mig>{answers['pending_mig']}</pending_mig></mig_mode>\n"
            f"<uuid>{gpu.uuid}</uuid>\n<minor_number>{gpu.minor}</minor_number>\n"
            f"<vbios_version>{answers['vbios_version']}</vbios_version>\n"
            f"{_recovery(answers, branch)}"
            f"<performance_state>{gpu.pstate}</performance_state>\n"
            f"{_reasons(answers['reasons'], branch)}"
            f"<fb_memory_usage><total>{gpu.memory_mib} MiB</total></fb_memory_usage>\n"
            f"<bar1_memory_usage><total>{gpu.bar1_mib} MiB</total><used>{answers['bar1_used']} MiB</used>"
            f"</bar1_memory_usage>\n<compute_mode>{answers['compute_mode']}</compute_mode>\n"
            f"<utilization><gpu_util>{gpu.utilization} %</gpu_util></utilization>\n"
            f"{_ecc(answers, branch)}"
            f"{_repairs(answers)}<temperature><gpu_temp>{answers['temperature']} C</gpu_temp>"
            "<gpu_temp_tlimit>N/A</gpu_temp_tlimit></temperature>\n"
            f"{_fabric(answers['fabric'], branch)}"
            f"{_power(answers, branch)}<clocks><graphics_clock>{answers['sm_clock']} MHz</graphics_clock>"
            f"<sm_clock>{answers['sm_clock']} MHz</sm_clock></clocks>\n"
            f"<processes>{process}</processes>\n</gpu>\n")


def _fabric(fabric: tuple[str, str, str], branch: int) -> str:
    """The fabric element, since driver 535."""
    state, status, more = fabric
    return f"<fabric><state>{state}</state><status>{status}</status>{more}</fabric>\n" if branch >= 535 else ""


def _recovery(answers: Mapping, branch: int) -> str:
    if branch >= 560:
        return f"<gpu_recovery_action>{answers['recovery']}</gpu_recovery_action>\n"
    reset, drain = (("Yes" if answers["recovery"] == name else "No") for name in ("Reset", "Drain and Reset"))
    return (f"<gpu_reset_status><reset_required>{reset}</reset_required>"
            f"<drain_and_reset_recommended>{drain}</drain_and_reset_recommended></gpu_reset_status>\n")


def _reasons(active, branch: int) -> str:
    """Active reasons; driver 535 renamed throttle reasons to event reasons."""
    word = "event" if branch >= 535 else "throttle"
    lines = "".join(f"<clocks_{word}_reason_{name}>{'Active' if name in active else 'Not Active'}"
                    f"</clocks_{word}_reason_{name}>" for name in _REASONS)
    return f"<clocks_{word}_reasons>{lines}</clocks_{word}_reasons>\n"


def _ecc(answers: Mapping, branch: int) -> str:
    """ECC errors; since driver 545 with two kinds of SRAM errors."""
    sram = answers["sram_uncorrectable"]
    split = "N/A" if sram == "N/A" else 0
    kinds = (f"<sram_uncorrectable_parity>{split}</sram_uncorrectable_parity>"
             f"<sram_uncorrectable_secded>{sram}</sram_uncorrectable_secded>" if branch >= 545
             else f"<sram_uncorrectable>{sram}</sram_uncorrectable>")
    counts = (f"<sram_correctable>{split}</sram_correctable>{kinds}<dram_correctable>{split}</dram_correctable>"
              f"<dram_uncorrectable>{answers['dram_uncorrectable']}</dram_uncorrectable>")
    repair = (f"<channel_repair_pending>{answers['channel_repair_pending']}</channel_repair_pending>"
              "<tpc_repair_pending>No</tpc_repair_pending>" if branch >= 570 else "")
    return (f"<ecc_mode><current_ecc>{answers['current_ecc']}</current_ecc>"
            f"<pending_ecc>{answers['pending_ecc']}</pending_ecc></ecc_mode>\n"
            f"<ecc_errors><volatile>{counts}</volatile><aggregate>{counts}</aggregate>{repair}"
            "</ecc_errors>\n")


def _repairs(answers: Mapping) -> str:
    """Remapped rows; a GPU without a row remapper has a text instead."""
    pending, failure = answers["remapped_row_pending"], answers["remapped_row_failure"]
    rows = "N/A" if pending == "N/A" else (
        "<remapped_row_corr>0</remapped_row_corr><remapped_row_unc>0</remapped_row_unc>"
        f"<remapped_row_pending>{pending}</remapped_row_pending><remapped_row_failure>{failure}</remapped_row_failure>")
    return (f"<retired_pages><pending_blacklist>{answers['pending_retirement']}</pending_blacklist>"
            f"<pending_retirement>{answers['pending_retirement']}</pending_retirement></retired_pages>\n"
            f"<remapped_rows>{rows}</remapped_rows>\n")


def _power(answers: Mapping, branch: int) -> str:
    """Power readings; renamed in driver 535, which added those of the module; driver 570 split the draw."""
    draw, limit = f"{answers['power_draw']} W", f"{answers['power_limit']:.2f} W"
    default = f"<default_power_limit>{answers['default_power_limit']:.2f} W</default_power_limit>"
    if branch < 535:
        return (f"<power_readings><power_draw>{draw}</power_draw><power_limit>{limit}</power_limit>{default}"
                f"<enforced_power_limit>{limit}</enforced_power_limit></power_readings>\n")
    draws = (f"<average_power_draw>{draw}</average_power_draw><instant_power_draw>{draw}</instant_power_draw>"
             if branch >= 570 else f"<power_draw>{draw}</power_draw>")
    return (f"<gpu_power_readings><power_state>Requested functionality has been deprecated</power_state>{draws}"
            f"<current_power_limit>{limit}</current_power_limit><requested_power_limit>{limit}</requested_power_limit>"
            f"{default}</gpu_power_readings>\n<module_power_readings><current_power_limit>N/A</current_power_limit>"
            "</module_power_readings>\n")
