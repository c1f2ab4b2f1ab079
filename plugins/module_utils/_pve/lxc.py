# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The containers of a Proxmox VE node: which run, and which host devices they get and may open.

Sources: /etc/pve/lxc/<id>.conf (`man pct.conf`, `man lxc.container.conf`), /proc/net/unix and /sys/fs/cgroup/lxc.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from .._host.host import Host
from .._host.reading import Reading, known, ok, settle
from .._kernel.device_majors import owners, read_majors
from . import config as pve
from . import device_rules
from .guest_state import read_running_containers, read_unified
from .sections import other_sections

_GPU_PATH = re.compile(r"/dev/(nvidia[^/]*|nvidia-caps[^/]*/.*|dri(/.*)?|kfd|gdrdrv)|/dev")
_NVIDIA_NODE = re.compile(r"/dev/nvidia\d+")
_NVIDIA_MAJOR = 195      # nv-chardev-numbers.h; minors 0 to 247 are GPUs
_NVIDIA_GPU_MINORS = range(248)
_TRUE = ("1", "on", "yes", "true")


def read_containers(host: Host, configs: Reading) -> Reading:
    """The containers, one dictionary each; schemas/facts/guests.json explains the keys.

    `configs` is from guests.read_configs().
    """
    if not configs.ok:
        return configs
    running = known(lambda: read_running_containers(host))
    unified = read_unified(host)
    majors = known(lambda: read_majors(host).value or [])
    nodes = known(lambda: host.device_nodes("/dev").value or {})
    return ok([_container(number, sections, running, unified, majors, nodes) for number, sections in configs.value])


def _container(number: str, sections: dict, running: Reading, unified: bool | None, majors: list,
               nodes: dict[str, dict]) -> dict:
    settings = sections[""]
    dead = {True: "lxc.cgroup.", False: "lxc.cgroup2."}.get(unified)
    ignored = [f"{key}: {value}" for key, value in settings if dead and key.startswith(dead)]
    live = [(key, value) for key, value in settings if not (dead and key.startswith(dead))]
    devices = pve.container_devices(live)
    rules, denied = (known(lambda verb=verb: [device_rules.at_path(rule, nodes)
                                              for rule in device_rules.parse_rules(live, verb)])
                     for verb in ("allow", "deny"))
    last = dict(live)
    cpus = last.get("lxc.cgroup2.cpuset.cpus") or last.get("lxc.cgroup.cpuset.cpus")
    return {
        "id": number, "name": last.get("hostname"),
        "running": known(lambda: number in running.value if running.ok else running.value), "lock": last.get("lock"),
        "onboot": last.get("onboot") in _TRUE, "unprivileged": last.get("unprivileged") in _TRUE,
        "template": last.get("template") in _TRUE,
        "devices": [device._asdict() for device in devices],
        **settle({
            "gpu_devices": lambda: gpu_devices(live, devices, rules, nodes),
            "allow": lambda: [_rule(rule, majors) for rule in rules],
            "deny": lambda: [rule.value for rule in denied],
            "unreadable_rules": lambda: unreadable_rules([*rules, *denied], majors),
            "trailing_text": lambda: [f"{rule.key}: {rule.value}" for rule in (*rules, *denied) if rule.ignored],
        }),
        "other_sections": other_sections(sections),
        "allows_everything": device_rules.allows_everything(live),
        "hook": uses_hook(live),
        "libraries": [library._asdict() for library in pve.container_libraries(live)],
        "memlock": last.get("lxc.prlimit.memlock"), "shm_size": pve.mount_option(live, "dev/shm", "size"),
        # `cores` does not pin: pvestatd rebalances the cpuset of such a container.
        "ignored": ignored, "cpus": cpus, "pinned": bool(cpus),
        "memory_nodes": last.get("lxc.cgroup2.cpuset.mems") or last.get("lxc.cgroup.cpuset.mems"),
    }


def _rule(rule: device_rules.Rule, majors: list[dict]) -> dict:
    told = {key: getattr(rule, key) for key in ("key", "value", "kind", "major", "minor", "access", "path")}
    return {**told, "owners": owners(majors, rule.major), "hint": device_rules.base_hint(rule, majors)}


def unreadable_rules(rules: list[device_rules.Rule], majors: list[dict]) -> list[dict]:
    """`[{line, why}]` of the rules that LXC cannot parse; `why` names the driver meant in another base."""
    return [{"line": f"{rule.key}: {rule.value}",
             "why": "; ".join(filter(None, (rule.error, device_rules.base_hint(rule, majors))))}
            for rule in rules if rule.error is not None]


def uses_hook(settings: list) -> bool:
    """Whether NVIDIA's LXC hook sets up the devices: it mounts nodes and libraries and sets the device rules."""
    return any(key == "lxc.hook.mount" and value.endswith("/nvidia") for key, value in settings)


def gpu_devices(settings: list, devices: list[pve.Device], rules: list[device_rules.Rule],
                nodes: Iterable[str]) -> list[str]:
    """Paths of the GPU nodes that a container gets; `nodes` are the host's, including /dev/nvidia<minor>.

    A container that gets none by path may create or mount them itself: then its allow rules, or NVIDIA's hook,
    determine which it may use.
    """
    found = {device.path for device in devices if _GPU_PATH.fullmatch(device.path)}
    if not any(_NVIDIA_NODE.fullmatch(path) or path == "/dev" for path in found):
        for rule in rules:
            if rule.kind == "c" and rule.major == _NVIDIA_MAJOR:
                if rule.minor is None:
                    found.update(filter(_NVIDIA_NODE.fullmatch, nodes))
                elif rule.minor in _NVIDIA_GPU_MINORS:
                    found.add(f"/dev/nvidia{rule.minor}")
        if uses_hook(settings):
            found.update(filter(_NVIDIA_NODE.fullmatch, nodes))
    return sorted(found)


def containers_given(guests: dict, nodes: list[str]) -> list[str]:
    """Ids of the containers that get one of a GPU's `nodes`, by its path or by a folder above it; not of templates,
    which never start."""
    return [container["id"] for container in guests["containers"].value or [] if not container["template"]
            and any(node == path or node.startswith(path + "/") for path in container["gpu_devices"] for node in nodes)]
