# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Parser of the format of most of Proxmox VE's cluster-wide settings (PVE::SectionConfig)."""
from __future__ import annotations


def parse_section_config(text: str) -> list[tuple[str, str, dict[str, str]]]:
    """`ct: 101` and the indented settings below it as `("ct", "101", {setting: value})`."""
    found: list[tuple[str, str, dict[str, str]]] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            key, _blank, value = line.strip().partition(" ")
            if found:
                found[-1][2][key] = value.strip()
        else:
            kind, colon, name = line.partition(":")
            if colon:
                found.append((kind.strip(), name.strip(), {}))
    return found
