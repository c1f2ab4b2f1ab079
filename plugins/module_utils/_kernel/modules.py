# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Kernel modules and their state. Nothing is loaded or unloaded here.

Sources in the kernel: kernel/module/sysfs.c (/sys/module), kernel/module/procfs.c (/proc/modules),
Documentation/kbuild/kbuild.rst (modules.builtin).
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, NotRecorded, Reading, known, ok, settle

LIVE = "live"
COMING = "coming"
GOING = "going"
BUILT_IN = "built_in"
MODULE_ABSENT = "absent"
STATES = (LIVE, COMING, GOING, BUILT_IN, MODULE_ABSENT)

# Vendor modules are never built in.
_NEVER_BUILT_IN = ("nvidia", "gdrdrv")
_NUMBER = re.compile(r"-?\d+")
# print_unload_info() and m_show() of kernel/module/procfs.c have their own words for the three states.
_STATE_OF_PROC = {"Live": LIVE, "Loading": COMING, "Unloading": GOING}


class LoadedModule(NamedTuple):
    """One line of /proc/modules."""

    state: str
    refcount: int | None        # None on a kernel without CONFIG_MODULE_UNLOAD
    holders: list[str]


def canonical_name(name: str) -> str:
    """Return the kernel's spelling of a module name: modprobe and file names use `-` and `_`, the kernel only `_`."""
    return name.strip().replace("-", "_")


def parse_modules(text: str) -> dict[str, LoadedModule]:
    """Parse /proc/modules, one line per module: `name size refcount holder,holder, State address`."""
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 5 or fields[4] not in _STATE_OF_PROC:
            continue
        holders = sorted(name for name in fields[3].split(",") if name not in ("", "-", "[permanent]"))
        refcount = int(fields[2]) if _NUMBER.fullmatch(fields[2]) else None
        found[fields[0]] = LoadedModule(_STATE_OF_PROC[fields[4]], refcount, holders)
    return found


def parse_built_in(text: str) -> frozenset[str]:
    """Parse modules.builtin, one line per module: `kernel/drivers/char/ipmi/ipmi-msghandler.ko`."""
    names = (os.path.basename(line.strip()) for line in text.splitlines())
    return frozenset(canonical_name(name[:-len(".ko")]) for name in names if name.endswith(".ko"))


def read_loaded(host: Host) -> Reading:
    """Read /proc/modules: `{name: LoadedModule}`; absent on a kernel without loadable modules."""
    return host.read("/proc/modules").map(parse_modules)


def read_built_in(host: Host) -> Reading:
    """Read /lib/modules/<release>/modules.builtin of the running kernel as a set of names."""
    release = host.read("/proc/sys/kernel/osrelease")
    if not release.ok:
        return release
    return host.read(f"/lib/modules/{release.value}/modules.builtin").map(parse_built_in)


def read_modules(host: Host, names: Iterable[str]) -> list[dict]:
    """Read each named module: `{name, state, version, refcount, holders}`, in the given order, names canonical.

    `version` is that of the loaded module (/sys/module/<name>/version), not of the file on disk, and absent if the
    module declares none. `refcount` counts holders and other users, including open device nodes.
    """
    loaded, built_in = read_loaded(host), read_built_in(host)
    return [_describe(host, canonical_name(name), loaded, built_in) for name in names]


def read_module(host: Host, name: str) -> dict:
    """Read one module in the form of read_modules()."""
    return read_modules(host, [name])[0]


def read_installed_kernels(host: Host, name: str) -> list[dict]:
    """Read the installed kernels and whether a module is built for them: `[{release, bootable, built}]` by release.

    From /lib/modules/<release>/modules.dep, which depmod writes. `bootable`: the kernel image is in /boot.
    """
    needle = f"/{name}.ko".encode()
    return [{"release": release, "bootable": host.exists(f"/boot/vmlinuz-{release}"),
             "built": host.contains(f"/lib/modules/{release}/modules.dep", needle)}
            for release in host.list("/lib/modules") if host.is_dir(f"/lib/modules/{release}")]


def _describe(host: Host, name: str, loaded: Reading, built_in: Reading) -> dict:
    state = known(lambda: _state(host, name, loaded, built_in))
    if isinstance(state, Reading):
        return {"name": name, "state": state, "version": state, "refcount": state, "holders": state}
    if state == MODULE_ABSENT:
        return {"name": name, "state": state, "version": Reading(ABSENT), "refcount": Reading(ABSENT), "holders": []}
    line = loaded.value.get(name) if loaded.ok else None
    refcount = host.read_int(f"/sys/module/{name}/refcnt")
    if refcount.status in (ABSENT, NOT_RECORDED) and line is not None and line.refcount is not None:
        refcount = ok(line.refcount)
    holders = host.read_list(f"/sys/module/{name}/holders")
    return settle({
        "name": lambda: name, "state": lambda: state, "version": lambda: host.read(f"/sys/module/{name}/version"),
        "refcount": lambda: refcount,
        "holders": lambda: holders.value if holders.ok else line.holders if line else holders.value or []})


def _state(host: Host, name: str, loaded: Reading, built_in: Reading) -> str:
    """Raises NotRecorded."""
    message = host.read(f"/sys/module/{name}/initstate")
    if message.ok and message.value in (LIVE, COMING, GOING):
        return message.value
    line = (loaded.value or {}).get(name)
    if line is not None:
        return line.state
    # A built-in module has a folder in /sys/module only if it has parameters or a version, and never an initstate.
    try:
        return BUILT_IN if host.is_dir(f"/sys/module/{name}") or name in (built_in.value or ()) else MODULE_ABSENT
    except NotRecorded:
        if name.startswith(_NEVER_BUILT_IN):
            return MODULE_ABSENT
        raise
