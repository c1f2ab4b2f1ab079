# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plants the NVIDIA driver: modules, /proc/driver/nvidia, majors, device nodes and what nvidia-smi printed."""
from __future__ import annotations

from typing import NamedTuple

from .modules import plant_char_devices, plant_module
from .tree import Tree

RTX_PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell Server Edition"

# 195 is the driver's own (three names since the 570 series); the kernel hands out the others as they come.
MAJORS = (("nvidia", 195), ("nvidia-modeset", 195), ("nvidiactl", 195), ("nvidia-nvlink", 234),
          ("nvidia-caps", 235), ("nvidia-caps-imex-channels", 236), ("nvidia-uvm", 511))

PARAMETERS = {
    "ResmanDebugLevel": 4294967295, "ModifyDeviceFiles": 1, "DeviceFileMode": 438, "RmProfilingAdminOnly": 1,
    "DynamicPowerManagement": 3, "EnablePCIERelaxedOrderingMode": 0, "EnableResizableBar": 0, "EnableGpuFirmware": 18,
    "DmaRemapPeerMmio": 1, "RegistryDwords": '""', "TemporaryFilePath": '"/var/tmp"',
}


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

    @property
    def uuid(self) -> str:
        return f"GPU-00000000-0000-4000-8000-{self.minor:012d}"


def plant_nvidia(tree: Tree, version: str = "570.133.20", flavour: str = "open", gpus=(),
                 majors=MAJORS, nodes: bool = True, uvm: bool = True, parameters: dict | None = None,
                 smi: bool = True) -> Tree:
    """A host whose NVIDIA driver is loaded and drives `gpus`: Gpu or tuples `(bdf, minor[, model, ...])`.

    `nodes` plants /dev/nvidia* for them; `uvm=False` leaves out what comes with the first use of CUDA.
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
    if nodes:
        plant_nodes(tree, gpus, dict(majors))
    if smi:
        tree.program("nvidia-smi.xml", smi_xml(gpus, version))
    return tree


def plant_nodes(tree: Tree, gpus, majors: dict[str, int]) -> Tree:
    """The device nodes that nvidia-modprobe and the driver's udev rules make."""
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
    """/proc/driver/nvidia/version of an `open` or a `proprietary` driver."""
    name = "Open Kernel Module for x86_64" if flavour == "open" else "x86_64 Kernel Module"
    built = "Release Build  (root@host)  " if flavour == "open" else ""
    return (f"NVRM version: NVIDIA UNIX {name}  {version}  {built}Sun Mar 30 12:00:00 UTC 2025\n"
            "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n")


def information_text(gpu: Gpu, version: str) -> str:
    """/proc/driver/nvidia/gpus/<bdf>/information: tabs after the colon, as many as line the values up."""
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
    """What `nvidia-smi -q -x` prints of these GPUs, as far as anybody reads it."""
    head = ('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
            f"<driver_version>{version}</driver_version>\n<attached_gpus>{len(gpus)}</attached_gpus>\n")
    return head + "".join(_smi_gpu(Gpu(*gpu)) for gpu in gpus) + "</nvidia_smi_log>\n"


def _smi_gpu(gpu: Gpu) -> str:
    domain, rest = gpu.bdf.split(":", 1)
    process = "<process_info><pid>1</pid></process_info>" * gpu.processes
    return (f'<gpu id="{int(domain, 16):08X}:{rest.upper()}">\n'
            f"<product_name>{gpu.model}</product_name>\n"
            "<persistence_mode>Enabled</persistence_mode>\n"
            f"<uuid>{gpu.uuid}</uuid>\n<minor_number>{gpu.minor}</minor_number>\n"
            f"<performance_state>{gpu.pstate}</performance_state>\n"
            f"<fb_memory_usage><total>{gpu.memory_mib} MiB</total></fb_memory_usage>\n"
            f"<bar1_memory_usage><total>{gpu.bar1_mib} MiB</total></bar1_memory_usage>\n"
            f"<utilization><gpu_util>{gpu.utilization} %</gpu_util></utilization>\n"
            f"<processes>{process}</processes>\n</gpu>\n")
