# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE host whose guests are hosts of the fleet too: a VM that sees one of two nodes, and a container."""
from __future__ import annotations

import neutral_facts as neutral
import neutral_placement
from audit_document import document, finding

UUID = "11111111-2222-3333-4444-555555555555"
ADDRESS = "bc:24:11:00:00:01"
TWO_CARDS = [{"key": f"hostpci{place}", "value": bdf, "mapping": None, "bdfs": [bdf], "missing": []}
             for place, bdf in enumerate(("0000:03:00.0", "0000:83:00.0"))]      # at node 0 and at node 1


def server_facts() -> dict:
    """The host of VM 200, which has two GPUs, and of container 101, which has all of them."""
    facts = neutral.epyc()
    facts["guests"]["vms"] = neutral.ok([{"id": "200", "hostpci": TWO_CARDS, "onboot": True}])
    facts["placement"]["guests"]["value"].append(neutral_placement.vm("200"))
    return facts


def documents(server: str = "pve1", machine: str = "model", container: str = "serve") -> list[dict]:
    """Audit documents of the three, with these names: the VM has one node, the container the host's two."""
    inside_vm, inside_container = neutral.vm(), neutral.container()
    inside_vm["gpus"] = neutral.epyc()["gpus"][:2]
    for gpu in inside_vm["gpus"]:
        gpu["numa_node"] = neutral.ok(0)
    inside_vm["placement"]["own"] = {"uuid": neutral.ok(UUID), "addresses": []}
    inside_container["placement"]["own"] = {"uuid": neutral.lacking(), "addresses": [ADDRESS]}
    return [document([finding("swappiness", "pass", actual="10")], host=name) | {"facts": facts} for name, facts in (
        (server, server_facts()), (machine, inside_vm), (container, inside_container))]
