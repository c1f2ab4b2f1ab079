# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/etc/sysfs.conf and /etc/sysfs.d, which the service of the package sysfsutils writes to sysfs at boot.

Sources: Debian, sysfsutils 2.1.1: man 5 sysfs.conf, init script, sysfsutils.service.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from .._host.host import Host
from .._kernel.services import read_services
from .setting import SYSFS, Setting

_LINE = re.compile(r"^\s*(?P<attribute>[^=\s#]+)\s*=\s*(?P<value>[^#]*)")
_WHY = "sysfsutils is not ordered against gpuhost-boot: it may come later"
_NOT_ENABLED = "the service sysfsutils, which reads this file, is not enabled"


def settings(host: Host) -> Iterator[Setting]:
    service, = read_services(host, ("sysfsutils",))
    enabled = service["enabled"] and not service["masked"]
    for path in ("/etc/sysfs.conf", *host.glob("/etc/sysfs.d/*.conf")):
        for number, line in enumerate((host.read(path).value or "").splitlines(), 1):
            found = _LINE.match(line)
            if found is not None:
                yield Setting(SYSFS, f"/sys/{found['attribute']}", found["value"].strip(), path, number,
                              found["attribute"], enabled, _WHY if enabled else _NOT_ENABLED)
