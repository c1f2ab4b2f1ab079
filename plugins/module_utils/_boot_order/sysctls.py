# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Sysctls set at boot from files in sysctl's own format: sysctl.d, sysctl.conf, a credential.

systemd-sysctl applies all files sorted by name; the last line for a key wins, and a pattern never applies to a key
that is named in full, like ours.
Sources: man 5 sysctl.d; man 8 systemd-sysctl (sysctl.extra), sysctl (--system); systemd v252 to v257,
src/sysctl/sysctl.c; TuneD, tuned/plugins/plugin_sysctl.py.
"""
from __future__ import annotations

import posixpath
from collections.abc import Iterator

from .._host.host import Host
from .._host.reading import ABSENT, OK
from .setting import EVERY, OWN_SYSCTLS, SYSCTL, Setting
from .sysctl_files import SYSCTL_CONF, find_sysctl_files, is_pattern, leads_to, parse_settings
from .tuned_main import Tuned

_OWN_NAME = posixpath.basename(OWN_SYSCTLS)
_CREDENTIALS = tuple(f"{folder}/sysctl.extra" for folder in (
    "/run/credentials/@system", "/etc/credstore", "/run/credstore", "/usr/local/lib/credstore", "/usr/lib/credstore"))


def settings(host: Host) -> Iterator[Setting]:
    linked = False
    for path, text in find_sysctl_files(host):
        if posixpath.basename(path) == _OWN_NAME:
            continue
        linked = linked or leads_to(host, path, SYSCTL_CONF)
        yield from _of_file(path, text.status, text.value, *_order(path))
    if not linked:
        yield from _of_sysctl_conf(host)
    for path in _CREDENTIALS:
        text = host.read(path)
        yield from _of_file(path, text.status, text.value, True, "systemd-sysctl takes a credential after all files")


def _order(path: str) -> tuple[bool, str]:
    name = posixpath.basename(path)
    later = name > _OWN_NAME
    return later, f"{name} is read {'after' if later else 'before'} {_OWN_NAME}"


def _of_file(path: str, status: str, text: str | None, wins: bool, why: str) -> Iterator[Setting]:
    if status not in (OK, ABSENT):
        yield Setting(SYSCTL, EVERY, None, path, 0, "*", wins, f"{why}, and cannot be read")
    for line, key, value in parse_settings(text or ""):
        shown = key.replace("/", ".")
        if is_pattern(key):
            if value is not None:
                yield Setting(SYSCTL, key, value, path, line, shown, False,
                              "a pattern does not touch a key that is named in full")
        elif value is not None:
            yield Setting(SYSCTL, key, value, path, line, shown, wins, why)
        elif wins:
            yield Setting(SYSCTL, key, None, path, line, f"-{shown}", True,
                          f"{why}, and the line takes the key out of what systemd-sysctl sets")


def _of_sysctl_conf(host: Host) -> Iterator[Setting]:
    """Yield the settings of /etc/sysctl.conf if no link in a sysctl.d folder leads to it, as since Debian 13."""
    text = host.read(SYSCTL_CONF)
    if not host.is_dir("/run/systemd/system"):
        wins, why = True, "`sysctl --system` of procps reads it after all others"
    else:
        tuned = Tuned(host)
        wins = tuned.at_boot and tuned.reapplies
        why = ("TuneD sets it last (reapply_sysctl)" if wins else
               "systemd-sysctl does not read it; `sysctl -p` and `sysctl --system` set it when somebody runs them")
    for setting in _of_file(SYSCTL_CONF, text.status, text.value, wins, why):
        excluded = wins and host.is_dir("/run/systemd/system") and not tuned.sets_again(setting.name)
        yield setting if not excluded else setting._replace(
            wins=False, why="systemd-sysctl does not read it, and TuneD leaves this key out (reapply_sysctl_exclude)")
