# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Versions of NVIDIA's user-space libraries, on the host and in running containers.

They must match the loaded module's version exactly (README.md of github.com/NVIDIA/open-gpu-kernel-modules). No file
of a container is opened: the version is in the name of the file that a library's link points to.
"""
from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable

from .._host.asked import ask_each
from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, UNPARSABLE, NotRecorded, Reading, from_error, known, ok
from .._host.sysroot import Sysroot
from .._kernel.containers import parse_container
from .container_nodes import read_nodes_inside
from .proc import parse_version

MANAGEMENT, CUDA = "libnvidia-ml.so", "libcuda.so"
_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_VERSIONED = re.compile(r"(lib[a-z-]+\.so)\.(\d{1,6}(?:\.\d{1,6}){1,3})", re.ASCII)

# The cgroups with a container's processes, cgroup v2 first (lxc.cgroup.dir.container.inner is `ns`).
_GROUPS = ("/sys/fs/cgroup/lxc/{}", "/sys/fs/cgroup/systemd/lxc/{}")
_BELOW = ("/ns/init.scope", "/ns", "/init.scope", "")
TIME_LIMIT = 2.0        # seconds; a container's file system may never answer


def read_library_version(root: Sysroot, library: str) -> Reading:
    """The version in the name of the file that `library`.1 links to; absent if no usual folder has such a file.

    Links may go through /etc/alternatives; they are followed inside `root`.
    """
    for folder in _FOLDERS:
        try:
            path = root.resolve(f"{folder}/{library}.1")
            named = _VERSIONED.fullmatch(os.path.basename(path))
            if not (named and named[1] == library):
                reason = root.why_missing(f"{folder}/{library}.1")
                if reason is not None and not os.path.lexists(root.local(f"{folder}/{library}.1")):
                    return Reading(NOT_RECORDED, None, reason)
            if named and named[1] == library and stat.S_ISREG(os.lstat(root.local(path)).st_mode):
                return ok(named[2])
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return from_error(error)
    return Reading(ABSENT, None, f"no file behind {library}.1 in the usual directories has a version in its name")


def read_mismatch(host: Host) -> str | None:
    """A phrase with both versions if the loaded driver and a library of the host differ, else None.

    With a mismatch, programs that start fail while running ones continue.
    """
    loaded = host.read("/proc/driver/nvidia/version").map(parse_version)
    if not loaded.ok:
        return None
    others = [f"{library} is {found.value}" for library in (MANAGEMENT, CUDA)
              if (found := read_library_version(host, library)).ok and found.value != loaded.value.version]
    return f"the loaded driver is {loaded.value.version}, {' and '.join(others)}" if others else None


def find_processes(host: Host, guests: dict, users: Reading) -> Reading:
    """One process of every running container that has or uses a GPU: `{name: pid}`, names such as `lxc:101`.

    `guests`: the facts of that name; `users`: from device_users.read_users().
    """
    if not guests["containers"].ok:
        return Reading(guests["containers"].status, None, guests["containers"].detail)
    return known(lambda: _find_processes(host, guests, users))


def _find_processes(host: Host, guests: dict, users: Reading) -> Reading:
    if not users.ok and not guests["containers"].value:
        return Reading(users.status, None, users.detail)
    pids = {container_name(container["id"]): _first_process(host, container["id"])
            for container in guests["containers"].value or [] if container["running"] and container["gpu_devices"]}
    found = {name: pid for name, pid in pids.items() if pid is not None}
    for user in users.value or []:
        if user["container"] is not None:
            found.setdefault(container_name(user["container"]), user["pid"])
    return ok(found)


def container_name(container: str) -> str:
    """`lxc:101`; for Docker and similar engines `container:` and the first 12 digits of the id."""
    return f"{'container' if re.fullmatch('[0-9a-f]{12}', container) else 'lxc'}:{container}"


def _first_process(host: Host, number: str) -> int | None:
    for group in _GROUPS:
        for below in _BELOW:
            pids = (host.read(f"{group.format(number)}{below}/cgroup.procs").value or "").split()
            if pids and pids[0].isdecimal():
                return int(pids[0])
    return None


def read_containers(host: Host, processes: Reading) -> dict[str, Reading]:
    """`container_libraries` and `container_nodes` of the containers from find_processes(): `[{name, versions}]` with
    the distinct versions of both libraries, empty if the container has neither, and `[{name, nodes}]` with the nodes
    from read_nodes_inside().

    A container controls its own file system, which may never answer: a child process reads it and is abandoned if it
    does not return.
    """
    if not processes.ok:
        return {"container_libraries": processes, "container_nodes": processes}
    answers = {name: tuple(Reading(*part) for part in answer) if isinstance(answer, list) else
               (Reading(UNPARSABLE, None, answer),) * 2
               for name, answer in sorted(ask_each(host, processes.value, lambda name: [
                   reading.fields() for reading in _look_inside(host, name, processes.value[name])],
                   TIME_LIMIT).items())}
    return {"container_libraries": ok([{"name": name, "versions": answer[0]} for name, answer in answers.items()]),
            "container_nodes": ok([{"name": name, "nodes": answer[1]} for name, answer in answers.items()])}


def _look_inside(host: Host, name: str, pid: int) -> tuple[Reading, Reading]:
    """Versions and device nodes, after checking that `pid` still belongs to the container."""
    path = f"/proc/{pid}/root"
    try:
        if container_name(parse_container(host.read(f"/proc/{pid}/cgroup").value or "") or "") != name:
            return (Reading(ABSENT, None, "the container has stopped"),) * 2
        root = host.below(path)
    except NotRecorded as why:
        return (Reading(NOT_RECORDED, None, str(why)),) * 2
    except (OSError, ValueError) as error:
        return (from_error(error) if isinstance(error, OSError) else Reading(ABSENT, None, str(error)),) * 2
    return tuple(_guarded(look) for look in (lambda: _read_versions(root), lambda: read_nodes_inside(host, root, path)))


def _guarded(look: Callable[[], Reading]) -> Reading:
    """The result of `look`, with OSError and link loops of an untrusted file system as a Reading."""
    try:
        return known(look)
    except OSError as error:
        return from_error(error)
    except RecursionError:
        return Reading(UNPARSABLE, None, "too many levels of symbolic links")


def _read_versions(root: Sysroot) -> Reading:
    found = [read_library_version(root, library) for library in (MANAGEMENT, CUDA)]
    failed = next((reading for reading in found if reading.status not in ("ok", ABSENT)), None)
    return failed or ok(sorted({reading.value for reading in found if reading.ok}))
