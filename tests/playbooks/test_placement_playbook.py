# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposal, report and playbook on a planted Proxmox VE node."""
from __future__ import annotations

import json

from hosts.proxmox import plant_proxmox
from hosts.reference import reference
from hosts.tree import Tree

# Bound to cores of the first node, with a GPU of the second.
VM = "cores: 16\nmemory: 65536\nname: model\naffinity: 0-15\nhostpci0: 0000:f4:00.0,pcie=1\nmachine: q35\n"


def test_a_planted_node_is_told_what_to_do_and_left_alone(controller, tmp_path):
    tree = plant_proxmox(reference(Tree(tmp_path / "pve1")), vms={"200": VM})
    run = controller.play("placement.yml", {"pve1": tree}, variables={"gpuhost_placement_apply": True}).succeeded()
    change, = run.one("pve1", action="placement")["changes"]
    assert (change["address"], change["outcome"], change["reason"]) == ("vm:200", "skipped", "needs a live host")
    folder = controller.reports / "pve1"
    guest, = json.loads((folder / "placement.json").read_text())["guests"]
    # Sixteen cores of two L3 caches of the second node, both threads of them.
    command = "qm set 200 --affinity 64-79,192-207 --numa 1 --numa0 cpus=0-15,hostnodes=1,memory=65536,policy=bind"
    assert guest["commands"] == [command] and command in (folder / "system-improve.md").read_text()
    assert "<svg" in (folder / "placement.svg").read_text()
    assert (tree.root / "etc/pve/nodes/pve1/qemu-server/200.conf").read_text().strip() == VM.strip()
    assert not (folder / "placement-applied.json").exists()
    assert run.changed("pve1") == 0 and "Placement: a better one for 1 of 1 guest" in run.output
    # Nobody asked for more than the proposal.
    run = controller.play("placement.yml", {"pve1": tree}).succeeded()
    assert not run.one("pve1", action="placement").get("changes")
