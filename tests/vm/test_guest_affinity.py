# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of running guests on a kernel with two NUMA nodes: moved, seen by verify, drifted, and restored.

The containers are LXC's, in the control groups that Proxmox VE gives them. The VMs are stand-ins: a process with
threads, or a shell, in the control group and with the command line of a VM's QEMU.
"""
from __future__ import annotations

import pytest

GUESTS = ["debian13"]       # LXC is there alone
PATIENCE = 900              # seconds; an emulated guest on a busy machine takes minutes for two modules
pytestmark = pytest.mark.vm

# Memory is where the CPU is that first writes to it: CPU 0 (mask 1) is on node 0, CPU 1 (mask 2) on node 1.
PLANT = r"""
set -e
echo '+cpuset +memory' > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /etc/pve/nodes/pve1/lxc /etc/pve/nodes/pve1/qemu-server /run/qemu-server /sys/fs/cgroup/qemu.slice
echo +memory > /sys/fs/cgroup/qemu.slice/cgroup.subtree_control
for link in local: lxc:/lxc qemu-server:/qemu-server; do ln -s "nodes/pve1${link#*:}" "/etc/pve/${link%:*}"; done
echo '{"nodename": "pve1"}' > /etc/pve/.members
sleep 86400 > /dev/null 2>&1 &
echo $! > /run/pvestatd.pid

for number in 101 102; do
    folder=/var/lib/lxc/$number
    mkdir -p $folder/rootfs/bin $folder/rootfs/dev $folder/rootfs/proc $folder/rootfs/sys
    cp /usr/bin/busybox $folder/rootfs/bin/sleep
    cpus='lxc.cgroup2.cpuset.cpus: 0-1'
    [ $number = 101 ] || cpus='cores: 1'
    echo "$cpus" > /etc/pve/lxc/$number.conf
    {
        echo "lxc.rootfs.path = dir:$folder/rootfs"
        echo "lxc.init.cmd = /bin/sleep 86400"
        echo "lxc.net.0.type = empty"
        echo "lxc.apparmor.profile = unconfined"
        echo "lxc.cgroup.relative = 0"
        echo "lxc.cgroup.dir.monitor = lxc.monitor/$number"
        echo "lxc.cgroup.dir.container = lxc/$number"
        echo "lxc.cgroup.dir.container.inner = ns"
        echo "lxc.cgroup2.cpuset.cpus = 0-1"    # which Proxmox VE picks itself where cores is given
    } > $folder/config
    taskset 1 lxc-start -n $number
done

cat > /root/standin.py <<'END'
import threading, time
held = b"x" * (8 << 20)
for _number in range(3):
    threading.Thread(target=time.sleep, args=(86400,)).start()
while True:     # like the workers of QEMU's thread pool
    threading.Thread(target=time.sleep, args=(2,)).start()
    time.sleep(1)
END
cat > /root/start-vm <<'END'
number=$1 mask=$2
shift 2
group=/sys/fs/cgroup/qemu.slice/$number.scope
mkdir -p $group
echo 'cores: 1' > /etc/pve/qemu-server/$number.conf
setsid sh -c 'echo $$ > "$0"/cgroup.procs; exec taskset "$@"' $group $mask "$@" -id $number > /dev/null 2>&1 &
until pid=$(cat $group/cgroup.procs) && grep -q -- "-id" /proc/$pid/cmdline; do sleep 0.1; done
echo $pid > /run/qemu-server/$number.pid
END
sh /root/start-vm 200 1 python3 /root/standin.py
mkfifo /root/never
sh /root/start-vm 201 2 sh -c ': < /root/never' sh
sh /root/start-vm 202 1 sh -c ': < /root/never' sh
taskset -p 3 "$(cat /run/qemu-server/202.pid)"
cd "/proc/$(cat /run/qemu-server/200.pid)/task"
until [ "$(ls | wc -l)" -ge 5 ]; do sleep 0.2; done
taskset -a -p 3 "$(cat /run/qemu-server/200.pid)"
taskset -p 2 "$(ls -v | sed -n 2p)"
"""
TELL = r"""
for file in /sys/fs/cgroup/lxc/101/cpuset.cpus /sys/fs/cgroup/lxc/101/ns/cpuset.cpus; do
    echo "$(cat $file);"
