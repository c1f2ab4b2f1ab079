# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The GPUs of a host and the ports between each and its root complex: the facts `gpus` and `ports`.

This file reads what the hardware and the kernel report; _facts/gpu_use.py adds what the NVIDIA driver, guests and
processes report about the same GPUs.
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, ASLEEP, GONE, PASSED_THROUGH, NotRecorded, Reading, known, ok, settle
from .._kernel.bracketed import chosen
from .address import DEVICES, read_classes, upstream_path
from .device import acs_of, express_of, look_at_links, read_config, resizable_bars_of
from .holders import is_given_to_guest
from .interrupts import read_interrupts
from .listed_names import architecture_of_name, read_names
from .nvidia_ids import architecture
from .sysfs import read_aer, read_bars, read_driver, read_id, read_iommu, read_numa_node, read_subsystem

AMD = "1002"
NVIDIA = "10de"
INTEL = "8086"

DISPLAY = "03"
DISPLAY_3D = "0302"
PROCESSING_ACCELERATOR = "1200"
OTHER_BRIDGE = "0680"           # of NVIDIA: an NVSwitch

# ES1000 and Rage XL: displays of management controllers, made by ATI.
_BMC_DISPLAYS = ("515e", "5969", "4752")

ASPM_POLICY = "/sys/module/pcie_aspm/parameters/policy"

_NOT_READ = Reading(ABSENT, None, "not asked for")


def is_gpu(class_: str, vendor: str | None, device: str | None, path: list[str]) -> bool:
    """Whether a PCI function is a compute GPU.

    A 3D controller (0302) or a processing accelerator (1200) is one from any vendor; another display device (03xx) only
    from NVIDIA or AMD. Of Intel's displays and accelerators those behind a port are, which distinguishes a card from
    the graphics and the NPU (drivers/accel/ivpu) inside a processor. Displays of management controllers and of virtual
    machines are not.
    """
    if class_.startswith(DISPLAY_3D):
        return True
    if not class_.startswith((DISPLAY, PROCESSING_ACCELERATOR)):
        return False
    if vendor == INTEL:
        return bool(path)
    if class_.startswith(PROCESSING_ACCELERATOR):
        return True
    return vendor == NVIDIA or (vendor == AMD and device not in _BMC_DISPLAYS)


def read(host: Host, link_samples: int = 0) -> dict:
    """Read `{gpus, ports, pcie}`; a GPU has all keys, those of _facts/gpu_use.py with their defaults.

    With `link_samples` the links of the GPUs are sampled that often.
    """
    known_power: dict[str, dict] = {}
    classes = known(lambda: read_classes(host))
    names = read_names(host)
    gpus = known(lambda: [_read_gpu(host, address, class_, known_power, names.get(address))
                          for address, class_ in find_gpus(host, classes)])
    ports = known(lambda: sorted({port for gpu in gpus for port in gpu["path"]}))
    if link_samples:
        gpus = known(lambda: _with_looks(host, gpus, link_samples))
    return settle({
        "gpus": lambda: gpus, "ports": lambda: [_read_port(host, address, known_power) for address in ports],
        "pcie": lambda: settle({
            "functions": lambda: read_functions(host), "aspm_policy": lambda: host.read(ASPM_POLICY).map(chosen),
            "nvswitches": lambda: _find_nvswitches(host, classes)})})


def _with_looks(host: Host, gpus: list[dict], link_samples: int) -> list[dict]:
    looked = look_at_links(host, _awake_links(gpus), link_samples)
    return [{**gpu, "link_samples": looked.get(gpu["bdf"])} for gpu in gpus]


def read_functions(host: Host) -> Reading:
    """Count the PCI functions of the host; absent if the bus is not visible, which does not mean that there is no GPU.

    A kernel without PCI, as in small virtual machines, has /sys/bus without a folder pci.
    """
    found = host.read_list(DEVICES)
    return ok(0) if found.status == ABSENT and host.is_dir("/sys/bus") else found.map(len)


def _find_nvswitches(host: Host, classes: dict[str, str]) -> list[str]:
    """Find the NVLink switches that are PCI devices (up to the Hopper generation)."""
    return [address for address, class_ in classes.items()
            if class_.startswith(OTHER_BRIDGE) and read_id(host, address, "vendor") == NVIDIA]


def _awake_links(gpus: list[dict]) -> dict[str, int]:
    """Return the offset of the PCI Express capability of each GPU with a link, by address."""
    return {gpu["bdf"]: gpu["pcie"].value["capability"] for gpu in gpus
            if gpu["state"] == "ok" and gpu["pcie"].ok and gpu["pcie"].value["link"]}


