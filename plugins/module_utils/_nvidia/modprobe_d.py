# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""modprobe.d settings of NVIDIA's modules, when they were modified, and whether the initramfs can contain them.

Sources: man 5 modprobe.d; man 8 update-initramfs, mkinitramfs and dracut, which copy modprobe.d into the initramfs.
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, DENIED, Reading, known, ok, settle
from .._kernel.drop_ins import find_drop_ins
from .._kernel.modules import canonical_name

_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
_MODULES = frozenset(("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidia_fs", "gdrdrv",
                      "nouveau"))
_KEYWORDS = ("options", "blacklist", "install")
# Debian and Ubuntu, Red Hat, SUSE.
_INITRAMFS = ("/boot/initrd.img-{}", "/boot/initramfs-{}.img", "/boot/initrd-{}")

# Parameters that checks evaluate, read whether or not they are set. Those of nvidia itself are not in sysfs.
_WATCHED = (("nvidia_uvm", "uvm_disable_hmm"), ("nvidia_drm", "modeset"))
_OPTION = re.compile(r"(\w+)=")


def read(host: Host, release: str | None, present: bool) -> dict:
    """The facts `modprobe`, `initramfs` and `module_parameters`; nothing is read without an NVIDIA GPU."""
    nothing = Reading(ABSENT, None, "not checked: no NVIDIA GPU")
    lines = known(lambda: read_lines(host) if present else nothing)
    return settle({
        "modprobe": lambda: lines, "initramfs": lambda: read_initramfs(host, release) if present else nothing,
        "module_parameters": lambda: read_parameters(host, lines.value or []) if present else []})


def read_lines(host: Host) -> Reading:
    """The lines about these modules in modprobe's order: `[{path, modified, keyword, module, text}]`.

    If an option is set twice, the last one counts.
    """
    found = []
    for path, text in find_drop_ins(host, _FOLDERS):
        if text.status == DENIED:
            return Reading(DENIED, None, f"{path} is not readable: needs root")
        for keyword, module, rest in parse_config(text.value or ""):
            found.append({"path": path, "modified": host.modified(path), "keyword": keyword, "module": module,
                          "text": rest})
    return ok(found)


def parse_config(text: str) -> list[tuple[str, str, str]]:
    """`(keyword, module, rest)` of the lines about the modules above; module names as the kernel spells them."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split(None, 2)
        if len(words) > 1 and words[0] in _KEYWORDS and canonical_name(words[1]) in _MODULES:
            found.append((words[0], canonical_name(words[1]), words[2].strip() if len(words) > 2 else ""))
    return found


def read_initramfs(host: Host, release: str | None) -> Reading:
    """`{path, modified}` of the running kernel's initramfs in /boot; absent if none has a usual name."""
    for pattern in _INITRAMFS:
        path = pattern.format(release)
        modified = host.modified(path) if release else None
        if modified is not None:
            return ok({"path": path, "modified": modified})
    return Reading(ABSENT, None, f"no initramfs of {release} below /boot")


def read_parameters(host: Host, lines: list[dict]) -> list[dict]:
    """`[{module, name, value}]` from /sys/module/<module>/parameters: the values in effect now."""
    asked = [(line["module"], name) for line in lines if line["keyword"] == "options" and line["module"] != "nvidia"
             for name in _OPTION.findall(line["text"])]
    return [{"module": module, "name": name, "value": host.read(f"/sys/module/{module}/parameters/{name}")}
            for module, name in dict.fromkeys([*_WATCHED, *asked])]
