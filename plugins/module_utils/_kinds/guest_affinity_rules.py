# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""When the CPUs of a running guest may be changed: it is this node's own, idle for Proxmox VE, and stays at its memory.

What was there before may always be restored, so every refusal here is one that a restore passes over (`but_back`).
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .._placement.cgroup import path_of
from .._pve.cluster import read_ha, read_tasks
from .._pve.guests import NONE as NO_PROXMOX
from .._pve.guests import read_all_configs
from .._system.identity import read_container
from .._tunables.guest_affinity import CONTAINER, ROOT, VM, split
from .guest_memory import refusal, require_at_memory

CPU = "/sys/devices/system/cpu"
PVESTATD = "/run/pvestatd.pid"
RAW_KEYS = ("lxc.cgroup2.cpuset.cpus", "lxc.cgroup.cpuset.cpus")

# HA states in which a guest is about to leave, to stop or to be taken over (PVE/HA/Manager.pm).
_HA_BUSY = ("request_stop", "request_start_balance", "migrate", "relocate", "freeze", "fence", "recovery")
_HA_KINDS = {VM: "vm", CONTAINER: "ct"}
_CONSOLES = ("vncproxy", "vncshell", "spiceproxy", "spiceshell")     # tasks that last as long as somebody looks


def require_allowed(host: Host, name: str, pid: int, cpus: set[int]) -> None:
    """Raises Refused with the reason if this guest must not be moved to these CPUs."""
    kind, number = split(name)
    settings, node = _settings(host, kind, number)
    _require_idle(host, kind, number, settings.get("lock"), node)
    group = _own_group(host, kind, number, pid)
    # A container's own group is the one that is written.
    there = read_effective(host, group if kind == VM else group.rpartition("/")[0])
    _require_online(host, cpus)
    if not cpus <= there:
        raise refusal(f"its control group may only use the CPUs {format_cpulist(there)}, not "
                      f"{format_cpulist(cpus - there)}")
    if kind == CONTAINER:
        _require_left_alone(host, number, settings)
    require_at_memory(host, kind, number, settings, cpus)


def _settings(host: Host, kind: str, number: str) -> tuple[dict[str, str], str]:
    """The guest's current settings in its configuration, and the name of this node."""
    inside = read_container(host)
    if inside is not None:
        raise refusal(f"this machine is itself a container ({inside[2]}): guests are moved on their host")
    configs = read_all_configs(host)
    part = configs.vms if kind == VM else configs.containers
    if configs.status.value == NO_PROXMOX:
        raise refusal("this is not a Proxmox VE node")
    if not part.ok:
        raise refusal(f"its configuration cannot be read: {part.detail or part.status}")
    sections = dict(part.value).get(number)
    if sections is None:
        raise refusal(f"this node has no configuration of {kind}:{number}")
    return dict(sections[""]), configs.node


def _require_idle(host: Host, kind: str, number: str, lock: str | None, node: str) -> None:
    if lock:
        raise refusal(f"the guest is locked: {lock}")
    tasks = read_tasks(host)
    if not tasks.ok:
        raise refusal(f"whether a task of the guest is running is unknown: {tasks.detail or tasks.status}")
    running = next((task for task in tasks.value if task["guest"] == number and task["type"] not in _CONSOLES), None)
    if running is not None:
        raise refusal(f"the guest is busy: task {running['type']} of {running['user']} is running")
    ha = read_ha(host, node)
    if not ha.ok:
        raise refusal(f"the state of high availability is unknown: {ha.detail or ha.status}")
    service = f"{_HA_KINDS[kind]}:{number}"
    state = next((one["state"] for one in ha.value["services"] if one["id"] == service), None)
    if state in _HA_BUSY:
        raise refusal(f"the guest is busy: it is in HA state {state}")


def _own_group(host: Host, kind: str, number: str, pid: int) -> str:
    """The path of the guest's control group, after checking that its process is in there."""
    own = f"/qemu.slice/{number}.scope" if kind == VM else f"/lxc/{number}"
    path = host.read(f"/proc/{pid}/cgroup").map(path_of).value
    if path is None or not f"{path}/".startswith(f"{own}/"):
        raise refusal(f"its process {pid} is in the control group {path or 'that cannot be read'}, not in {own}")
    return own


def read_effective(host: Host, path: str) -> set[int]:
    """The CPUs that a control group may use: of the nearest group at or above it with the controller cpuset."""
    while True:
        effective = host.read(f"{ROOT}{path}/cpuset.cpus.effective").map(parse_cpulist)
        if effective.ok:
            return set(effective.value)
        if effective.status != ABSENT or not path:
            break
        path = path.rpartition("/")[0]
    return _read_list(host, f"{CPU}/online")


def _require_online(host: Host, cpus: set[int]) -> None:
    absent = cpus - _read_list(host, f"{CPU}/present")
    if absent:
        raise refusal(f"the host has no CPU {format_cpulist(absent)}: it has "
                      f"{format_cpulist(_read_list(host, f'{CPU}/present'))}")
    offline = cpus - _read_list(host, f"{CPU}/online")
    if offline:
        raise refusal(f"the CPUs {format_cpulist(offline)} are offline")


def _read_list(host: Host, path: str) -> set[int]:
    cpus = host.read(path).map(parse_cpulist)
    if not cpus.ok:
        raise refusal(f"{path} cannot be read: {cpus.detail or cpus.status}")
    return set(cpus.value)


def _require_left_alone(host: Host, number: str, settings: dict[str, str]) -> None:
    """Refuse a container whose CPUs pvestatd sets every ten seconds: all that have neither raw key, with `cores` or
    without (pve-manager, PVE/Service/pvestatd.pm, rebalance_lxc_containers())."""
    if any(key in settings for key in RAW_KEYS):
        return
    pid = host.read_int(PVESTATD)
    if pid.status == ABSENT or (pid.ok and not host.is_dir(f"/proc/{pid.value}")):
        return
    raise refusal(f"pvestatd would take it back within 10 seconds: it sets the CPUs of every container without "
                  f"{RAW_KEYS[0]}; put that line into /etc/pve/lxc/{number}.conf and restart the container")
