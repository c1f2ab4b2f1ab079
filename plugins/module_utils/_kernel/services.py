# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Services that change tunables: installed, enabled at boot, masked, running; read from files only."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import NOT_RECORDED, OK, Reading

# Each overwrites something that a tune sets, except nvidia-persistenced, which keeps GPUs initialised.
UNITS = ("tuned", "power-profiles-daemon", "tlp", "auto-cpufreq", "cpufrequtils", "cpupower", "ondemand", "irqbalance",
         "ksmtuned", "numad", "nvidia-persistenced", "saptune", "sapconf", "laptop-mode", "powertop")

_ETC_UNITS = "/etc/systemd/system"
_UNIT_FOLDERS = ("/usr/lib/systemd/system", "/lib/systemd/system")      # two names of one folder since /usr is merged
_WANTED_BY = tuple(f"{_ETC_UNITS}/{target}.target.wants" for target in ("multi-user", "graphical"))
_INIT_SCRIPTS, _STARTED_SCRIPTS = "/etc/init.d", "/etc/rc2.d"
_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/unified/system.slice", "/sys/fs/cgroup/systemd/system.slice")


def read_unit_links(host: Host) -> Reading:
    """Count the entries of the folder that lists what is started at boot; if it is unreadable, a service without
    a link is not known to be disabled."""
    found = [host.read_list(folder).map(len) for folder in (_ETC_UNITS, _STARTED_SCRIPTS)]
    return next((reading for status in (OK, NOT_RECORDED) for reading in found if reading.status == status), found[0])


def read_services(host: Host, units: tuple[str, ...] = UNITS) -> list[dict]:
    """Read `[{service, installed, enabled, masked, running}]` for all `units`, from files only.

    Enabled follows from the links in *.target.wants (man 1 systemctl, enable), for an init script from those of
    runlevel 2. systemd removes the control group of a stopped service; running is None if control groups are not
    visible. A service that acts once at boot and exits is never running. Raises NotRecorded.
    """
    etc = host.list(_ETC_UNITS)
    files = {*etc, *next(filter(None, map(host.list, _UNIT_FOLDERS)), [])}
    links = host.read_links(_ETC_UNITS).value or {}
    wanted = {name for folder in _WANTED_BY for name in host.list(folder)}
    scripts = set(host.list(_INIT_SCRIPTS))
    started = {name[3:] for name in host.list(_STARTED_SCRIPTS) if name.startswith("S")}
    slices = [reading.value for reading in map(host.read_list, _SLICES) if reading.told().ok]
    running = {name for names in slices for name in names}
    return [{
        "service": name,
        "installed": f"{name}.service" in files or name in scripts,
        "enabled": f"{name}.service" in wanted or name in started,
        "masked": links.get(f"{name}.service") == "/dev/null",
        "running": f"{name}.service" in running if slices else None,
    } for name in units]
