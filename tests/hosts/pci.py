# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI devices of a planted host: /sys/devices/pci*, the links to them, their IOMMU groups and interrupts.

Devices are planted from the root port down: each names its parent by address.
"""
from __future__ import annotations

import os
from collections.abc import Iterable

from .config_space import (
    DOWNSTREAM_PORT,
    UPSTREAM_PORT,
    ConfigSpace,
    gpu_space,
    root_port_space,
    switch_port_space,
)
from .memory import choice
from .tree import Tree

DEVICES = "/sys/bus/pci/devices"
GIB = 1 << 30

# The BARs of a 2bb5 on a real host: (index, start, size, bits, prefetchable)
GPU_BARS = (
    (0, 0x7B0_0000_0000, 64 << 20, 64, True),
    (2, 0x760_0000_0000, 128 * GIB, 64, True),
    (4, 0x7B0_6400_0000, 32 << 20, 64, True),
)

AER_NAMES = {
    "correctable": ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"),
    "nonfatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP"),
    "fatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP"),
}
AER_TOTALS = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}


def device_path(tree: Tree, address: str) -> str:
    """The folder below /sys/devices of a planted device."""
    link = os.readlink(tree.path(f"{DEVICES}/{address}"))
    return os.path.normpath(f"{DEVICES}/{link}")


def _relative(tree: Tree, path: str, target: str) -> None:
    tree.link(path, os.path.relpath(target, os.path.dirname(path)))


def plant_device(
    tree: Tree,
    address: str,
    *,
    parent: str | None = None,
    vendor: int = 0x10DE,
    device: int = 0x2BB5,
    class_: int = 0x030200,
    revision: int = 0xA1,
    subsystem: tuple[int, int] = (0x10DE, 0x204E),
    config: ConfigSpace | bytes | None = None,
    driver: str | None = None,
    numa_node: int = 0,
    local_cpulist: str = "0-63",
    bars: Iterable[tuple[int, int, int, int, bool]] = (),
    interrupts: dict[int, str] | None = None,
    iommu_group: int | None = None,
    iommu_type: str = "identity",
    runtime_status: str = "active",
    power_state: str = "D0",
    power_control: str = "on",
    aer: dict[str, dict[str, int]] | None = None,
    physical_function: str | None = None,
    virtual_functions: int | None = None,
) -> str:
    """Plant one function and return its address.

    `config`: by default only the IDs. `interrupts`: `{irq: CPUs as a list}`, message signalled, on the device's node.
    `aer`: `{"correctable": {"BadTLP": 3}}`, `{}` for counters that are all zero, None for a device without them.
    A `parent` must have been planted; without one the device is on a root bus.
    """
    domain_and_bus = address.rsplit(":", 1)[0]
    folder = f"{device_path(tree, parent)}/{address}" if parent else f"/sys/devices/pci{domain_and_bus}/{address}"
    _relative(tree, f"{DEVICES}/{address}", folder)
    if config is None:
        config = ConfigSpace(vendor, device, class_, revision=revision, subsystem=subsystem)
    tree.files(folder, {
        "vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{class_:06x}",
        "revision": f"0x{revision:02x}", "subsystem_vendor": f"0x{subsystem[0]:04x}",
        "subsystem_device": f"0x{subsystem[1]:04x}", "numa_node": numa_node, "local_cpulist": local_cpulist,
        "power_state": power_state, "power/runtime_status": runtime_status, "power/control": power_control,
        "resource": _resource(bars), "irq": min(interrupts or {0: ""}),
        "config": config.bytes() if isinstance(config, ConfigSpace) else config,
    })
    _relative(tree, f"{folder}/subsystem", "/sys/bus/pci")
    if driver:
        bind(tree, address, driver)
    if iommu_group is not None:
        _plant_iommu_group(tree, address, folder, iommu_group, iommu_type)
    for irq, cpus in (interrupts or {}).items():
        tree.file(f"{folder}/msi_irqs/{irq}", "msi")
        tree.files(f"/proc/irq/{irq}", {"smp_affinity_list": cpus, "effective_affinity_list": cpus, "node": numa_node})
    if aer is not None:
        plant_aer(tree, address, aer)
    if physical_function:
        _relative(tree, f"{folder}/physfn", device_path(tree, physical_function))
    if virtual_functions is not None:
        tree.files(folder, {"sriov_totalvfs": 16, "sriov_numvfs": virtual_functions})
    return address


def _resource(bars: Iterable[tuple[int, int, int, int, bool]]) -> str:
    """The `resource` file: a line `start end flags` for each of six BARs and the ROM (include/linux/ioport.h)."""
    lines = ["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 7
    for index, start, size, bits, prefetchable in bars:
        flags = 0x00040200 | (0x00100004 if bits == 64 else 0) | (0x2008 if prefetchable else 0)
        lines[index] = f"0x{start:016x} 0x{start + size - 1:016x} 0x{flags:016x}"
    return "\n".join(lines)


def _plant_iommu_group(tree: Tree, address: str, folder: str, group: int, kind: str) -> None:
    group_folder = f"/sys/kernel/iommu_groups/{group}"
    tree.files(group_folder, {"type": kind, "reserved_regions": "0x00000000fee00000 0x00000000feefffff msi"})
    _relative(tree, f"{group_folder}/devices/{address}", folder)
    _relative(tree, f"{folder}/iommu_group", group_folder)


def bind(tree: Tree, address: str, driver: str | None) -> None:
    """Bind a planted device to `driver`, or to none."""
    folder = device_path(tree, address)
    link = tree.path(f"{folder}/driver")
    if link.is_symlink():
        tree.remove(f"/sys/bus/pci/drivers/{os.path.basename(os.readlink(link))}/{address}")
        link.unlink()
    if driver:
        _relative(tree, f"{folder}/driver", f"/sys/bus/pci/drivers/{driver}")
        _relative(tree, f"/sys/bus/pci/drivers/{driver}/{address}", folder)


def plant_aer(tree: Tree, address: str, counts: dict[str, dict[str, int]]) -> None:
    """The counters of a planted device; `counts` as in plant_device()."""
    for severity, names in AER_NAMES.items():
        given = counts.get(severity, {})
        lines = [f"{name} {given.get(name, 0)}" for name in names] + [f"{AER_TOTALS[severity]} {sum(given.values())}"]
        tree.file(f"{device_path(tree, address)}/aer_dev_{severity}", "\n".join(lines))


def write_config(tree: Tree, address: str, config: ConfigSpace | bytes) -> None:
    """Replace the configuration space of a planted device."""
    tree.file(f"{DEVICES}/{address}/config", config.bytes() if isinstance(config, ConfigSpace) else config)


def plant_aspm_policy(tree: Tree, policy: str = "default") -> None:
    tree.file("/sys/module/pcie_aspm/parameters/policy",
              choice("default performance powersave powersupersave", policy) + " ")


def suspend(tree: Tree, address: str, power_state: str = "D3cold") -> None:
    """Suspend a planted device: its configuration space must not be read."""
    tree.files(device_path(tree, address),
               {"power/runtime_status": "suspended", "power_state": power_state, "power/control": "auto"})


# -- what hosts are made of -----------------------------------------------------------------------------------


def plant_root_port(tree: Tree, address: str, *, vendor: int = 0x1022, device: int = 0x153E,
                    acs: int | None = 0x0011, express: dict | None = None, **fields: object) -> str:
    """A root port (AMD's by default) bound to pcieport, its counters zero.

    `express` goes to ConfigSpace.express(), `acs` is the ACS control register (None: no ACS), every other keyword
    goes to plant_device().
    """
    config = root_port_space(vendor=vendor, device=device, acs=acs, **(express or {}))
    return _plant_port(tree, address, vendor, device, config, fields)


def plant_switch(tree: Tree, upstream: str, downstream: Iterable[str], *, parent: str, vendor: int = 0x1000,
                 device: int = 0xC030, acs: int | None = 0x0011, express: dict | None = None,
                 **fields: object) -> list[str]:
    """A switch (Broadcom PEX890xx by default) below `parent`; returns the addresses of its downstream ports.

    `acs` belongs to the downstream ports, `express` and the other keywords to all of its ports.
    """
    registers = {"vendor": vendor, "device": device, "acs": acs, **(express or {})}
    _plant_port(tree, upstream, vendor, device, switch_port_space(UPSTREAM_PORT, **registers),
                {"parent": parent, **fields})
    return [_plant_port(tree, address, vendor, device, switch_port_space(DOWNSTREAM_PORT, **registers),
                        {"parent": upstream, **fields}) for address in downstream]


def _plant_port(tree: Tree, address: str, vendor: int, device: int, config: ConfigSpace, fields: dict) -> str:
    return plant_device(tree, address, **{
        "vendor": vendor, "device": device, "class_": 0x060400, "revision": 0, "subsystem": (0, 0),
        "config": config, "driver": "pcieport", "aer": {}, **fields})


def plant_gpu(tree: Tree, address: str, *, parent: str | None, express: dict | None = None,
              config: ConfigSpace | bytes | None = None, **fields: object) -> str:
    """An RTX PRO 6000 Blackwell Server Edition (10de:2bb5) at idle, bound to nvidia.

    `express` goes to ConfigSpace.express(), every other keyword to plant_device().
    """
    return plant_device(tree, address, **{
        "parent": parent, "config": config if config is not None else gpu_space(**(express or {})),
        "driver": "nvidia", "bars": GPU_BARS, "aer": {}, **fields})


def plant_bmc_display(tree: Tree, address: str, *, parent: str | None = None) -> str:
    """The ASPEED display of a server's BMC, a conventional PCI device that is not a GPU."""
    return plant_device(tree, address, parent=parent, vendor=0x1A03, device=0x2000, class_=0x030000, revision=0x52,
                        subsystem=(0x1043, 0x86D3), driver="ast",
                        bars=[(0, 0xB000_0000, 64 << 20, 32, False)],
                        config=ConfigSpace(0x1A03, 0x2000, 0x030000, size=256).power_management(0x40))
