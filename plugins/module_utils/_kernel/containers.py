# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Find the container of a process from its control group and from the records of the container manager.

Any user may create control groups of any name below one of their own. So a name counts only where only root can create
it, and an LXC container's name only if Proxmox VE, LXC, Incus or LXD have a record of it.
Sources: lxc.cgroup.dir.container in `man lxc.container.conf`; `man 5 systemd.slice` for the slices of users.
"""
from __future__ import annotations

import re

from .._host.host import Host

_OF_A_USER = re.compile(r"user\.slice|user-\d+\.slice|user@\d+\.service")
_LXC = "lxc"                        # Proxmox VE: /lxc/<id>
_PAYLOAD = "lxc.payload"            # LXC, Incus and LXD: /lxc.payload.<name>, in older versions /lxc.payload/<name>
# Docker, Podman, containerd, CRI-O; `docker ps` prints the first 12 digits.
_HEXADECIMAL = re.compile(r"(?:.*-)?([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?")
_SHORT = re.compile(r"[0-9a-f]{12}")
_RECORDS = ("/etc/pve/lxc/{}.conf", "/etc/pve/local/lxc/{}.conf", "/var/lib/lxc/{}/config",
            "/var/lib/incus/containers/{}", "/var/lib/lxd/containers/{}",
            "/var/snap/lxd/common/lxd/containers/{}")


def parse_container(text: str) -> str | None:
    """Return the container in /proc/<pid>/cgroup: an LXC name, or 12 digits of an id (Docker and others), or None.

    A nested container is reported as the outer one.
    """
    found = (_of_path(line.split(":", 2)[-1]) for line in text.splitlines())
    return next((name for name in found if name is not None), None)


def _of_path(path: str) -> str | None:
    parts = path.strip().strip("/").split("/")
    if parts[0] in (_LXC, _PAYLOAD) and len(parts) > 1:
        return parts[1]
    if parts[0].startswith(f"{_PAYLOAD}."):
        return parts[0][len(_PAYLOAD) + 1:] or None
    for part in parts:
        if _OF_A_USER.fullmatch(part):
            return None
        found = _HEXADECIMAL.fullmatch(part)
        if found is not None:
            return found[1]
    return None


def own_group(path: str) -> tuple[str, str] | None:
    """Return name and path of the unit or container of a control group, counting only those that only root can create.

    `/system.slice/vllm.service/worker` belongs to `vllm.service`, `.../docker-<id>.scope/init` to the container; None
    if the path has neither.
    """
    parts = path.strip().strip("/").split("/")
    for place, part in enumerate(parts):
        found = _HEXADECIMAL.fullmatch(part)
        if found is not None or part.endswith((".service", ".scope")):
            return found[1] if found else part, "/" + "/".join(parts[:place + 1])
    return None


def container_of(host: Host, cgroup: str) -> str | None:
    """Return the container that parse_container() finds, if it is a real one."""
    name = parse_container(cgroup)
    return name if name is not None and (_SHORT.fullmatch(name) or is_recorded(host, name)) else None


def is_recorded(host: Host, name: str) -> bool:
    """Whether a manager of LXC containers has a container of this name."""
    return name not in (".", "..") and any(host.exists(path.format(name)) for path in _RECORDS)