done
cd "/proc/$(cat /run/qemu-server/200.pid)/task"
for thread in $(ls -v | head -4); do sed -n 's/^Cpus_allowed_list:\t//p' $thread/status; done
"""
THREADS = r'cd "/proc/$(cat /run/qemu-server/200.pid)/task"; set -- $(ls -v | head -4)'
WANTED = {"vm:200": "0", "vm:201": "0", "vm:202": "0", "lxc:101": "0", "lxc:102": "0"}
BEFORE, MOVED = "0-1; ; 0-1 1 0-1 0-1", "0; ; 0 0 0 0"

# A run that wanted CPU 1 was killed when it had moved two threads, one of them that which a hand had moved: its line in
# the journal has no end.
KILLED = THREADS + r"""
taskset -p 2 $2
pid=$(cat /run/qemu-server/200.pid)
started=$(sed 's/.*) //' /proc/$pid/stat | cut -d ' ' -f 20)
printf '{"event": "start", "at": "2026-12-01T00:00:00Z", "run": "killed", "boot": "%s", ' \
    "$(cat /proc/sys/kernel/random/boot_id)" >> /run/gpuhost/journal.jsonl
printf '"address": "guest_affinity:vm:200", "before": "0", "wanted": "1", "restores": false, "together": [], ' \
    >> /run/gpuhost/journal.jsonl
printf '"identity": "vmid 200 pid %s starttime %s"}\n' "$pid" "$started" >> /run/gpuhost/journal.jsonl
"""


@pytest.fixture(scope="module")
def node(guests):
    if "debian13" not in guests:
        pytest.skip("GPUHOST_VM_RELEASES leaves out debian13")
    told = guests["debian13"].run(PLANT + "echo planted\n" + TELL)
    assert " ".join(told.partition("planted\n")[2].split()) == BEFORE
    return guests["debian13"]


@pytest.fixture(scope="module")
def tell(node):
    return lambda: " ".join(node.run(TELL).split())


@pytest.fixture(scope="module")
def moved(play, tell):
    """`{guest: its change}`."""
    answer = play("guest_affinity.yml", values_of_guests=WANTED).succeeded().one("debian13", action="guest_affinity")
    assert tell() == MOVED
    return {change["address"].partition(":")[2]: change for change in answer["changes"]}


@pytest.fixture(scope="module")
def verified(node, moved, play):
    """What verify finds after a hand moved one thread of VM 200, and VM 202 was started anew."""
    node.run(THREADS + r"""
        taskset -p 2 $3
        kill "$(cat /run/qemu-server/202.pid)"
        until [ -z "$(cat /sys/fs/cgroup/qemu.slice/202.scope/cgroup.procs)" ]; do sleep 0.2; done
        sh /root/start-vm 202 1 sh -c ': < /root/never' sh
        """)
    answer = play("verify.yml", gpuhost_timeout=PATIENCE).failed().one("debian13", action="verify")
    return {state: {line["address"].partition(":")[2]: line for line in answer[state]}
            for state in ("fine", "drift", "expired")}


@pytest.fixture(scope="module")
def restored(node, verified, play):
    node.run(KILLED)
    return play("restore.yml", gpuhost_timeout=PATIENCE).succeeded()


def test_guests_are_moved_by_thread_and_by_control_group(moved):
    assert {guest: moved[guest]["outcome"] for guest in ("vm:200", "vm:202", "lxc:101")} == dict.fromkeys(
        ("vm:200", "vm:202", "lxc:101"), "changed")
    assert moved["lxc:101"]["before"] == "0-1"
    general, pinned = moved["vm:200"]["before"].split()
    assert (general, pinned.partition("=")[2]) == ("0-1", "1")


def test_a_guest_stays_at_its_memory(moved):
    assert moved["vm:201"]["outcome"] == "refused"
    assert moved["vm:201"]["reason"] == ("the CPUs 0 are on node 0, its memory is 100 % on node 1: a guest is only "
                                         "moved to where most of its memory is")


def test_a_container_whose_cpus_pvestatd_sets_is_refused(moved):
    assert moved["lxc:102"]["outcome"] == "refused"
    assert moved["lxc:102"]["reason"].startswith("pvestatd would take it back within 10 seconds")


def test_verify_sees_what_is_as_it_was_left_and_what_is_not(verified):
    assert list(verified["fine"]) == ["lxc:101"]
    assert list(verified["drift"]) == ["vm:200"]
    general, moved_by_hand = verified["drift"]["vm:200"]["found"].split()
    assert (general, moved_by_hand.partition("=")[2]) == ("0", "1")


def test_a_guest_that_was_started_anew_has_expired(verified):
    assert list(verified["expired"]) == ["vm:202"]
    assert verified["expired"]["vm:202"]["reason"].startswith("the guest was restarted since: found vmid 202 pid ")


def test_restore_brings_back_each_thread_after_a_killed_run_too(restored, tell):
    assert {change["address"]: change["outcome"] for result in restored.of("debian13", action="guest_affinity")
            for change in result.result.get("changes", [])} == {
        "guest_affinity:vm:200": "changed", "guest_affinity:lxc:101": "changed"}
    assert "guest_affinity:vm:202: expired: the guest was restarted since" in " ".join(restored.stdout.split())
    assert tell() == BEFORE
