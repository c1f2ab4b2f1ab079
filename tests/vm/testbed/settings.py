# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things lie and what this machine must have."""
from __future__ import annotations

import os
import pathlib
import re
import shutil

HERE = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("GPUHOST_VM_CACHE") or pathlib.Path.home() / ".cache" / "gpuhost-vm")
RUNNING = REPOSITORY / ".cache" / "vm"      # of this checkout alone, git ignores it
CRASHED = RUNNING / "crashed"       # is there after tests in which the kernel of a guest crashed
PROGRAMS = ("apt-get", "dpkg-deb", "mkfs.ext4", "mmdebstrap", "qemu-system-x86_64", "ssh", "ssh-keygen", "tar")


class Unusable(Exception):
    """This machine cannot do what was asked; the text says what to do about it."""


def find_program(name: str) -> str | None:
    """The path of a program; `sbin` is searched even where a user's PATH leaves it out."""
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")))


def host_packages() -> list[str]:
    """Debian packages that this machine needs to build and boot the guests: those of profile vm in bindep.txt."""
    return re.findall(r"^(\S+) \[platform:dpkg .*\bvm\]$", (REPOSITORY / "bindep.txt").read_text(), re.MULTILINE)


def require_programs() -> None:
    missing = [name for name in PROGRAMS if not find_program(name)]
    if missing:
        raise Unusable(f"missing here: {', '.join(missing)}. Install with:\n"
                       f"  apt-get install -y --no-install-recommends {' '.join(host_packages())}")
