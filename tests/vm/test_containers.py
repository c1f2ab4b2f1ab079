# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real container that loses a device node when its major moves, as after a change of kernel or driver."""
from __future__ import annotations

import pytest

GUESTS = ["debian13"]       # LXC is there alone
pytestmark = pytest.mark.vm

UVM = "$(sed -n 's/ nvidia-uvm$//p' /proc/devices)"
PLANT = f"""
testhw healthy
echo {UVM}
container start 101 {UVM}
container open 101 /dev/nvidia0
container open 101 /dev/nvidia-uvm
"""
# gdrdrv takes the number that nvidia_uvm had; the container's rules stay.
MOVE = """
container stop 101
rmmod nvidia_uvm
modprobe -a gdrdrv nvidia_uvm
testhw nodes
container start 101 $1
container open 101 /dev/nvidia0
container open 101 /dev/nvidia-uvm || true
sed -n 's/ nvidia-uvm$//p' /proc/devices
"""


@pytest.fixture(scope="module")
def guest(guests):
    if "debian13" not in guests:
        pytest.skip("GPUHOST_VM_RELEASES leaves out debian13")
    return guests["debian13"]


@pytest.fixture(scope="module")
def moved(guest):
    """`(major before, major after, what opening said after)`."""
    before, *opened = guest.run(PLANT).split("\n")
    assert opened == ["opened", "opened", ""]
    *message, after = guest.run(f"set -- {before}\n{MOVE}").split()
    return int(before), int(after), " ".join(message)


@pytest.fixture(scope="module")
def facts(play, moved):
    return play("read.yml", "--limit", "debian13").succeeded().one("debian13", action="host_info")["facts"]


def test_container_loses_the_node(moved):
    _before, _after, message = moved
    assert message.startswith("opened ")
    assert message.endswith("Operation not permitted")


def test_major_moved(moved):
    before, after, _said = moved
    assert after == before - 1


def test_rules_name_a_number_that_is_another_driver_now(facts, moved):
    before, after, _said = moved
    [container] = facts["guests"]["containers"]["value"]
    owners = {rule["major"]: rule["owners"] for rule in container["allow"]}
    assert owners == {195: ["nvidia", "nvidia-modeset", "nvidiactl"], before: ["gdrdrv"]}
    assert {"name": "nvidia-uvm", "major": after} in facts["nvidia"]["majors"]["value"]


def test_container_is_known_to_run_and_to_have_the_gpu(facts):
    [container] = facts["guests"]["containers"]["value"]
    assert (container["id"], container["running"]) == ("101", True)
    assert [gpu["bdf"] for gpu in facts["gpus"] if gpu["containers"] == ["101"]] == ["0001:01:00.0"]
