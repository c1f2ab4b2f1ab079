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


# A service on CPU 1 and node 1 that has taken 24 MiB there and holds the second GPU, and one that runs anywhere.
SERVICES = r"""
cd /sys/fs/cgroup
echo '+cpuset +memory' > cgroup.subtree_control
mkdir -p system.slice
echo '+cpuset +memory' > system.slice/cgroup.subtree_control
mkdir system.slice/near.service system.slice/far.service
echo 1 > system.slice/near.service/cpuset.cpus
echo 1 > system.slice/near.service/cpuset.mems
echo 67108864 > system.slice/near.service/memory.max
for unit in near:1 far:4
do
    setsid sh -c 'echo $$ > /sys/fs/cgroup/system.slice/$1.service/cgroup.procs
                  exec python3 -c "import time; held = b\"x\" * (24 << 20); time.sleep(3600)" < /dev/nvidia$2' \
        placed "${unit%:*}" "${unit#*:}" > /dev/null 2>&1 &
done
until [ "$(grep -c . system.slice/near.service/cgroup.procs)" = 1 ] &&
      [ "$(sed -n 's/^anon .*N1=//p' system.slice/near.service/memory.numa_stat)" -gt 25165824 ]
do
    sleep 0.2
done
sed -n 's/^anon N0=\([0-9]*\) N1=\([0-9]*\)$/\1 \2/p' system.slice/near.service/memory.numa_stat
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
def anon(guest, moved):
    """KiB on each node that the kernel counts for the service, as sed reads it."""
    return [int(size) >> 10 for size in guest.run(SERVICES).split()]


@pytest.fixture(scope="module")
def facts(play, moved, anon):
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


def test_where_services_run_and_have_their_memory(facts, anon):
    services = {one["name"]: one["real"] for one in facts["placement"]["processes"]["value"]}
    near = services["near.service"]
    assert {name: near[name]["value"] for name in ("cpuset", "cpus", "memory_nodes", "memory_limit_kib")} == {
        "cpuset": "1", "cpus": "1", "memory_nodes": "1", "memory_limit_kib": 65536}
    assert near["threads"]["value"] == [{"cpus": "1", "count": 1}]
    assert [row["anon_kib"] for row in near["memory"]["value"]] == pytest.approx(anon, abs=1024)
    assert anon[0] < 1024 < 24 << 10 <= anon[1]
    far = services["far.service"]
    assert (far["cpus"]["value"], far["memory_nodes"]["value"]) == ("0-1", "0-1")


def test_cores_of_the_machine_are_those_that_it_was_given(facts):
    assert facts["placement"]["cores"] == ["0", "1"]
    [container] = facts["placement"]["guests"]["value"]
    assert container["real"]["cpus"]["value"] in ("0-1", None)
