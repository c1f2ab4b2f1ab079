# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether TuneD is started at boot, and its main configuration: how it handles sysctls, where its profiles are.

Sources: TuneD 2.20 to 2.27: man 5 tuned-main.conf; tuned/plugins/plugin_sysctl.py, tuned/utils/global_config.py.
"""
from __future__ import annotations

import fnmatch
import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .._kernel.services import read_services

MAIN = "/etc/tuned/tuned-main.conf"
_BOOLEANS = {**dict.fromkeys(("1", "yes", "true", "on"), True), **dict.fromkeys(("0", "no", "false", "off"), False)}


class Tuned:
    """Whether TuneD is started at boot, and how it then handles sysctls."""

    def __init__(self, host: Host) -> None:
        service, = read_services(host, ("tuned",))
        self.at_boot = service["installed"] and service["enabled"] and not service["masked"]
        self.runs = bool(service["running"])
        # An invalid value makes TuneD fail at start and set nothing; it is treated as the default.
        self.reapplies = read_reapplies(host).value is not False
        self.excluded = read_excluded(host)

    def sets_again(self, name: str) -> bool:
        """Whether the sysctl is set again from /etc/sysctl.d after TuneD's own."""
        return self.reapplies and not is_excluded(self.excluded, name)


def read_reapplies(host: Host) -> Reading:
    """Whether TuneD applies the sysctl files of /run and /etc again after its profile, which is the default.

    reapply_sysctl of tuned-main.conf; files of /usr are not applied (plugin_sysctl.py, SYSCTL_CONFIG_DIRS).
    """
    text = host.read(MAIN)
    return ok(True) if text.status == ABSENT else text.map(parse_reapplies)


def parse_reapplies(text: str) -> bool:
    """Parse the last line, as in any INI file. Raises ValueError unless it is a boolean of Python's configparser."""
    told = re.findall(r"^[ \t]*reapply_sysctl[ \t]*[=:][ \t]*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    if not told:
        return True
    if told[-1].lower() not in _BOOLEANS:
        raise ValueError(f"reapply_sysctl is {told[-1]}")
    return _BOOLEANS[told[-1].lower()]


def read_excluded(host: Host) -> tuple[str, ...]:
    """Read the patterns of sysctls that are not applied again (reapply_sysctl_exclude)."""
    return _read_words(host, "reapply_sysctl_exclude")


def read_profile_folders(host: Host) -> tuple[str, ...]:
    """Read the folders of profiles, the one that takes precedence first; empty without profile_dirs (2.23 and newer).
    """
    return tuple(folder.rstrip("/") for folder in reversed(_read_words(host, "profile_dirs")))


def _read_words(host: Host, option: str) -> tuple[str, ...]:
    """Read the last line of an option that takes words separated by , or ;."""
    told = re.findall(rf"^[ \t]*{option}[ \t]*[=:]([^\n#]*)", host.read(MAIN).value or "", re.MULTILINE)
    return tuple(filter(None, map(str.strip, re.split(r"[,;]", told[-1])))) if told else ()


def is_excluded(patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of `patterns` excludes the sysctl `vm/swappiness`, in either spelling."""
    return any(fnmatch.fnmatchcase(form, pattern) for pattern in patterns for form in (name, name.replace("/", ".")))
