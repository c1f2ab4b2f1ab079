# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind `pcie_maxreadreq`: Max_Read_Request_Size of a GPU, in bytes.

It is bits 14:12 of Device Control, 16 bits in the PCI Express capability (PCI_EXP_DEVCTL_READRQ in pci_regs.h). The
next word is Device Status, whose bits a write would clear, so exactly two bytes are written.
"""
from __future__ import annotations

from typing import Any

from .._change.tunable import KERNEL_DECIDES, Kind, Refused, Tunable
from .._host.host import Host
from .._host.reading import GONE, Reading
from .._pci.address import DEVICES, find_address, kernel_address, list_addresses, parse_address, read_classes
from .._pci.capabilities import find_pcie_capability, is_gone, read_u16
from .._pci.device import read_config
from .._pci.gpus import find_gpus
from .._pci.registers import PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, with_max_read_request
from .._pci.sysfs import read_driver, read_id
from .._tunables.kinds import KINDS
from .._tunables.maxreadreq import read_config_size
from .._tunables.wanted import Wanted
from .maxreadreq_rules import Surroundings, require_allowed, require_one_version


class MaxReadRequest(Tunable):
    """The MaxReadReq of one device."""

    def __init__(self, host: Host, bdf: str, surroundings: Surroundings) -> None:
        self.host = host
        self.bdf = bdf
        self.address = f"pcie_maxreadreq:{bdf}"
        self.surroundings = surroundings
        self._config = f"{DEVICES}/{bdf}/config"
        self._identity: str | None = None       # identity of the device at the last read

    def read(self) -> Reading:
        config = read_config(self.host, self.bdf)
        self._identity = config.map(parse_identity).value
        return read_config_size(config)

    def identity(self) -> str | None:
        return self._identity

    @property
    def note(self) -> str | None:
        return self.surroundings.describe_sharing(self.bdf)

    def predict(self, now: int, target: int, peers: dict[str, Any]) -> str:
        require_allowed(self.host, self.bdf, self.surroundings)
        require_one_version(self.host, self.bdf, self.surroundings)
        return KERNEL_DECIDES

    def write(self, value: int) -> None:
        # Read everything again: a VM may have started, the GPU may be suspended or off the bus by now.
        require_allowed(self.host, self.bdf, self.surroundings.again())
        config = read_config(self.host, self.bdf)
        if not config.ok:
            raise Refused(f"{config.status}: {config.detail}")
        if parse_identity(config.value) != self._identity:
            raise Refused(f"another device: found {parse_identity(config.value)}, a moment ago {self._identity}")
        register = find_pcie_capability(config.value) + PCI_EXP_DEVCTL
        control = read_u16(self.host.read_at(self._config, register, 2), 0)
        if control is None or control & PCI_EXP_DEVCTL_BCR_FLR:
            # That bit always reads 0 on an endpoint: the device did not respond.
            raise Refused(f"{GONE}: Device Control reads {'nothing' if control is None else hex(control)}")
        self.host.write_at(self._config, register, with_max_read_request(control, value).to_bytes(2, "little"))


def parse_identity(config: bytes) -> str:
    """`10de:2bb5 10de:204e a1`: device and subsystem ids and the revision, from config space."""
    if is_gone(config):
        raise ValueError("all ones")
    words = [int.from_bytes(config[offset:offset + 2], "little") for offset in (0x00, 0x02, 0x2C, 0x2E)]
    return "{:04x}:{:04x} {:04x}:{:04x} {:02x}".format(*words, config[0x08])


class MaxReadRequestKind(Kind):
    name = "pcie_maxreadreq"

    def __init__(self, host: Host, allow_busy: bool = False) -> None:
        self.host = host
        self.surroundings = Surroundings(host, allow_busy)

    def parse(self, name: str, spec: Any) -> Wanted:
        if isinstance(name, str) and parse_address(name)[0] is None:
            fits = [one for one in list_addresses(self.host) if one.endswith(f":{name.lower()}")]
            raise ValueError(f"give the domain too, as in 0000:{name}: it fits {', '.join(fits) or 'no device'} here")
        return KINDS[self.name].parse(name, spec)

    def find(self, name: str) -> list[Tunable]:
        try:
            bdf = find_address(self.host, name)
        except LookupError as none:
            if parse_address(name)[0] is None:
                raise ValueError(str(none)) from None
            bdf = kernel_address(name)
        return [MaxReadRequest(self.host, bdf, self.surroundings)]


def select(host: Host, vendor: str | None = None, class_: str | None = None, driver: str | None = None) -> list[str]:
    """Addresses of the GPUs, or of devices whose class starts with `class_`, filtered by vendor id and driver."""
    if class_ is None:
        found = [bdf for bdf, _class in find_gpus(host)]
    else:
        found = [bdf for bdf, its in read_classes(host).items() if its.startswith(_digits(class_))]
    return [bdf for bdf in found if (vendor is None or read_id(host, bdf, "vendor") == _digits(vendor))
            and driver in (None, read_driver(host, bdf))]


def _digits(text: str) -> str:
    """`0x10DE` in the form of the facts: `10de`."""
    return text.lower().removeprefix("0x")
