# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Registration state of a GPU with its NVSwitches, from <fabric> of `nvidia-smi -q -x` (since driver 535)."""
from __future__ import annotations

from xml.etree import ElementTree

_UNSUPPORTED = ("", "N/A", "Not Supported")
# Values of <health> that mean no problem.
_HEALTHY = ("healthy", "full", "false", "no", "none", "n/a", "not supported", "")
_NO_TROUBLE = ("partition_assigned",)       # true on a healthy GPU


def read_registration(gpu: ElementTree.Element) -> dict:
    """`{fabric_state, fabric_status, fabric_health}`, each None for a GPU without a fabric.

    The state is Not Started, In Progress or Completed; the status is Success or an NVML error ("Unknown Error" is one
    too); health lists the unhealthy items.
    """
    health = gpu.find("fabric/health")
    return {
        "fabric_state": _text_at(gpu, "fabric/state"), "fabric_status": _text_at(gpu, "fabric/status"),
        "fabric_health": None if health is None else [
            f"{element.tag.replace('_', ' ')}: {(element.text or '').strip()}" for element in health
            if (element.text or "").strip().lower() not in _HEALTHY and element.tag not in _NO_TROUBLE],
    }


def _text_at(gpu: ElementTree.Element, path: str) -> str | None:
    text = (gpu.findtext(path) or "").strip()
    return None if text in _UNSUPPORTED else text
