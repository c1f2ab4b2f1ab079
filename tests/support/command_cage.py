# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the commands of a report on a planted host, in separate namespaces.

The tree's sys and proc/sys are mounted over the machine's, everything else is read-only, there is no network, and PATH
has a shell, coreutils, the installed programs of REAL, and stubs for those in STUBS. Programs of REAL and STUBS first
record their arguments.
"""
from __future__ import annotations

import functools
import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

COREUTILS = ("cat", "echo", "printf", "seq", "test", "true", "false", "sleep", "head", "tail", "cut", "tr", "sort")
# They use /sys and /proc/sys, which are the tree's.
REAL = ("sysctl", "setpci")
STUBS = ("modprobe", "rmmod")
NOTES = 9       # the file descriptor for recording arguments

_NOTE = "#!/bin/sh\nfor word in {name} \"$@\"; do printf '%s ' \"$word\" >&9; done; echo >&9\n"
_ENTER = """
mount --bind "$1/proc/sys" /proc/sys
mount --bind "$1/sys" /sys
while read -r _id _parent _device _root target _rest; do
    case $target in
        /sys | /sys/* | /proc/sys) ;;
        *) mount -o remount,bind,ro "$target" ;;
    esac
done < /proc/self/mountinfo
cd /
PATH=$2 exec sh -u "$3"
"""


class Ran(NamedTuple):
    code: int
    errors: str
    noted: list[str]        # a line for each program outside coreutils, `setpci -s 0000:01:00.0 ...`


def can_enter() -> bool:
    """Whether this user may create namespaces and mount in them."""
    return subprocess.run(["unshare", "--mount", "--net", "true"], check=False, capture_output=True).returncode == 0


class Cage:
    """Runs commands on the planted host at `root`; `folder` is for the cage's own files."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path) -> None:
        self.root, self.folder = root, folder
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        for name in ("sh", *COREUTILS):
            (self.programs / name).symlink_to(shutil.which(name))
        for name in (*REAL, *STUBS):
            found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") if name in REAL else None
            (self.programs / name).write_text(_NOTE.format(name=name) + (f'exec {found} "$@"\n' if found else ""))
            (self.programs / name).chmod(0o755)

    def run(self, script: str) -> Ran:
        """Run `script` with sh, for at most a minute."""
        (self.folder / "script").write_text(script)
        reading, writing = os.pipe()
        try:
            done = subprocess.run(
                ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-eu", "-c", _ENTER, "enter",
                 str(self.root), str(self.programs), str(self.folder / "script")],
                check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                pass_fds=(writing, NOTES), preexec_fn=functools.partial(os.dup2, writing, NOTES))
        finally:
            os.close(writing)
            with os.fdopen(reading) as notes:
                noted = [line.strip() for line in notes]
        return Ran(done.returncode, done.stderr, noted)
