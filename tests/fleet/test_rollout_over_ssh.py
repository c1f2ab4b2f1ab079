# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout over ssh: where it stops, what it says of every host, and what it takes to go on after a kill."""
from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from checkout import REPOSITORY
from hosts.proxmox import plant_cluster, plant_proxmox

VALUES = {"vm.laptop_mode": ("0", "1"), "vm.stat_interval": ("1", "10"), "net.core.somaxconn": ("128", "4096")}
BEFORE, AFTER, HALF = "before", "after", "half"
SETTINGS = {
    "gpuhost_only": ["kernel_release"], "gpuhost_soak_seconds": 0, "gpuhost_recheck_max": 3,
    "gpuhost_values": {"sysctl": {key: after for key, (_before, after) in VALUES.items()}}}


def state_of(tree):
    """What the files of a host say, read past everything of ours."""
    found = {key: tree.path("/proc/sys/" + key.replace(".", "/")).read_text().strip() for key in VALUES}
    return {tuple(before for before, _after in VALUES.values()): BEFORE,
            tuple(after for _before, after in VALUES.values()): AFTER}.get(tuple(found.values()), HALF)


def states_of(fleet):
    return {name: state_of(tree) for name, tree in fleet.trees.items()}


def record(controller):
    folder = sorted((controller.reports / ".rollouts").iterdir())[-1]
    hosts = {path.stem: json.loads(path.read_text()) for path in (folder / "hosts").iterdir()}
    return json.loads((folder / "rollout.json").read_text()), hosts


def rollout(controller, fleet, serial, most=0):
    return controller.play("tune_runtime.yml", fleet.inventory(), timeout=1500, variables={
        **SETTINGS, "gpuhost_serial": serial, "gpuhost_max_failed": most}, **fleet.environment())


def kill_rollout(controller, fleet, serial, seconds):
    """The same command, whose processes are all killed after `seconds`; whether it was still running."""
    variables = {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports), **SETTINGS,
                 "gpuhost_serial": serial}
    running = subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "tune_runtime.yml"), "-i",
         str(controller.inventory(fleet.inventory())), "-e", json.dumps(variables)],
        env=controller.environment(**fleet.environment()), cwd=controller.folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    was_running = running.poll() is None
    children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
    workers = [int(word) for word in children.read_text().split()] if was_running else []
    running.kill()
    for worker in workers:
        try:
            os.kill(worker, signal.SIGKILL)
        except ProcessLookupError:
            continue
    running.wait()
    fleet.wait_until_idle()
    return was_running


def fail_in_every_way(fleet, names):
    """Five of the hosts, in turn: one is dead, one is slow, one is to be left alone, one drops dead in the middle, one
    takes the connection and never answers."""
    dead, slow, refusing, dying, mute = (names[place::5] for place in range(5))
    for name in refusing:
        plant_cluster(plant_proxmox(fleet.trees[name], node=name), name, quorate=False)
    return {"dead": set(dead), "slow": dict.fromkeys(slow, 3.0), "dying": set(dying), "mute": set(mute)}, refusing


def mend(fleet, refusing):
    for name in refusing:
        plant_cluster(fleet.trees[name], name)
    fleet.stop()
    fleet.start()


def assert_truth(controller, fleet, reached, bad):
    """The record has every host that was reached, in the state that its files are in; the others are untouched."""
    document, hosts = record(controller)
    assert [host for batch in document["batches"] for host in batch["hosts"]] == reached
    assert set(hosts) == set(reached)
    there = states_of(fleet)
    for name in reached:
        state = hosts[name]["state"]
        if name in bad["dead"] | bad["mute"]:
            assert (name, state, there[name]) == (name, "unreachable", BEFORE)
            assert name in bad["dead"] or "timed out" in hosts[name]["reasons"][0]
        elif name in bad["dying"]:
            # Whether it dropped dead before its change was answered, or after that and before it was audited.
            assert state in ("changing", "unreachable")
            assert there[name] != BEFORE or hosts[name]["reasons"]
        elif name in bad["refusing"]:
            assert (name, state, there[name]) == (name, "refused", BEFORE)
        else:
            assert (name, state, there[name]) == (name, "changed", AFTER)
    assert {there[name] for name in set(there) - set(reached)} <= {BEFORE}


def story(controller, fleet, serial, odd, most, reached):
    """A rollout with odd hosts, up to the gate that stops it; then all are mended, and the same command goes on."""
    behaviour, refusing = fail_in_every_way(fleet, odd)
    fleet.start(**behaviour)
    stopped = rollout(controller, fleet, serial, most)
    assert stopped.returncode in (2, 4), stopped.output
    names = list(fleet.trees)
    assert_truth(controller, fleet, names[:reached], {**behaviour, "refusing": refusing})
    document, _hosts = record(controller)
    failed = len(set(names[:reached]) & (behaviour["dead"] | behaviour["dying"] | behaviour["mute"] | set(refusing)))
    assert f"{failed} hosts failed, gpuhost_max_failed allows {most}" in document["stopped"]
    assert f"{len(names) - reached} waiting" in stopped.stdout.splitlines()[-1] or len(names) == reached

    mend(fleet, refusing)
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed of the kill:", seed)
    kill_rollout(controller, fleet, serial, random.Random(seed).uniform(5, len(names)))
    again = rollout(controller, fleet, serial)
    assert again.returncode == 0, f"after a kill with seed {seed}\n{again.output}"
    assert set(states_of(fleet).values()) == {AFTER}
    assert {host["state"] for host in record(controller)[1].values()} <= {"changed", "unchanged"}


def test_twenty_five_hosts(controller, make_fleet):
    """Batches of 1, 4, 11 and 9: the third has too many that fail, the fourth is not begun."""
    story(controller, make_fleet(25), [1, 4, 11, 9], ["h003", "h005", "h008", "h012", "h015"], most=3, reached=16)


@pytest.mark.soak
def test_two_hundred_hosts(controller, make_fleet):
    """Every twentieth is odd, in five ways: the fifth that fails is in the batch that ends with the 113th."""
    odd = [f"h{number:03}" for number in range(11, 200, 20)]
    story(controller, make_fleet(200), [1, 2, "5%", "10%"], odd, most=4, reached=113)


@pytest.mark.soak
def test_ten_kills(controller, make_fleet):
    """Killed at ten random moments, each time the same command, and no host is left half changed at the end."""
    fleet = make_fleet(25)
    fleet.start()
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed of the kills:", seed)
    moments = random.Random(seed)
    for _kill in range(10):
        kill_rollout(controller, fleet, [1, 8, 16], moments.uniform(3, 30))
    again = rollout(controller, fleet, [1, 8, 16])
    assert again.returncode == 0, again.output
    assert set(states_of(fleet).values()) == {AFTER}
    back = controller.play("restore.yml", fleet.inventory(), timeout=600, **fleet.environment())
    assert back.returncode == 0, back.output
    assert set(states_of(fleet).values()) == {BEFORE}
