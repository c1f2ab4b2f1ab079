# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What images are made from: a Debian root, a compiler with the kernel's headers, and the modules it builds."""
from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from .apt import Archive
from .releases import Release
from .settings import HERE, Unusable
from .stages import Stage, digest_of, run

MMDEBSTRAP = ("mmdebstrap", "--mode=root", '--aptopt=Acquire::Languages "none"', "--dpkgopt=force-unsafe-io")
NO_DOCUMENTATION = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
# An extracted root has no alternatives; kbuild calls awk.
COMPILER = ("base-files", "bash", "coreutils", "dash", "findutils", "grep", "make", "mawk", "perl-base", "sed")


def root_stage(release: Release, archive: Archive) -> Stage:
    """`root.tar`: the release with the packages a guest needs, and no kernel."""
    return Stage(f"root-{release.name}", [_recipe(), *archive.versions([*release.packages, "base-files"])],
                 lambda out: _root(release, out))


def modules_stage(release: Release, archive: Archive) -> Stage:
    """`modules/` and `variants/`: the test hardware for the release's kernel."""
    toolchain = Stage(f"toolchain-{release.name}", [_recipe(), *archive.versions([release.headers])],
                      lambda out: _toolchain(release, out))
    return Stage(f"modules-{release.name}", [digest_of(HERE / "modules")], _modules, [toolchain])


def _recipe() -> str:
    return digest_of(pathlib.Path(__file__), HERE / "testbed" / "releases.py")


def require_root() -> None:
    if os.geteuid() != 0:
        raise Unusable("building images needs root: they hold files of many owners.")


def _sources(release: Release, out: pathlib.Path) -> str:
    path = out / "sources.list"
    path.write_text(release.sources())
    return str(path)


def _root(release: Release, out: pathlib.Path) -> None:
    require_root()
    run([*MMDEBSTRAP, *NO_DOCUMENTATION, "--variant=minbase", f"--include={','.join(release.packages)}", release.suite,
         str(out / "root.tar"), _sources(release, out)], out / "log")


def _toolchain(release: Release, out: pathlib.Path) -> None:
    """The compiler of the release and the kernel's headers: unpacked, never configured."""
    require_root()
    run([*MMDEBSTRAP, "--variant=extract", f"--include={','.join((release.headers, *COMPILER))}", release.suite,
         str(out / "root"), _sources(release, out)], out / "log")
    (out / "root/usr/bin/awk").symlink_to("mawk")


def _modules(out: pathlib.Path, toolchain: pathlib.Path) -> None:
    root = toolchain / "root"
    headers = next(root.glob("usr/src/linux-headers-*-cloud-amd64"))
    with tempfile.TemporaryDirectory(dir=root / "tmp") as work:
        shutil.copytree(HERE / "modules", f"{work}/source")
        inside = f"/tmp/{os.path.basename(work)}"
        run(["chroot", str(root), "sh", f"{inside}/source/build.sh", f"/{headers.relative_to(root)}", inside],
            out / "log")
        for name in ("modules", "variants"):
            shutil.move(f"{work}/{name}", out / name)
