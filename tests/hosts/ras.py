# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory controllers of a planted host, as shown by EDAC drivers."""
from __future__ import annotations

from .tree import Tree

CONTROLLERS = "/sys/devices/system/edac/mc"


def plant_controllers(tree: Tree, count: int = 2, *, name: str = "F1A_M00h", seconds: int = 10 * 86400) -> None:
    """Controllers with twelve modules each and without any errors."""
    for number in range(count):
        folder = f"{CONTROLLERS}/mc{number}"
        tree.files(folder, {"mc_name": name, "size_mb": 786432, "ce_count": 0, "ue_count": 0, "ce_noinfo_count": 0,
                            "seconds_since_reset": seconds, "reset_counters": ""})
        for module in range(12):
            tree.files(f"{folder}/dimm{module}", {"dimm_label": f"CPU{number}_DIMM_{chr(65 + module)}1",
                                                  "dimm_ce_count": 0, "dimm_ue_count": 0, "size": 65536})


def count_errors(tree: Tree, controller: int, module: int | None, *, correctable: int = 0,
                 uncorrectable: int = 0) -> None:
    """The errors counted by a controller, and the module if it is known."""
    folder = f"{CONTROLLERS}/mc{controller}"
    tree.files(folder, {"ce_count": correctable, "ue_count": uncorrectable})
    if module is not None:
        tree.files(f"{folder}/dimm{module}", {"dimm_ce_count": correctable, "dimm_ue_count": uncorrectable})
