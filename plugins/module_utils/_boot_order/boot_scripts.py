# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values that enabled units, rc.local, @reboot jobs and ifupdown, and scripts that they start, write at boot.

Their text is searched; no shell is run. A unit of sysinit.target, or one with Before=gpuhost-boot.service, is ordered
before gpuhost-boot; for any other the order is unknown.
Sources: man 5 systemd.unit, systemd.special; man 8 systemd-rc-local-generator; man 5 crontab, interfaces.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .._host.host import Host
from .setting import OWN_UNIT, SYSCTL, Setting, named_by_path
from .shell_writes import Write, find_writes, read_script
from .sysctl_files import SYSCTL_CONF, parse_settings

UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                "/usr/lib/systemd/system", "/lib/systemd/system")
_EARLY = frozenset(f"{target}.{kind}" for target in ("sysinit.target", "local-fs.target", "basic.target")
                   for kind in ("wants", "requires"))
_EXEC = re.compile(r"^Exec(?:StartPre|Start|StartPost)\s*=\s*[-@:+!|]*(.*)$")
_BEFORE = re.compile(rf"^Before\s*=.*\b{re.escape(OWN_UNIT)}\b", re.MULTILINE)
_FILE = re.compile(r"(?:^|[\s\"'=])(/(?!sys/|proc/|dev/)[\w./@+-]+)")
_LOADED = re.compile(r"\bsysctl\s+(?:-\S+\s+)*(--system|(?:-\w*p|--load=?)\s*(/\S+)?)")
_OWN_FOLDERS = ("/usr/local/", "/opt/", "/etc/", "/root/", "/home/", "/srv/", "/var/")
_UNORDERED = "is not ordered against gpuhost-boot: it may come later"


def settings(host: Host) -> Iterator[Setting]:
    yield from _of_units(host)
    if (host.mode("/etc/rc.local") or 0) & 0o111:
        yield from _of_script(host, "/etc/rc.local", f"rc-local.service {_UNORDERED}")
    yield from _of_cron(host)
    for path in ("/etc/network/interfaces", *host.glob("/etc/network/interfaces.d/*")):
        yield from _of_script(host, path, f"networking.service {_UNORDERED}")
    for path in host.glob("/etc/network/if-*.d/*"):
        yield from _of_script(host, path, f"ifupdown runs it when an interface comes up, and {_UNORDERED}")


# -- units ------------------------------------------------------------------------------------------------------------

def _of_units(host: Host) -> Iterator[Setting]:
    for unit, early in _enabled(host).items():
        path, text = _unit_file(host, unit)
        if path is None:
            continue
        early = early or _BEFORE.search(text) is not None
        why = f"{unit} comes before gpuhost-boot" if early else f"{unit} {_UNORDERED}"
        texts = [(path, text), *((drop_in, host.read(drop_in).value or "") for folder in UNIT_FOLDERS
                                 for drop_in in host.glob(f"{folder}/{unit}.d/*.conf"))]
        for file, content in texts:
            for number, line in enumerate(content.replace("\\\n", "  ").splitlines(), 1):
                found = _EXEC.match(line.strip())
                if found is not None:
                    yield from _of_command(host, found[1], file, number, early, why)


def _enabled(host: Host) -> dict[str, bool]:
    """Find the services started at boot, and whether each is started only before basic.target, from links alone."""
    found: dict[str, bool] = {}
    for folder in UNIT_FOLDERS:
        for wants in host.list(folder):
            if not wants.endswith((".wants", ".requires")):
                continue
            for name in host.list(f"{folder}/{wants}"):
                # A timer or path unit starts the service of the same name.
                service = re.sub(r"\.(timer|path|socket)$", ".service", name)
                if service.endswith(".service") and service != OWN_UNIT:
                    found[service] = found.get(service, True) and wants in _EARLY
    return found


def _unit_file(host: Host, unit: str) -> tuple[str | None, str]:
    names = (unit, re.sub(r"@.*\.", "@.", unit))
    for path in (f"{folder}/{name}" for name in dict.fromkeys(names) for folder in UNIT_FOLDERS):
        text = host.read(path)
        if text.ok:
            return path, text.value
        if host.read_link(path).value == "/dev/null":
            break
    return None, ""


def _of_command(host: Host, command: str, path: str, line: int, early: bool, why: str) -> Iterator[Setting]:
    for write in _loaded(host, command, path, line, find_writes(command)):
        yield from _setting(write._replace(line=line), path, early, why)
    for script in _scripts(command):
        for setting in _of_script(host, script, why):
            yield setting._replace(wins=setting.kind == SYSCTL or not early)


def _scripts(command: str) -> list[str]:
    """Return the administrator's files in a command; files of packages are known by their service, or are programs."""
    return [path for path in _FILE.findall(command) if path.startswith(_OWN_FOLDERS)]


def _of_script(host: Host, path: str, why: str) -> Iterator[Setting]:
    if host.is_dir(path):
        return
    for write in read_script(host, path):
        yield from _setting(write, path, False, why)
    for number, line in enumerate((host.read(path, 1 << 18).value or "").splitlines(), 1):
        if "sysctl" in line and not line.lstrip().startswith("#"):
            for write in _loaded(host, line, path, number, ()):
                yield from _setting(write, path, False, why)


def _setting(write: Write, path: str, early: bool, why: str) -> Iterator[Setting]:
    named = named_by_path(write.target) if write.kind is None else (write.kind, write.target)
    if named is not None:
        # systemd-sysctl runs as early as any of these.
        yield Setting(*named, write.value, path, write.line, write.target, not early or named[0] == SYSCTL, why)


def _loaded(host: Host, command: str, path: str, line: int, writes: Iterable[Write]) -> Iterator[Write]:
    """Yield `writes`, and those of the files, including sysctl.conf, that `sysctl -p` and `sysctl --system` read."""
    yield from writes
    for whole, file in _LOADED.findall(command):
        source = SYSCTL_CONF if whole == "--system" or not file else file
        for _number, key, value in parse_settings(host.read(source).value or ""):
            if value is not None:
                yield Write(SYSCTL, key, value, line)


# -- cron -------------------------------------------------------------------------------------------------------------

def _of_cron(host: Host) -> Iterator[Setting]:
    for path in ("/etc/crontab", *host.glob("/etc/cron.d/*"), *host.glob("/var/spool/cron/crontabs/*"),
                 *host.glob("/var/spool/cron/*")):
        if host.is_dir(path):
            continue
        for number, line in enumerate((host.read(path).value or "").splitlines(), 1):
            if line.lstrip().startswith("@reboot"):
                why = f"cron runs it when it starts, and {_UNORDERED}"
                yield from _of_command(host, line.strip()[len("@reboot"):], path, number, False, why)
