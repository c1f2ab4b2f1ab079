# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.pve_busy import reasons

from neutral_facts import epyc, lxc, merge, ok, vm

DENIED = {"status": "denied", "value": None}
CALM = {"node": "online", "fenced": [], "services": [], "lrm_mode": "active", "lrm_state": "active"}


def obstacles(section="cluster", **changed):
    facts = epyc()
    facts[section].update(changed)
    return reasons(facts)


def service(state, node="pve1", target=None, name="vm:200"):
    return {"id": name, "state": state, "node": node, "target": target}


def test_a_host_without_proxmox_is_no_node():
    assert reasons(vm()) == []


@pytest.mark.parametrize("changed", [
    {}, {"quorum": ok("standalone")}, {"ha": ok(CALM)},
    {"ha": ok({**CALM, "services": [service("started"), service("error"), service("migrate", "pve2", "pve3")]})},
    {"tasks": ok([{"type": "vncshell", "guest": None, "user": "root@pam", "started": 1}])},
])
def test_a_calm_node_may_be_changed(changed):
    assert obstacles(**changed) == []


@pytest.mark.parametrize(("changed", "message"), [
    ({"quorum": ok("not_quorate")}, "the cluster has no quorum"),
    ({"quorum": DENIED}, "whether the cluster has quorum is not known: /etc/pve/.members: denied"),
    ({"ha": DENIED},
     "the state of high availability is not known: /etc/pve/ha/manager_status, lrm_status of the node: denied"),
    ({"ha": ok({**CALM, "node": "maintenance"})}, "high availability has this node in state maintenance"),
    ({"ha": ok({**CALM, "node": "fence"})}, "high availability has this node in state fence"),
    ({"ha": ok({**CALM, "fenced": ["pve3"]})}, "node pve3 is being fenced"),
    ({"ha": ok({**CALM, "lrm_mode": "maintenance"})}, "the HA resource manager of this node is in mode maintenance"),
    ({"ha": ok({**CALM, "lrm_state": "lost_agent_lock"})}, "the HA resource manager of this node has lost its lock"),
    ({"ha": ok({**CALM, "services": [service("migrate", "pve2", "pve1")]})}, "vm:200 is in HA state migrate"),
    ({"ha": ok({**CALM, "services": [service("relocate", "pve1", "pve2")]})}, "vm:200 is in HA state relocate"),
    ({"ha": ok({**CALM, "services": [service("recovery", "pve3")]})}, "vm:200 is in HA state recovery"),
    ({"tasks": DENIED}, "whether a task is running is not known: /var/log/pve/tasks/active: denied"),
    ({"tasks": ok([{"type": "vzdump", "guest": "101", "user": "root@pam", "started": 1}])},
     "task vzdump of 101 of root@pam is running"),
    ({"tasks": ok([{"type": "aptupdate", "guest": None, "user": "root@pam", "started": 1}])},
     "task aptupdate of root@pam is running"),
])
def test_a_node_in_the_middle_of_something_is_left_alone(changed, message):
    assert obstacles(**changed) == [message]


def test_a_locked_guest():
    locked = merge(lxc("101", []), {"lock": "backup"})
    assert obstacles("guests", containers=ok([locked])) == ["container 101 is locked: backup"]
    assert obstacles("guests", vms=ok([{"id": "200", "lock": "migrate"}])) == ["VM 200 is locked: migrate"]


def test_guests_that_cannot_be_read():
    assert obstacles("guests", vms=DENIED) == ["whether a VM is locked is not known: /etc/pve/qemu-server: denied"]
    assert obstacles("guests", status=DENIED) == [
        "the state of this Proxmox VE node is not known: /etc/pve: denied"]


def test_every_obstacle_is_told():
    assert len(obstacles(quorum=ok("not_quorate"), tasks=DENIED)) == 2
