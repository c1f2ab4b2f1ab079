# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisted values and real reboots: guests that systemd runs are persisted, rebooted, verified, cleared, rebooted.

At boot another file of sysctl.d sets one of the values, a GPU is in use, idle states appear while gpuhost-boot runs;
later a driver is bound to a GPU that was reset. Debian 13 alone; GPUHOST_VM_FULL=1 tells it on Debian 12 too, and
makes /etc read-only.
"""
from __future__ import annotations

import os
import re
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.vm
SYSTEMD = True
FULL = os.environ.get("GPUHOST_VM_FULL") == "1"
GUESTS = ["debian12", "debian13"] if FULL else ["debian13"]
on_each = pytest.mark.parametrize("release", GUESTS, indirect=True)

GPUS = [f"{domain}:{bus}:00.0" for domain in ("0001", "0002") for bus in ("01", "04", "05", "06")]
BUSY, REBOUND = GPUS[3], GPUS[0]
CPU = "/sys/devices/system/cpu"
IDLE = [f"{CPU}/cpu{cpu}/cpuidle/state2/disable" for cpu in (0, 1)]
OVERRULED = "sysctl:net.core.rmem_max"
WANTED = {
    "sysctl": {"kernel.numa_balancing": "0", "kernel.sched_autogroup_enabled": "0", "net.core.rmem_max": 16777216,
               "net.core.wmem_max": 16777216, "vm.dirty_bytes": 268435456, "vm.swappiness": 10},
    "sysfs": {"/sys/kernel/mm/transparent_hugepage/enabled": "madvise", f"{CPU}/cpufreq/boost": 0,
              **{f"{CPU}/cpufreq/policy{cpu}/scaling_governor": "performance" for cpu in (0, 1)},
              **dict.fromkeys(IDLE, 1)},
    "pcie_maxreadreq": dict.fromkeys(GPUS, 4096),
    "module": {"gdrdrv": "present"},
}
ADDRESSES = {f"{kind}:{name}" for kind, named in WANTED.items() for name in named}

# A service that serves holds a GPU before ours runs.
PLANT = """
cat > /etc/systemd/system/serving.service <<'END'
[Unit]
Before=gpuhost-boot.service
[Service]
ExecStart=/bin/sh -c 'exec 3< /dev/nvidia3; exec sleep infinity'
END
cat > /etc/systemd/system/late.service <<'END'
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'until pgrep -f [g]puhost-boot.pyz > /dev/null; do sleep 0.2; done; modprobe testhw_cpuidle'
END
systemctl --no-reload enable testhw.service
testhw healthy
"""
# What happens at the next boot only: idle states come late, one GPU is in use, another file sets a value.
PLANT_FOR_BOOT = """
ln -s ../serving.service ../late.service /etc/systemd/system/multi-user.target.wants/
sed -i 's/ testhw_cpuidle//' /usr/local/sbin/testhw
printf '# of this site\\nnet.core.rmem_max = 1000000\\n' > /etc/sysctl.d/99-site.conf
sync
"""
CLEAR = """
rm /etc/systemd/system/multi-user.target.wants/serving.service /etc/systemd/system/multi-user.target.wants/late.service
rm /etc/sysctl.d/99-site.conf
sync
"""
SETTLED = """
for second in $(seq 120); do
    [ -s /run/gpuhost/boot.json ] && ! pgrep -f '[g]puhost-boot.pyz' > /dev/null && exit 0
    sleep 1
done
systemctl status gpuhost-boot.service; exit 1
"""
READ_ONLY = "mount --bind /etc /etc && mount -o remount,bind,ro /etc"
FILES = "find /etc /usr/local /var/lib/gpuhost -type f -exec sha256sum {} +"
REBIND = f"""
driver=/sys/bus/pci/drivers/nvidia
echo {REBOUND} > $driver/unbind
testhw event {REBOUND} reset
echo "reset: $(setpci -s {REBOUND} CAP_EXP+8.w)"
echo {REBOUND} > $driver/bind
for second in $(seq 60); do
    case "$(setpci -s {REBOUND} CAP_EXP+8.w)" in 5*) break;; esac
    sleep 1
done
echo "bound: $(setpci -s {REBOUND} CAP_EXP+8.w)"
"""
TELL = f"""
cd /proc/sys && grep -H . kernel/numa_balancing kernel/sched_autogroup_enabled net/core/rmem_max net/core/wmem_max \
    vm/dirty_bytes vm/swappiness
