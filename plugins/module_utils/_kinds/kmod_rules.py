# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which modules may be loaded and unloaded, and what changing the others would cause."""
from __future__ import annotations

from .._host.host import Host
from .._kernel.device_majors import read_majors
from .._pve import guests

HELPERS = frozenset(("nvidia_peermem", "gdrdrv", "nvidia_fs"))     # loaded and unloaded
LOADABLE = frozenset(("nvidia_uvm",))                               # loaded only
CORE = frozenset(("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"))


def forbidden(host: Host, name: str, load: bool) -> str | None:
    """Why a module must not be loaded or unloaded; None if it may."""
    if name in HELPERS or (load and name in LOADABLE):
        return None
    if name not in CORE:
        return f"only {', '.join(sorted(HELPERS | LOADABLE))} are loaded, and {', '.join(sorted(HELPERS))} unloaded"
    return f"{name} is the driver itself, which is {'not loaded' if load else 'not unloaded'}: {_consequences(host)}"


def _consequences(host: Host) -> str:
    """What reloading the driver affects: device numbers, which may change, and the containers that use them."""
    majors = [f"{entry['name']} {entry['major']}" for entry in read_majors(host).value or []
              if entry["name"].startswith("nvidia")]
    containers = [container["id"] for container in guests.read(host)["containers"].value or []
                  if container["gpu_devices"] and not container["template"]]
    return ("device numbers may change (" + (", ".join(majors) or "none is registered now") + "), and "
            + (f"used by containers {', '.join(containers)}" if containers else "used by no container"))
