# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several guests at once: their images, their start and end, their inventory."""
from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import re

from .apt import Archive
from .guest import SSH_OPTIONS, Guest, known_guests
from .image import image_stage, ssh_key
from .initramfs import make_initramfs
from .qemu import choose_accelerator
from .releases import RELEASES
from .settings import CACHE, HERE, RUNNING, Unusable, require_programs
from .stages import digest_of

INVENTORY = RUNNING / "inventory.json"

guests = known_guests


def build(releases: list[str]) -> dict[str, pathlib.Path]:
    """The image folders of the releases, built where the cache has none of today's packages and scripts."""
    names = releases or list(RELEASES)
    for name in names:
        if name not in RELEASES:
            raise Unusable(f"{name} is no release; known: {', '.join(RELEASES)}")
    ssh_key()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(_build_one, names)))


def require_images(releases: list[str]) -> None:
    """Raises Unusable unless guests of these releases can be booted here, or their images built."""
    require_programs()
    missing = [name for name in releases or RELEASES if not _last_built(name)]
    if missing and os.geteuid() != 0:
        raise Unusable(f"no image of {', '.join(missing)} in {CACHE}, and building needs root:\n"
                       "  sudo python3 tests/vm/vm.py build")


def _scripts() -> str:
    return digest_of(HERE / "testbed", HERE / "guest", HERE / "modules")


def _build_one(name: str) -> pathlib.Path:
    archive = Archive(RELEASES[name])
    archive.update()
    folder = image_stage(RELEASES[name], archive).build()
    (CACHE / f"{name}.json").write_text(json.dumps({"image": folder.name, "scripts": _scripts()}))
    return folder


def images(names: list[str]) -> dict[str, pathlib.Path]:
    """The images last built from these scripts, else new ones. Only `build` asks the archive for newer packages."""
    found = {name: folder for name in names if (folder := _last_built(name))}
    missing = [name for name in names if name not in found]
    return {**found, **(build(missing) if missing else {})}


def _last_built(name: str) -> pathlib.Path | None:
    try:
        last = json.loads((CACHE / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    folder = CACHE / last["image"]
    return folder if last["scripts"] == _scripts() and folder.is_dir() else None


def up(wanted: list[str], append: str = "", virtual: bool = False, systemd: bool = False) -> list[Guest]:
    """Boots the guests of `RELEASE` and `RELEASE:COUNT` that do not run yet, and writes the inventory."""
    started = boot(dict(pair for text in wanted or list(RELEASES) for pair in _names(text)), append, virtual, systemd)
    INVENTORY.write_text(inventory())
    return started


def boot(names: dict[str, str], append: str = "", virtual: bool = False, systemd: bool = False,
         initramfs: bool = False) -> list[Guest]:
    """Guests by name and release: started together where they do not run yet, and waited for."""
    built = images(sorted(set(names.values())))
    early = {release: make_initramfs(release, image) for release, image in built.items()} if initramfs else {}
    started = []
    for name, release in names.items():
        guest = Guest(name)
        if not guest.running:
            guest.start(release, built[release], choose_accelerator(built[release]), append, virtual, systemd,
                        early.get(release))
        started.append(guest)
    for guest in started:
        guest.wait()
    return started


def _names(text: str) -> list[tuple[str, str]]:
    """`debian13:2` as [("debian13", "debian13"), ("debian13-2", "debian13")]."""
    parts = re.fullmatch(r"([a-z0-9]+)(?::([1-9]\d*))?", text)
    if parts is None or parts.group(1) not in RELEASES:
        raise Unusable(f"{text} is not RELEASE or RELEASE:COUNT; releases: {', '.join(RELEASES)}")
    release, count = parts.group(1), int(parts.group(2) or 1)
    return [(release if number == 1 else f"{release}-{number}", release) for number in range(1, count + 1)]


def down(names: list[str]) -> None:
    for guest in known_guests():
        if not names or guest.name in names:
            guest.stop()
            print(f"{guest.name}: stopped")
    INVENTORY.unlink(missing_ok=True)


def running(name: str) -> Guest:
    guest = Guest(name)
    if not guest.running:
        raise Unusable(f"{name} does not run; started from this checkout: "
                       f"{', '.join(found.name for found in known_guests()) or 'none'}")
    return guest


def inventory() -> str:
    """An Ansible inventory, JSON: the group `guests`, and in it one group a Debian suite."""
    suites: dict[str, dict] = {}
    for guest in known_guests():
        if guest.running:
            suite = RELEASES[guest.record["release"]].suite
            suites.setdefault(suite, {"hosts": {}})["hosts"][guest.name] = variables(guest)
    return json.dumps({"all": {"children": {"guests": {"children": suites}}}}, indent=2)


def variables(guest: Guest) -> dict[str, object]:
    """How Ansible reaches a guest."""
    return {
        "ansible_connection": "ssh",
        "ansible_host": "127.0.0.1",
        "ansible_port": guest.record["port"],
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(ssh_key().with_suffix("")),
        "ansible_ssh_common_args": " ".join(SSH_OPTIONS),
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_pipelining": True,     # without it every task is another file transfer
    }
