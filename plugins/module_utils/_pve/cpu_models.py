# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Custom CPU models of a cluster: /etc/pve/virtual-guest/cpu-models.conf (`man cpu-models.conf`).

A VM refers to one as `cpu: custom-NAME` (PVE/QemuServer/CPUConfig.pm, get_custom_model()).
"""
from __future__ import annotations

from typing import NamedTuple

from .._host.host import Host
from .._host.reading import ABSENT
from .section_config import parse_section_config

PATH = "/etc/pve/virtual-guest/cpu-models.conf"


class CpuModel(NamedTuple):
    """A custom CPU model."""

    reported: str | None        # the QEMU model that it is based on; None: the default
    flags: tuple[str, ...]      # +avx, -pcid


def parse_models(text: str) -> dict[str, CpuModel]:
    """The models by name."""
    return {name: CpuModel(settings.get("reported-model"),
                           tuple(flag for flag in settings.get("flags", "").split(";") if flag))
            for kind, name, settings in parse_section_config(text) if kind == "cpu-model"}


def read_models(host: Host) -> dict[str, CpuModel] | None:
    """The models of this host by name; None if the file cannot be read."""
    models = host.read(PATH).map(parse_models)
    return {} if models.status == ABSENT else models.value
