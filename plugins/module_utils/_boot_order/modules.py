# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Settings of modprobe.d and modules-load.d for a helper module.

Sources: man 5 modprobe.d (blacklist ignores only the module's aliases; install runs a command instead), modules-load.d.
"""
from __future__ import annotations

from collections.abc import Iterator

from .._host.host import Host
from .._kernel.drop_ins import find_drop_ins
from .._kernel.modules import canonical_name
from .setting import MODULE, Setting

MODPROBE_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
                    "/lib/modprobe.d")
LOAD_FOLDERS = ("/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d",
                "/usr/lib/modules-load.d")


def settings(host: Host) -> Iterator[Setting]:
    for path, text in find_drop_ins(host, MODPROBE_FOLDERS):
        for number, line in enumerate((text.value or "").splitlines(), 1):
            words = line.split(None, 2)
            if len(words) == 3 and words[0] == "install":
                yield Setting(MODULE, canonical_name(words[1]), None, path, number, f"install {words[1]}", True,
                              f"modprobe runs `{words[2].strip()[:80]}` instead of loading it")
            elif len(words) == 2 and words[0] == "blacklist":
                yield Setting(MODULE, canonical_name(words[1]), "absent", path, number, "blacklist", False,
                              "blacklist keeps off aliases, not a module that is loaded by its name")
    for path, text in find_drop_ins(host, LOAD_FOLDERS):
        for number, line in enumerate((text.value or "").splitlines(), 1):
            name = line.strip()
            if name and name[0] not in "#;":
                yield Setting(MODULE, canonical_name(name), "present", path, number, name, False,
                              "systemd-modules-load comes before gpuhost-boot")
