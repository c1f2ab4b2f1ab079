# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPUs of a running container, from the plan to a restart of the container that ends it."""
from __future__ import annotations

import json

import pytest

from hosts.movable import CONTAINER, INIT_PID, movable, plant_stat

VALUES = {"guest_affinity": {"lxc:101": "0-3", "vm:200": "0-3"}}
MOVED = [b"0-3\n", b"\n"]


@pytest.fixture
def node(make_tree):
    return movable(make_tree("pve1").file("/proc/sys/kernel/random/boot_id", "boot-1"))


@pytest.fixture
def play(controller, node):
    return lambda playbook, **extra: controller.play(playbook, {"pve1": node}, "-e", json.dumps(extra))


def groups(tree):
    return [tree.path(f"{CONTAINER}{path}/cpuset.cpus").read_bytes() for path in ("", "/ns")]


def text(run):
    """What it printed, without the line ends that depend on the width."""
    return " ".join(run.succeeded().stdout.split())


def test_a_container_from_plan_to_restart(node, play):
    tuned = text(play("tune_runtime.yml", gpuhost_values=VALUES, gpuhost_include=["guest_affinity"]))
    assert "guest_affinity:lxc:101: changed: 0-7 -> 0-3" in tuned
    assert "guest_affinity:vm:200: skipped" in tuned     # a folder has no threads to move
    assert groups(node) == MOVED
    assert "pve1: 1 fine" in text(play("verify.yml"))

    plant_stat(node, f"/proc/{INIT_PID}/stat", INIT_PID, 9900)
    restarted = f"the guest was restarted since: found vmid 101 pid {INIT_PID} starttime 9900"
    seen = text(play("verify.yml"))
    assert "pve1: 1 expired" in seen
    assert f"guest_affinity:lxc:101: expired: wanted 0-3, found -: {restarted}" in seen
    back = text(play("restore.yml"))
    assert "nothing to restore: the guests whose CPUs were set were restarted or stopped since" in back
    assert f"guest_affinity:lxc:101: expired: {restarted}" in back
    assert groups(node) == MOVED
