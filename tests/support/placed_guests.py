# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of hosts with guests, one line per guest, for tests of placements."""
from __future__ import annotations

from typing import Any

import neutral_facts
import neutral_placement
from neutral_facts import lacking, ok

FIRST, SECOND = "0-63,128-191", "64-127,192-255"      # the nodes of neutral_facts.epyc()


def vm(number: int, cores: int, gib: int, cpus: str | None = None, nodes: str | None = None, *,
       gpus: tuple[int, ...] = (), running: bool = True, held: tuple[int, ...] | None = None, **machine: Any) -> dict:
    """A VM; `nodes` binds one virtual node, `held` GiB are on the nodes, `gpus` are indexes of the host's GPUs."""
    numa = [{"key": "numa0", "cpus": f"0-{cores - 1}", "hostnodes": nodes, "memory_mib": gib * 1024, "policy": "bind"}]
    said = neutral_placement.vm()["configured"]
    return {"subject": f"vm:{number}", "id": str(number), "kind": "vm", "name": f"model{number}", "running": running,
            "template": False, "pending": [], "gpus": gpus,
            "configured": {**said, "cores": cores, "memory_mib": gib * 1024, "cpus": ok(cpus) if cpus else lacking(),
                           "memory_nodes": ok(nodes) if nodes else lacking(),
                           "vm": {**said["vm"], "numa": bool(nodes), "numa_nodes": numa if nodes else [], **machine}},
            "real": neutral_placement.real(cpus or "0-255", held=(held and neutral_placement.memory(*held))
                                           or lacking("denied")) if running else None}


def lxc(number: int, cores: int | None, gib: int, cpus: str | None = None, *, gpus: tuple[int, ...] = (),
        running: bool = True, real: str | None = None, held: tuple[int, ...] | None = None) -> dict:
    """A container; `real` are the CPUs that Proxmox VE selected for its `cores`."""
    made = neutral_placement.container(str(number), cpus, running=running)
    made["configured"].update(cores=cores, memory_mib=gib * 1024)
    if running:
        made["real"] = neutral_placement.real(real or cpus or "0-255", held=(held and neutral_placement.memory(*held))
                                              or lacking("denied"))
    return {**made, "gpus": gpus}


def host(*guests: dict, facts: dict[str, Any] | None = None) -> dict[str, Any]:
    """neutral_facts.epyc() or other facts, with exactly these guests, which have its GPUs."""
    made = facts or neutral_facts.epyc()
    made["guests"] = {**made["guests"], "containers": ok([]), "vms": ok([]), "ha": ok([])}
    made["placement"].update(guests=ok([{name: guest[name] for name in guest if name != "gpus"} for guest in guests]))
    for place, gpu in enumerate(made["gpus"]):
        owners = [guest for guest in guests if place in guest["gpus"]]
        gpu.update(users=ok([]), containers=[guest["id"] for guest in owners if guest["kind"] == "lxc"], claimed_by=ok([
            {"vm": guest["id"], "key": "hostpci0", "value": gpu["bdf"]} for guest in owners if guest["kind"] == "vm"]))
    return made


def ten_guests() -> dict[str, Any]:
    """Two sockets, eight GPUs, ten guests, each placed badly in a different way."""
    return host(
        vm(200, 32, 256, gpus=(0, 1), held=(120, 136)),                                     # not bound
        vm(201, 32, 256, SECOND, "1", gpus=(2,), held=(0, 256)),                            # on the far node
        vm(202, 16, 128, "0-15,128-143", "1", gpus=(3,), held=(0, 128)),                    # its memory is far
        vm(203, 16, 128, "0-15,128-143", "0", held=(128, 0)),                               # on the cores of 202
        vm(204, 64, 384, gpus=(4, 5), held=(190, 194)),
        vm(205, 8, 32, running=False),
        lxc(101, 16, 64, real="3,9,17,40,66,70,81,99,130,150,170,190,200,210,230,250", gpus=(6,), held=(30, 30)),
        lxc(102, None, 64, "64-79,192-207", gpus=(7,), held=(0, 40)),                       # well placed
        lxc(103, 4, 8, real="5,20,100,240"),
        lxc(104, None, 16),
    )
