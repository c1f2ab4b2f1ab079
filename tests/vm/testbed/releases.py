# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian releases that guests run, and where their packages come from."""
from __future__ import annotations

import os
from typing import NamedTuple

MIRROR = os.environ.get("GPUHOST_VM_MIRROR") or "http://deb.debian.org/debian"
SECURITY_MIRROR = os.environ.get("GPUHOST_VM_SECURITY_MIRROR") or "http://deb.debian.org/debian-security"

USERLAND = ("iproute2", "kmod", "openssh-server", "pciutils", "procps", "python3", "systemd", "udev")


class Release(NamedTuple):
    """A Debian release that guests run. Its kernel is the cloud build: it mounts an ext4 root on NVMe unaided."""

    name: str
    suite: str
    packages: tuple[str, ...] = USERLAND
    kernel: str = "linux-image-cloud-amd64"
    headers: str = "linux-headers-cloud-amd64"

    def sources(self) -> str:
        """apt sources of the release."""
        return (f"deb {MIRROR} {self.suite} main\n"
                f"deb {MIRROR} {self.suite}-updates main\n"
                f"deb {SECURITY_MIRROR} {self.suite}-security main\n")


RELEASES = {
    "debian12": Release("debian12", "bookworm"),
    "debian13": Release("debian13", "trixie", (*USERLAND, "busybox-static", "lxc")),
}
