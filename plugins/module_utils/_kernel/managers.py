# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Who else sets what is judged here: services that tune, and the files from which sysctls are set at boot."""
from __future__ import annotations

import fnmatch
import re

from .._host.host import Host
from .._host.reading import ABSENT, DENIED, UNPARSABLE, Reading, ok
from .sysctl import SYSCTLS

# Each sets something again that a tune sets, but for nvidia-persistenced, which keeps GPUs set up.
UNITS = ("tuned", "power-profiles-daemon", "tlp", "auto-cpufreq", "cpufrequtils", "cpupower", "ondemand", "irqbalance",
         "ksmtuned", "numad", "nvidia-persistenced", "saptune", "sapconf", "laptop-mode", "powertop")

_ETC_UNITS = "/etc/systemd/system"
_UNIT_FOLDERS = ("/usr/lib/systemd/system", "/lib/systemd/system")      # two names of one folder since /usr is merged
_WANTED_BY = tuple(f"{_ETC_UNITS}/{target}.target.wants" for target in ("multi-user", "graphical"))
_INIT_SCRIPTS, _STARTED_SCRIPTS = "/etc/init.d", "/etc/rc2.d"
_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/unified/system.slice", "/sys/fs/cgroup/systemd/system.slice")

# man 5 sysctl.d and man 8 sysctl, --system: of files with one name the first found counts.
_SYSCTL_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
SYSCTL_CONF = "/etc/sysctl.conf"
TUNED_MAIN = "/etc/tuned/tuned-main.conf"
_BOOLEANS = {**dict.fromkeys(("1", "yes", "true", "on"), True), **dict.fromkeys(("0", "no", "false", "off"), False)}
_NO_TUNED = Reading(ABSENT, None, "tuned is not installed")
_GLOB_SIGNS = frozenset("*?[")
_SWAP = str.maketrans("./", "/.")


def read(host: Host) -> dict:
    """The facts' section `managers`."""
    services = read_services(host)
    tuned = services[0]["installed"]
    return {
        "services": services,
        "unit_links": read_unit_links(host),
        "tuned_profile": host.read("/etc/tuned/active_profile").map(str.strip) if tuned else _NO_TUNED,
        "tuned_reapplies": read_tuned_reapplies(host) if tuned else _NO_TUNED,
        "sysctl": read_sysctl_files(host),
    }


# -- services ---------------------------------------------------------------------------------------------------------

def read_unit_links(host: Host) -> Reading:
    """How many entries the folder has that says what is started at boot; whoever cannot see it knows of no service
    that it is not."""
    found = [host.read_list(folder).map(len) for folder in (_ETC_UNITS, _STARTED_SCRIPTS)]
    return next((reading for reading in found if reading.ok), found[0])


def read_services(host: Host, units: tuple[str, ...] = UNITS) -> list[dict]:
    """`[{service, installed, enabled, masked, running}]` of every one of `units`, told by files alone.

    Enabled is what the links below *.target.wants say (man 1 systemctl, enable), for an init script those of runlevel
    2. systemd removes the control group of a service that stopped; running is None where control groups are not seen.
    One that acts once at boot and ends is never running.
    """
    etc = host.list(_ETC_UNITS)
    files = {*etc, *next(filter(None, map(host.list, _UNIT_FOLDERS)), [])}
    links = host.read_links(_ETC_UNITS).value or {}
    wanted = {name for folder in _WANTED_BY for name in host.list(folder)}
    scripts = set(host.list(_INIT_SCRIPTS))
    started = {name[3:] for name in host.list(_STARTED_SCRIPTS) if name.startswith("S")}
    slices = [reading.value for reading in map(host.read_list, _SLICES) if reading.ok]
    running = {name for names in slices for name in names}
    return [{
        "service": name,
        "installed": f"{name}.service" in files or name in scripts,
        "enabled": f"{name}.service" in wanted or name in started,
        "masked": links.get(f"{name}.service") == "/dev/null",
        "running": f"{name}.service" in running if slices else None,
    } for name in units]


def read_tuned_reapplies(host: Host) -> Reading:
    """Whether tuned sets the sysctls of /run and /etc again after those of its profile, which is its default.

    reapply_sysctl of tuned-main.conf; those of /usr are left out (plugin_sysctl.py, SYSCTL_CONFIG_DIRS).
    """
    text = host.read(TUNED_MAIN)
    return ok(True) if text.status == ABSENT else text.map(parse_reapplies)