def find_gpus(host: Host, classes: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Find `(address, class)` of each GPU, by address; `classes` is the result of read_classes(), if already read."""
    return [(address, class_) for address, class_ in (read_classes(host) if classes is None else classes).items()
            if class_.startswith((DISPLAY, PROCESSING_ACCELERATOR))
            and _is_gpu(host, address, class_)]


def _is_gpu(host: Host, address: str, class_: str) -> bool:
    """Raises NotRecorded. The ports above matter only for Intel's devices, the device id only for AMD's.

    A recording without the id is made from the names that lspci prints, and the import knows those of the displays of
    management controllers.
    """
    if class_.startswith(DISPLAY_3D):
        return True
    vendor = read_id(host, address, "vendor")
    device = known(lambda: read_id(host, address, "device")) if vendor == AMD else None
    return is_gpu(class_, vendor, None if isinstance(device, Reading) else device,
                  upstream_path(host, address) if vendor == INTEL else [])


def _read_common(host: Host, address: str, class_: str, config: Reading, power: dict) -> dict:
    return settle({
        "bdf": lambda: address,
        "vendor": lambda: read_id(host, address, "vendor"),
        "device": lambda: read_id(host, address, "device"),
        "class": lambda: class_,
        "state": lambda: config.status if config.told().status in (ASLEEP, GONE) else "ok",
        "driver": lambda: read_driver(host, address),
        "power": lambda: power,
        "numa_node": lambda: read_numa_node(host, address),
        "pcie": lambda: express_of(config),
        "aer": lambda: read_aer(host, address),
        "acs": lambda: acs_of(config),
    })


def _read_port(host: Host, address: str, known_power: dict) -> dict:
    config = read_config(host, address, known_power)
    class_ = known(lambda: read_id(host, address, "class", 6) or "")
    return _read_common(host, address, class_, config, known_power[address])


def _generation(common: dict, name: str | None) -> str | None:
    """By the device id; by the name in a listing without ids."""
    if isinstance(common["device"], Reading) and architecture_of_name(name) is not None:
        return architecture_of_name(name)
    return architecture(common["device"] or None)


def _read_gpu(host: Host, address: str, class_: str, known_power: dict, name: str | None) -> dict:
    config = read_config(host, address, known_power)
    common = _read_common(host, address, class_, config, known_power[address])
    bars = read_bars(host, address)
    group, group_type = read_iommu(host, address)
    common["state"] = known(lambda: GONE if common["state"] == GONE else PASSED_THROUGH
                            if is_given_to_guest(common["driver"]) else common["state"])
    return {
        **common,
        **settle({
            "subsystem": lambda: read_subsystem(host, address),
            "revision": lambda: read_id(host, address, "revision", 2),
            "generation": lambda: _generation(common, name) if common["vendor"] == NVIDIA else None,
            "local_cpus": lambda: host.read(f"{DEVICES}/{address}/local_cpulist"),
            **_read_virtualisation(host, address, config),
            "bars": lambda: bars,
            "largest_bar": lambda: largest_bar(bars.value or []),
            "resizable_bar": lambda: resizable_bars_of(config),
            "iommu_group": lambda: group,
            "iommu_type": lambda: group_type,
            "interrupts": lambda: read_interrupts(host, address),
            "path": lambda: upstream_path(host, address),
            "link_samples": lambda: None,
            "amd": lambda: _read_amd(host, address)
            if common["driver"] == "amdgpu" and common["state"] == "ok" else None,
        }),
        "model": name, "minor": _NOT_READ, "uuid": _NOT_READ, "gsp_firmware": _NOT_READ, "memory_mib": _NOT_READ,
        "claimed_by": _NOT_READ, "containers": [], "users": _NOT_READ,
    }


def _read_amd(host: Host, address: str) -> dict:
    """Read what amdgpu reports in a GPU's folder (Documentation/gpu/amdgpu). Only for a GPU that is awake.

    `performance_level`: power_dpm_force_performance_level (auto, low, high, manual ...); the partitions of an
    Instinct: SPX, DPX, CPX ... and NPS1, NPS4 ...; `xgmi_hive`: one number for all GPUs joined by xGMI links.
    """
    folder = f"{DEVICES}/{address}"
    return {
        "performance_level": host.read(f"{folder}/power_dpm_force_performance_level"),
        "compute_partition": host.read(f"{folder}/current_compute_partition"),
        "memory_partition": host.read(f"{folder}/current_memory_partition"),
        "xgmi_hive": host.read(f"{folder}/xgmi_hive_info/xgmi_hive_id"),
        "memory_bytes": host.read_int(f"{folder}/mem_info_vram_total"),
    }


def _read_virtualisation(host: Host, address: str, config: Reading) -> dict:
    """Read SR-IOV: a virtual function links to its physical one, which counts them (sysfs-bus-pci, sriov_numvfs)."""
    physical = known(lambda: _read_physical(host, address, config))
    return {
        "virtual_function": lambda: physical.value is not None,
        "physical_function": lambda: physical.value,
        "virtual_functions": lambda: host.read_int(f"{DEVICES}/{address}/sriov_numvfs").value or 0,
    }


def _read_physical(host: Host, address: str, config: Reading) -> Reading:
    """Read the physical function, None if this is one. A virtual function's own vendor id register is all ones (SR-IOV
    specification, 3.4.1.1): if a recording lacks the link, a device with a vendor id there is no virtual function."""
    try:
        return ok(host.link_name(f"{DEVICES}/{address}/physfn"))
    except NotRecorded:
        if config.ok:
            return ok(None)
        raise


def largest_bar(bars: list[dict]) -> int | None:
    """Return the size in bytes of the largest 64-bit prefetchable BAR, the window to GPU memory whatever its index."""
    return max((window["size"] for window in bars if window["bits"] == 64 and window["prefetchable"]), default=None)