grep -H . /sys/kernel/mm/transparent_hugepage/enabled {CPU}/cpufreq/boost {CPU}/cpufreq/policy*/scaling_governor
for gpu in {' '.join(GPUS)}; do echo "$gpu:$(setpci -s $gpu CAP_EXP+8.w)"; done
ls -d /sys/module/gdrdrv 2>/dev/null
find /etc /usr/local /var/lib -name '*gpuhost*'
true
"""


@pytest.fixture(scope="module")
def story(play, reboot, in_every_guest):
    """What every play said, and what every guest was like."""
    told = SimpleNamespace()

    in_every_guest(PLANT)
    told.before = in_every_guest(TELL)
    told.persisted = play("persist.yml", gpuhost_values=WANTED)
    in_every_guest(PLANT_FOR_BOOT)
    reboot()
    in_every_guest(SETTLED)
    told.after_boot = in_every_guest(TELL)
    told.rebound = in_every_guest(REBIND)
    told.verified = play("verify.yml")
    if FULL:
        tell_read_only(told, play, in_every_guest)
    in_every_guest(CLEAR)
    told.removed = play("persist.yml", gpuhost_persist_state="absent")
    reboot()
    told.after_absent = in_every_guest(TELL)
    told.verified_again = play("verify.yml")
    return told


def tell_read_only(told, play, in_every_guest):
    in_every_guest(READ_ONLY)
    before = in_every_guest(FILES)
    told.read_only = [play("persist.yml", gpuhost_values={"sysctl": {"vm.swappiness": 11}}),
                      play("persist.yml", gpuhost_persist_state="absent")]
    told.untouched = in_every_guest(FILES) == before
    in_every_guest("umount /etc")


def lines(story, release):
    return {line["address"]: line for line in story.verified.one(release, action="verify")["persisted"]}


@on_each
def test_all_else_is_in_effect_after_a_reboot(story, release):
    story.persisted.succeeded()
    found = lines(story, release)
    assert set(found) == ADDRESSES
    assert {address for address, line in found.items() if line["state"] != "applied"} == {
        OVERRULED, f"pcie_maxreadreq:{BUSY}"}


@on_each
def test_the_kernel_says_so_too(story, release):
    told = dict(line.split(":", 1) if not line[:4].isdigit() else line.rsplit(":", 1)
                for line in story.after_boot[release].splitlines() if ":" in line)
    assert (told["vm/dirty_bytes"], told["vm/swappiness"], told["kernel/numa_balancing"]) == ("268435456", "10", "0")
    assert told["/sys/kernel/mm/transparent_hugepage/enabled"] == "always [madvise] never"
    assert told[f"{CPU}/cpufreq/policy1/scaling_governor"] == "performance"
    assert {told[gpu] for gpu in GPUS if gpu != BUSY} == {"593f"}


@on_each
def test_the_file_that_wins_is_named(story, release):
    line = lines(story, release)[OVERRULED]
    assert (line["state"], line["found"], line["by"]) == ("overruled", "1000000", "/etc/sysctl.d/99-site.conf, line 2")


@on_each
def test_a_gpu_in_use_keeps_its_value_and_the_service_says_why(story, release):
    line = lines(story, release)[f"pcie_maxreadreq:{BUSY}"]
    assert (line["state"], line["found"]) == ("failed", 512)
    assert "gpuhost-boot.service: " in line["reason"]
    assert "in use by sleep" in line["reason"]


@on_each
def test_what_appears_late_is_set(story, release):
    found = lines(story, release)
    assert {found[f"sysfs:{path}"]["state"] for path in IDLE} == {"applied"}


@on_each
def test_a_driver_that_is_bound_later_starts_the_service_again(story, release):
    assert [word[0] for word in story.rebound[release].split()[1::2]] == ["2", "5"]     # 512 bytes, then 4096


@on_each
@pytest.mark.skipif(not FULL, reason="a part of make soak: GPUHOST_VM_FULL=1 asks for it")
def test_read_only_etc_is_refused_and_nothing_is_written_or_removed(story, release):
    for run in story.read_only:
        message = run.failed().one(release, action="persisted")["msg"]
        assert re.match(r"/etc/\S+ is on a read-only file system: make it writable", message)
    assert story.untouched


@on_each
def test_absent_leaves_nothing_at_the_next_boot(story, release):
    story.removed.succeeded()
    story.verified_again.succeeded()
    assert story.verified_again.one(release, action="verify")["persisted"] == []
    assert story.after_absent[release] == story.before[release]
    assert "gpuhost" not in story.after_absent[release]
