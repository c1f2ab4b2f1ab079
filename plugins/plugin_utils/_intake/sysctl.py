# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Settings and files out of lines that name them: `sysctl -a`, `grep -r . /sys/...`."""
from __future__ import annotations

import re

from .recorded_host import RecordedHost

SETTING = re.compile(r"([a-z]\w*(?:[./][\w*@:+/-]+)+) = (.*)")
# A path may hold colons: /sys/bus/pci/devices/0000:01:00.0/numa_node:-1
NAMED = re.compile(r"(/(?:proc|sys|etc)(?:/(?:(?:pci)?[0-9a-f]{4,8}(?::[0-9a-f]{2}){1,2}(?:\.[0-7])?|[^/:\s]+))+):(.*)")


def put_setting(host: RecordedHost, name: str, value: str) -> None:
    """`net.ipv4.conf.eth0/1.mtu`: dots part the folders, and a slash stands for a dot (sysctl(8))."""
    host.put_line("/proc/sys/" + name.translate(str.maketrans("./", "/.")), value)


def put_settings(host: RecordedHost, text: str) -> int:
    """All settings in the output of `sysctl -a`; how many."""
    found = [match for line in text.splitlines() if (match := SETTING.fullmatch(line))]
    for match in found:
        put_setting(host, match[1], match[2])
    return len(found)
