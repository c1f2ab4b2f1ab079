# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The GPUs of a host and the ports between each of them and its root complex: the facts `gpus` and `ports`.

What the hardware and the kernel say is read here; what the NVIDIA driver, guests and processes say about the same
GPUs is added by _facts/gpu_use.py.
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, ASLEEP, GONE, PASSED_THROUGH, Reading, ok
from .._kernel.bracketed import chosen
from .address import DEVICES, read_classes, upstream_path
from .device import acs_of, express_of, look_at_links, read_config, resizable_bars_of
from .holders import is_given_to_guest
from .interrupts import read_interrupts
from .nvidia_ids import architecture
from .sysfs import read_aer, read_bars, read_driver, read_id, read_iommu, read_numa_node, read_subsystem

AMD = "1002"
NVIDIA = "10de"
INTEL = "8086"

DISPLAY = "03"
DISPLAY_3D = "0302"
PROCESSING_ACCELERATOR = "1200"
OTHER_BRIDGE = "0680"           # of NVIDIA: an NVSwitch

# ES1000 and Rage XL: displays of management controllers from the years when ATI made them.
_BMC_DISPLAYS = ("515e", "5969", "4752")

ASPM_POLICY = "/sys/module/pcie_aspm/parameters/policy"

_NOT_READ = Reading(ABSENT, None, "not asked for")


def is_gpu(class_: str, vendor: str | None, device: str | None, path: list[str]) -> bool:
    """Whether a PCI function is a GPU that computes.

    A 3D controller (0302) or a processing accelerator (1200) is one whoever made it; another display device (03xx) is
    one if NVIDIA or AMD made it, or if Intel made it and it lies behind a port, which sets a card apart from the
    graphics of the processor. The displays of management controllers and of virtual machines are none.
    """
    if class_.startswith((DISPLAY_3D, PROCESSING_ACCELERATOR)):
        return True
    if not class_.startswith(DISPLAY):
        return False
    if vendor == AMD:
        return device not in _BMC_DISPLAYS
    return vendor == NVIDIA or (vendor == INTEL and bool(path))


def read(host: Host, link_samples: int = 0) -> dict:
    """`{gpus, ports, pcie}`; of a GPU all keys are there, those of _facts/gpu_use.py as if nobody had been asked.

    With `link_samples` the links of the GPUs are looked at that often.
    """
    known_power: dict[str, dict] = {}
    classes = read_classes(host)
    gpus = [_read_gpu(host, address, class_, known_power) for address, class_ in find_gpus(host, classes)]
    ports = sorted({port for gpu in gpus for port in gpu["path"]})
    if link_samples:
        looked = look_at_links(host, _awake_links(gpus), link_samples)
        gpus = [{**gpu, "link_samples": looked.get(gpu["bdf"])} for gpu in gpus]
    return {"gpus": gpus, "ports": [_read_port(host, address, known_power) for address in ports],
            "pcie": {"functions": read_functions(host), "aspm_policy": host.read(ASPM_POLICY).map(chosen),
                     "nvswitches": _find_nvswitches(host, classes)}}


def read_functions(host: Host) -> Reading:
    """How many PCI functions the host has; absent where its bus cannot be seen, which is no host without a GPU.

    A kernel without PCI, as that of small virtual machines, has /sys/bus and no folder pci in it.
    """
    found = host.read_list(DEVICES)
    return ok(0) if found.status == ABSENT and host.is_dir("/sys/bus") else found.map(len)


def _find_nvswitches(host: Host, classes: dict[str, str]) -> list[str]:
    """The switches that join GPUs by NVLink, where they are PCI devices (up to the Hopper generation)."""
    return [address for address, class_ in classes.items()
            if class_.startswith(OTHER_BRIDGE) and read_id(host, address, "vendor") == NVIDIA]


def _awake_links(gpus: list[dict]) -> dict[str, int]:
    """Where the PCI Express capability lies, of the GPUs of this host that have a link."""
    return {gpu["bdf"]: gpu["pcie"].value["capability"] for gpu in gpus
            if gpu["state"] == "ok" and gpu["pcie"].ok and gpu["pcie"].value["link"]}


