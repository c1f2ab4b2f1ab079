# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guest images: a Debian root, the kernel's few modules that a guest needs, the test hardware; one ext4 file."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile

from .apt import Archive
from .releases import Release
from .roots import modules_stage, require_root, root_stage
from .settings import CACHE, HERE, find_program
from .stages import Stage, digest_of, run

# Of the kernel's own modules: the network card, and governors beside the built-in ones.
KERNEL_MODULES = ("kernel/drivers/virtio", "kernel/drivers/net/virtio_net", "kernel/drivers/net/net_failover",
                  "kernel/net/core/failover", "kernel/drivers/cpufreq")
GUEST_PROGRAMS = {"init.sh": "usr/sbin/vm-init", "network.sh": "usr/sbin/vm-network", "probe.sh": "usr/sbin/vm-probe",
                  "testhw.sh": "usr/local/sbin/testhw", "container.sh": "usr/local/sbin/container"}
IMAGE_BYTES = 1 << 30


def image_stage(release: Release, archive: Archive) -> Stage:
    """`vmlinuz` and `root.ext4` of a release, from what its archive offers now."""
    return Stage(f"image-{release.name}",
                 [digest_of(pathlib.Path(__file__), HERE / "guest"), ssh_key().read_text(),
                  *archive.versions([release.kernel])],
                 lambda out, root, modules: _image(release, archive, out, root, modules),
                 [root_stage(release, archive), modules_stage(release, archive)])


def ssh_key() -> pathlib.Path:
    """The public key that opens every guest; the private one lies beside it."""
    key = CACHE / "id_ed25519"
    if not key.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gpuhost test guests", "-f", str(key)],
                       check=True)
    return key.with_suffix(".pub")


def _image(release: Release, archive: Archive, out: pathlib.Path, root: pathlib.Path, modules: pathlib.Path) -> None:
    require_root()
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        tree, kernel = pathlib.Path(work, "tree"), pathlib.Path(work, "kernel")
        tree.mkdir()
        run(["tar", "-C", str(tree), "--numeric-owner", "--exclude=./dev/*", "-xf", str(root / "root.tar")],
            out / "log")
        package = archive.download(release.kernel, pathlib.Path(work))
        run(["dpkg-deb", "-x", str(package), str(kernel)], out / "log")
        image = next((kernel / "boot").glob("vmlinuz-*"))
        shutil.copy(image, out / "vmlinuz")
        for path in (image, next((kernel / "boot").glob("config-*"))):
            shutil.copy(path, tree / "boot")
        _install_modules(tree, kernel, image.name.partition("-")[2], modules, out / "log")
        _install_guest_files(tree)
        _make_filesystem(tree, out)


def _install_modules(tree: pathlib.Path, kernel: pathlib.Path, version: str, modules: pathlib.Path,
                     log: pathlib.Path) -> None:
    source = next(path for path in (kernel / "usr/lib/modules" / version, kernel / "lib/modules" / version)
                  if path.is_dir())
    target = tree / "usr/lib/modules" / version
    target.mkdir(parents=True)
    for path in source.glob("modules.*"):
        shutil.copy(path, target)
    for start in KERNEL_MODULES:
        for path in source.glob(f"{start}*"):
            into = target / path.relative_to(source)
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(path, into) if path.is_dir() else shutil.copy(path, into)
    shutil.copytree(modules / "modules", target / "testhw")
    shutil.copytree(modules / "variants", tree / "usr/lib/testhw")
    shutil.copy(modules / "variants/nvidia_peermem-stub/nvidia_peermem.ko", target / "testhw")
    run(["chroot", str(tree), "depmod", version], log)


def _install_guest_files(tree: pathlib.Path) -> None:
    for name, place in GUEST_PROGRAMS.items():
        shutil.copy(HERE / "guest" / name, tree / place)
        (tree / place).chmod(0o755)
    shutil.copy(HERE / "guest/sshd.conf", tree / "etc/ssh/sshd_config")
    units = tree / "etc/systemd/system"
    for path in (HERE / "guest").glob("*.service"):
        shutil.copy(path, units)
    for name, text in {"multi-user.target.wants/vm-network.service": "../vm-network.service",
                       "default.target": "/usr/lib/systemd/system/multi-user.target",
                       **dict.fromkeys(masked_units(), "/dev/null")}.items():
        (units / name).parent.mkdir(exist_ok=True)
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to(text)
    keys = tree / "root/.ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(ssh_key(), keys / "authorized_keys")
    (tree / "etc/fstab").write_text("")
    for name in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(tree / name, ignore_errors=True)


def masked_units() -> list[str]:
    lines = (HERE / "guest/masked-units").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _make_filesystem(tree: pathlib.Path, out: pathlib.Path) -> None:
    image = out / "root.ext4"
    with open(image, "wb") as file:
        file.truncate(IMAGE_BYTES)
    run([find_program("mkfs.ext4") or "mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-d", str(tree), str(image)],
        out / "log")