def parse_reapplies(text: str) -> bool:
    """The last line counts, as in any INI file. Raises ValueError for what is no boolean of Python's configparser."""
    told = re.findall(r"^[ \t]*reapply_sysctl[ \t]*[=:][ \t]*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    if not told:
        return True
    if told[-1].lower() not in _BOOLEANS:
        raise ValueError(f"reapply_sysctl is {told[-1]}")
    return _BOOLEANS[told[-1].lower()]


# -- sysctls at boot --------------------------------------------------------------------------------------------------

def read_sysctl_files(host: Host) -> dict:
    """What sets the sysctls of the facts at boot: `{reader, settings, ignored}`.

    `settings` is `[{key, value, file, line}]`, the one that wins for each key, in the order in which they are set.
    `ignored` are settings of /etc/sysctl.conf that nobody reads and no other file makes: systemd-sysctl reads that
    file only through a link in a sysctl.d folder, which Debian 13 no longer has; `sysctl --system` of procps reads it
    last.
    """
    by_systemd = host.is_dir("/run/systemd/system")     # sd_booted(3)
    files = find_sysctl_files(host)
    conf = host.read(SYSCTL_CONF)
    linked = any(_leads_to(host, path, SYSCTL_CONF) for path, _text in files)
    if not by_systemd and conf.status != ABSENT:
        files.append((SYSCTL_CONF, conf))
    hidden = [path for path, text in files if text.status == DENIED]
    texts = [(path, text.value) for path, text in files if text.ok]
    return {
        "reader": "systemd-sysctl" if by_systemd else "procps",
        "settings": Reading(DENIED, None, f"{hidden[0]} may not be read: needs root") if hidden else
        ok(decide(texts)),
        "ignored": _read_ignored(host, conf, texts, linked or not by_systemd),
    }


def _read_ignored(host: Host, conf: Reading, texts: list[tuple[str, str]], is_read: bool) -> Reading:
    """Settings of sysctl.conf that take no effect; absent without that file, not told where /run cannot be seen."""
    if conf.status == ABSENT:
        return conf
    if not host.is_dir("/run"):
        return Reading(UNPARSABLE, None, "whether systemd runs is not known: /run cannot be seen")
    if is_read:
        return ok([])
    return conf.map(lambda text: unmade(decide([(SYSCTL_CONF, text)], None), decide(texts, None)))


def unmade(ignored: list[dict], made: list[dict]) -> list[dict]:
    """The settings that no other file makes with the same value."""
    values = {setting["key"]: setting["value"] for setting in made}
    return [setting for setting in ignored if values.get(setting["key"]) != setting["value"]]


def find_sysctl_files(host: Host) -> list[tuple[str, Reading]]:
    return find_drop_ins(host, _SYSCTL_FOLDERS)


def find_drop_ins(host: Host, folders: tuple[str, ...]) -> list[tuple[str, Reading]]:
    """The `.conf` files that count, with their texts, in the order of their names; a link to /dev/null hides one."""
    found: dict[str, tuple[str, Reading]] = {}
    for folder in folders:
        for name in host.list(folder):
            if not name.endswith(".conf") or name in found:
                continue
            path = f"{folder}/{name}"
            text = host.read(path)
            if text.status != ABSENT:
                found[name] = (path, text)
            elif host.read_link(path).value == "/dev/null":
                found[name] = (path, ok(""))
    return [found[name] for name in sorted(found)]


def _leads_to(host: Host, path: str, target: str) -> bool:
    try:
        return host.resolve(path) == target
    except OSError:
        return False


def parse_settings(text: str) -> list[tuple[int, str, str | None]]:
    """`(line, key, value)` of one file; the key with slashes, the value None for `-key`, which keeps patterns off it.

    A hyphen before a key with a value says that a failure does not matter. As parse_file() of systemd's
    src/sysctl/sysctl.c reads it: the first separator in a key decides which one it uses.
    """
    settings = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not key or not (equals or key.startswith("-")):
            continue
        settings.append((number, _with_slashes(key.lstrip("-")), value.strip() if equals else None))
    return settings


def _with_slashes(key: str) -> str:
    first = next((sign for sign in key if sign in "./"), None)
    return key.translate(_SWAP) if first == "." else key


def decide(files: list[tuple[str, str]], keys: tuple[str, ...] | None = SYSCTLS) -> list[dict]:
    """The setting that wins for each of `keys`, None for every key that the files name, in the order of setting.

    A later line wins; a pattern never touches a key that is named in full (man 5 sysctl.d).
    """
    named: dict[str, tuple] = {}
    patterns: list[tuple] = []
    for place, (_file, text) in enumerate(files):
        for line, key, value in parse_settings(text):
            if _GLOB_SIGNS.isdisjoint(key):
                named[key] = (place, line, value)
            elif value is not None:
                patterns.append((key, (place, line, value)))
    wanted = named if keys is None else map(_with_slashes, keys)
    won = sorted((entry, key) for key in wanted if (entry := named.get(key) or _last_match(patterns, key)))
    return [{"key": key.translate(_SWAP), "value": value, "file": files[place][0], "line": line}
            for (place, line, value), key in won if value is not None]


def _last_match(patterns: list[tuple[str, tuple]], key: str) -> tuple | None:
    parts = key.split("/")
    for pattern, entry in reversed(patterns):
        signs = pattern.split("/")
        if len(signs) == len(parts) and all(map(fnmatch.fnmatchcase, parts, signs)):
            return entry
    return None
