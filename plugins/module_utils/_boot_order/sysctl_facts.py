# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What sets the facts' sysctls at boot: the effective line of each, and lines that nothing reads."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, DENIED, UNPARSABLE, Reading, known, ok
from .._kernel.drop_ins import find_drop_ins
from .sysctl_files import SYSCTL_CONF, decide, find_sysctl_files, is_pattern, leads_to, parse_settings
from .tuned_main import Tuned

# TuneD applies the files of these again; of two with the same name, that of /run (plugin_sysctl.py,
# SYSCTL_CONFIG_DIRS).
_TUNED_FOLDERS = ("/run/sysctl.d", "/etc/sysctl.d")
Files = list[tuple[str, Reading]]


def read_sysctl_files(host: Host) -> dict:
    """Read `{reader, settings, ignored}`.

    `settings` is `[{key, value, file, line}]`, the effective one of each key, in the order in which they are set.
    `ignored` are settings of /etc/sysctl.conf that nothing reads and no other file repeats: systemd-sysctl reads that
    file only through a link in a sysctl.d folder, which Debian 13 no longer has; `sysctl --system` of procps and TuneD
    read it last.
    """
    parts = known(lambda: _read_sysctl_files(host))
    return dict.fromkeys(("reader", "settings", "ignored"), parts) if isinstance(parts, Reading) else parts


def _read_sysctl_files(host: Host) -> dict:
    """Raises NotRecorded."""
    by_systemd = host.is_dir("/run/systemd/system")     # sd_booted(3)
    files = find_sysctl_files(host)
    conf = host.read(SYSCTL_CONF).told()
    linked = any(leads_to(host, path, SYSCTL_CONF) for path, _text in files)
    again = _set_again(host, conf)
    if not by_systemd and conf.status != ABSENT:
        files.append((SYSCTL_CONF, conf))
    files += again
    hidden = [path for path, text in files if text.status == DENIED]
    texts = [(path, text.value) for path, text in files if text.ok]
    return {
        "reader": "systemd-sysctl" if by_systemd else "procps",
        "settings": Reading(DENIED, None, f"{hidden[0]} is not readable: needs root") if hidden else
        ok(decide(texts)),
        "ignored": _read_ignored(host, conf, texts, linked or not by_systemd or bool(again)),
    }


def _set_again(host: Host, conf: Reading) -> Files:
    """Return the files that TuneD applies after systemd-sysctl, if it is started at boot; it ignores patterns."""
    tuned = Tuned(host)
    if not tuned.at_boot or not tuned.reapplies:
        return []
    files = find_drop_ins(host, _TUNED_FOLDERS) + ([(SYSCTL_CONF, conf)] if conf.status != ABSENT else [])
    return [(path, text.map(lambda it: _taken_by_tuned(it, tuned))) for path, text in files]


def _taken_by_tuned(text: str, tuned: Tuned) -> str:
    """Drop the lines that TuneD does not apply: patterns, keys with a hyphen, and excluded keys."""
    lines = text.splitlines()
    for number, key, value in parse_settings(text):
        if value is None or is_pattern(key) or lines[number - 1].lstrip().startswith("-") or not tuned.sets_again(key):
            lines[number - 1] = ""
    return "\n".join(lines)


def _read_ignored(host: Host, conf: Reading, texts: list[tuple[str, str]], is_read: bool) -> Reading:
    """Read the ineffective settings of sysctl.conf; absent without that file, not recorded if /run is not visible."""
    if conf.status == ABSENT:
        return conf
    if not host.is_dir("/run"):
        return Reading(UNPARSABLE, None, "whether systemd is running is not known: /run is not visible")
    if is_read:
        return ok([])
    return conf.map(lambda text: unmade(decide([(SYSCTL_CONF, text)], None), decide(texts, None)))


def unmade(ignored: list[dict], made: list[dict]) -> list[dict]:
    """Return the settings that no other file makes with the same value."""
    values = {setting["key"]: setting["value"] for setting in made}
    return [setting for setting in ignored if values.get(setting["key"]) != setting["value"]]
