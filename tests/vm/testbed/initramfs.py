# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An initramfs by Debian's initramfs-tools that binds the test GPUs to their driver before the root is mounted.

Guests boot without one otherwise. Modules named in /etc/initramfs-tools/modules are loaded early on real hosts too.
"""
from __future__ import annotations

import pathlib
import subprocess
import tempfile

from .apt import Archive
from .releases import RELEASES, Release
from .roots import require_root
from .settings import CACHE, find_program
from .stages import Stage, digest_of, run

PACKAGE = "initramfs-tools"
MODULES = ("testhw_pci", "nvidia")
CONFIGURATION = "MODULES=list\nCOMPRESS=gzip\n"     # only MODULES; gzip is in every root
# The last script of the initramfs. /run is handed to the real root, so a test can read what was bound until then.
BOUND = "/run/bound-in-initramfs"
TELL_BOUND = f"""#!/bin/sh
[ "$1" = prereqs ] && exit
for device in /sys/bus/pci/drivers/nvidia/0*; do echo "${{device##*/}}"; done > {BOUND}
"""


def make_initramfs(release: str, image: pathlib.Path) -> pathlib.Path:
    """The file for the kernel of `image`, the image folder of the release; made unless it is in the cache."""
    archive = Archive(RELEASES[release])
    archive.update()
    stage = Stage(f"initramfs-{release}", [digest_of(pathlib.Path(__file__)), image.name, *archive.versions([PACKAGE])],
                  lambda out: _make(RELEASES[release], image, out))
    return stage.build() / "initrd"


def _make(release: Release, image: pathlib.Path, out: pathlib.Path) -> None:
    """Unpacks the image and the packages that initramfs-tools needs there, and runs mkinitramfs in them."""
    require_root()
    log = out / "log"
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        tree, packages = pathlib.Path(work, "tree"), pathlib.Path(work, "packages")
        tree.mkdir()
        run([find_program("debugfs") or "debugfs", "-R", f"rdump / {tree}", str(image / "root.ext4")], log)
        status = (tree / "var/lib/dpkg/status").read_text()
        for package in Archive(release).download_with_dependencies([PACKAGE], status, packages):
            _unpack(package, tree)
        settings = tree / "etc/initramfs-tools"
        (settings / "initramfs.conf").write_text(CONFIGURATION)
        (settings / "modules").write_text("\n".join(MODULES) + "\n")
        script = settings / "scripts/init-bottom/tell-bound"
        script.write_text(TELL_BOUND)
        script.chmod(0o755)
        version = next((tree / "usr/lib/modules").iterdir()).name
        run(["chroot", str(tree), "mkinitramfs", "-o", "/initrd", version], log)
        (tree / "initrd").rename(out / "initrd")


def _unpack(package: pathlib.Path, tree: pathlib.Path) -> None:
    """As `dpkg-deb -x`, which would replace the link /lib by a folder where the package has one of that name."""
    files = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-C", str(tree), "--keep-directory-symlink", "-x"], check=True, input=files)