def find_gpus(host: Host, classes: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """`(address, class)` of each GPU, by address; `classes` is what read_classes() answered, where that was asked."""
    return [(address, class_) for address, class_ in (read_classes(host) if classes is None else classes).items()
            if class_.startswith((DISPLAY, PROCESSING_ACCELERATOR))
            and is_gpu(class_, read_id(host, address, "vendor"), read_id(host, address, "device"),
                       upstream_path(host, address))]


def _read_common(host: Host, address: str, class_: str, config: Reading, power: dict) -> dict:
    return {
        "bdf": address,
        "vendor": read_id(host, address, "vendor"),
        "device": read_id(host, address, "device"),
        "class": class_,
        "state": config.status if config.status in (ASLEEP, GONE) else "ok",
        "driver": read_driver(host, address),
        "power": power,
        "numa_node": read_numa_node(host, address),
        "pcie": express_of(config),
        "aer": read_aer(host, address),
        "acs": acs_of(config),
    }


def _read_port(host: Host, address: str, known_power: dict) -> dict:
    config = read_config(host, address, known_power)
    return _read_common(host, address, read_id(host, address, "class", 6) or "", config, known_power[address])


def _read_gpu(host: Host, address: str, class_: str, known_power: dict) -> dict:
    config = read_config(host, address, known_power)
    common = _read_common(host, address, class_, config, known_power[address])
    bars = read_bars(host, address)
    group, group_type = read_iommu(host, address)
    if is_given_to_guest(common["driver"]) and common["state"] != GONE:
        common["state"] = PASSED_THROUGH
    return {
        **common,
        "subsystem": read_subsystem(host, address),
        "revision": read_id(host, address, "revision", 2),
        "generation": architecture(common["device"]) if common["vendor"] == NVIDIA else None,
        "local_cpus": host.read(f"{DEVICES}/{address}/local_cpulist"),
        **_read_virtualisation(host, address),
        "bars": bars,
        "largest_bar": largest_bar(bars.value or []),
        "resizable_bar": resizable_bars_of(config),
        "iommu_group": group,
        "iommu_type": group_type,
        "interrupts": read_interrupts(host, address),
        "path": upstream_path(host, address),
        "link_samples": None,
        "amd": _read_amd(host, address) if common["driver"] == "amdgpu" and common["state"] == "ok" else None,
        "model": None, "minor": _NOT_READ, "uuid": _NOT_READ, "gsp_firmware": _NOT_READ, "memory_mib": _NOT_READ,
        "claimed_by": _NOT_READ, "containers": [], "users": _NOT_READ,
    }


def _read_amd(host: Host, address: str) -> dict:
    """What amdgpu says of a GPU in its folder (Documentation/gpu/amdgpu). To be read of a GPU that is awake only.

    `performance_level`: power_dpm_force_performance_level (auto, low, high, manual ...); the partitions of an
    Instinct: SPX, DPX, CPX ... and NPS1, NPS4 ...; `xgmi_hive`: the same number for all that xGMI links join.
    """
    folder = f"{DEVICES}/{address}"
    return {
        "performance_level": host.read(f"{folder}/power_dpm_force_performance_level"),
        "compute_partition": host.read(f"{folder}/current_compute_partition"),
        "memory_partition": host.read(f"{folder}/current_memory_partition"),
        "xgmi_hive": host.read(f"{folder}/xgmi_hive_info/xgmi_hive_id"),
        "memory_bytes": host.read_int(f"{folder}/mem_info_vram_total"),
    }


def _read_virtualisation(host: Host, address: str) -> dict:
    """SR-IOV: a virtual function links to its physical one, which counts them (sysfs-bus-pci, sriov_numvfs)."""
    physical = host.link_name(f"{DEVICES}/{address}/physfn")
    return {
        "virtual_function": physical is not None,
        "physical_function": physical,
        "virtual_functions": host.read_int(f"{DEVICES}/{address}/sriov_numvfs").value or 0,
    }


def largest_bar(bars: list[dict]) -> int | None:
    """Bytes of the largest 64-bit prefetchable BAR, the window to the GPU's memory whatever its number."""
    return max((window["size"] for window in bars if window["bits"] == 64 and window["prefetchable"]), default=None)
