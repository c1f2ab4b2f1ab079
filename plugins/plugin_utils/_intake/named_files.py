# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Settings and files from lines that name them: `sysctl -a`, `grep -r . /sys/...`."""
from __future__ import annotations

import re

from .recorded_host import RecordedHost

SETTING = re.compile(r"([a-z]\w*(?:[./][\w*@:+/-]+)+) = (.*)")
# A path may contain colons: /sys/bus/pci/devices/0000:01:00.0/numa_node:-1
NAMED = re.compile(r"(/(?:proc|sys|etc)(?:/(?:(?:pci)?[0-9a-f]{4,8}(?::[0-9a-f]{2}){1,2}(?:\.[0-7])?|[^/:\s]+))+):(.*)")

COMMAND = re.compile(r"\+ (?:sudo )?grep -rH \. (.*)")
ALL_SETTINGS = re.compile(r"\+ (?:sudo )?sysctl -a")
FAILED = re.compile(r"grep: (/(?:proc|sys|etc)/\S+): (.*)")
WHOLE_SETTINGS = 500        # fewer lines of sysctl -a are not all settings of a kernel


def put_setting(host: RecordedHost, name: str, value: str) -> None:
    """`net.ipv4.conf.eth0/1.mtu`: dots separate folders, and a slash stands for a dot (sysctl(8))."""
    host.put_line("/proc/sys/" + name.translate(str.maketrans("./", "/.")), value)


def put_settings(host: RecordedHost, text: str) -> int:
    """Add all settings in the output of `sysctl -a`; return their number."""
    found = [match for line in text.splitlines() if (match := SETTING.fullmatch(line))]
    for match in found:
        put_setting(host, match[1], match[2])
    return len(found)


class NamedFiles:
    """The output of `grep -rH . FOLDER` and `sysctl -a`, with the commands themselves as `sh -x` prints them.

    Without its command a folder is never taken as complete, as the selection of files is unknown.
    """

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {}
        self.settings: list[tuple[str, str]] = []
        self.folders: list[str] = []        # that a command read completely
        self.denied: list[str] = []
        self.missing: list[str] = []
        self.all_settings = False

    def take(self, line: str) -> bool:
        """Whether the line belongs to them."""
        command, failed = COMMAND.fullmatch(line), FAILED.fullmatch(line)
        if command is not None:
            self.folders += [path for path in command[1].split() if path.startswith(("/sys/", "/proc/", "/etc/"))]
        elif failed is not None:
            (self.denied if "denied" in failed[2] or "permitted" in failed[2] else self.missing).append(failed[1])
        elif ALL_SETTINGS.fullmatch(line):
            self.all_settings = True
        elif named := NAMED.fullmatch(line):
            self.files.setdefault(named[1], []).append(named[2])
        elif setting := SETTING.fullmatch(line):
            self.settings.append((setting[1], setting[2]))
        else:
            return False
        return True

    def put(self, host: RecordedHost) -> None:
        for path, text in self.files.items():
            host.put(path, "".join(f"{line}\n" for line in text))
        for name, value in self.settings:
            put_setting(host, name, value)
        for path in self.denied:
            host.deny(path)
        for path in (*self.folders, *self.missing):
            host.close(path)
        if self.all_settings and len(self.settings) >= WHOLE_SETTINGS:
            host.close("/proc/sys")
