# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks on real kernels from the first prediction to the reboot that ends it, in one telling.

The whole of it on Debian 13; on Debian 12 only tune and restore, for an emulated guest needs minutes. GPUHOST_VM_FULL=1
tells it all on both.
"""
from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.vm
WHOLE = ["debian12", "debian13"] if os.environ.get("GPUHOST_VM_FULL") == "1" else ["debian13"]
whole = pytest.mark.parametrize("release", WHOLE, indirect=True)

PLANT = """
testhw healthy
echo 2200000 > /sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq
"""
# Beside what the profile plans: settings that a kernel couples with others, and a module.
WANTED = {
    "sysctl": {"vm.dirty_bytes": 268435456},
    "sysfs": {"/sys/kernel/mm/transparent_hugepage/enabled": "madvise", "/sys/devices/system/cpu/cpufreq/boost": 0},
    "module": {"gdrdrv": "present"},
}
TELL = """
tell() { printf '%s %s\\n' "$1" "$2"; }
for key in kernel/numa_balancing kernel/sched_autogroup_enabled net/core/rmem_max net/core/wmem_max vm/dirty_bytes \
        vm/dirty_ratio vm/dirty_background_ratio vm/swappiness vm/min_free_kbytes; do
    tell $key "$(cat /proc/sys/$key)"
done
cd /sys/devices/system/cpu/cpufreq
for file in boost policy*/scaling_governor policy*/scaling_max_freq; do tell $file "$(cat $file)"; done
tell thp "$(cat /sys/kernel/mm/transparent_hugepage/enabled)"
for gpu in $(lspci -D -d 10de::0302 | cut -d ' ' -f 1); do tell $gpu "$(setpci -s $gpu CAP_EXP+8.w)"; done
tell gdrdrv "$(cat /sys/module/gdrdrv/initstate 2>/dev/null)"
"""
GPUS = [f"{domain}:{bus}:00.0" for domain in ("0001", "0002") for bus in ("01", "04", "05", "06")]
TUNED = {
    "kernel/numa_balancing": "0", "net/core/rmem_max": "16777216", "net/core/wmem_max": "16777216",
    "vm/dirty_bytes": "268435456", "vm/dirty_ratio": "0",
    "boost": "0", "policy0/scaling_governor": "performance", "policy1/scaling_governor": "performance",
    "thp": "always [madvise] never", "gdrdrv": "live", **dict.fromkeys(GPUS, "593f"),
}


@pytest.fixture(scope="module")
def story(play, reboot, in_every_guest):
    """What every play said and what every guest was like after it."""
    told = SimpleNamespace()

    def states():
        return {name: dict(line.split(" ", 1) for line in text.splitlines())
                for name, text in in_every_guest(TELL).items()}

    some = ("--limit", ",".join(WHOLE))
    in_every_guest(PLANT)
    told.before = states()
    told.predicted = play("tune_runtime.yml", "--check", "--diff", *some, gpuhost_values=WANTED)
    told.after_prediction = states()
    told.tuned = play("tune_runtime.yml", gpuhost_values=WANTED)
    told.after_tune = states()
    told.again = play("tune_runtime.yml", *some, gpuhost_values=WANTED)
    in_every_guest("echo 1000000 > /proc/sys/net/core/rmem_max")
    told.drift = play("verify.yml", *some)
    told.restored = play("restore.yml")
    told.after_restore = states()
    told.retuned = play("tune_runtime.yml", *some, gpuhost_values=WANTED)
    reboot()
    in_every_guest(PLANT)
    told.after_reboot = states()
    told.expired = play("verify.yml", *some)
    return told


def test_every_gpu_starts_with_512_bytes(story, release):
    assert {story.before[release][gpu] for gpu in GPUS} == {"293f"}


@whole
def test_prediction_changes_nothing(story, release):
    story.predicted.succeeded()
    assert story.after_prediction[release] == story.before[release]


@whole
def test_prediction_names_what_the_tune_changes(story, release):
    def addresses(run, outcome):
        return {change["address"] for one in run.of(release) for change in one.result.get("changes", [])
                if change["outcome"] == outcome}
    foreseen = addresses(story.predicted, "would_change")
    assert foreseen == addresses(story.tuned, "changed")
    assert {f"pcie_maxreadreq:{gpu}" for gpu in GPUS} < foreseen
    assert {"sysctl:vm.dirty_bytes", "module:gdrdrv"} < foreseen


def test_tune_sets_what_was_planned(story, release):
    story.tuned.succeeded()
    assert {name: story.after_tune[release][name] for name in TUNED} == TUNED


@whole
def test_second_tune_changes_nothing(story, release):
    story.again.succeeded()
    assert story.again.changed(release) == 0


@whole
def test_change_by_hand_is_drift(story, release):
    story.drift.failed()
    [found] = story.drift.one(release, action="verify")["drift"]
    assert (found["address"], found["expected"], found["found"]) == ("sysctl:net.core.rmem_max", "16777216", "1000000")


def test_restore_brings_everything_back_but_what_a_hand_changed(story, release):
    now, before = story.after_restore[release], story.before[release]
    assert {name: value for name, value in now.items() if value != before[name]} == {"net/core/rmem_max": "1000000"}


@whole
def test_reboot_ends_it_and_verify_says_so(story, release):
    story.retuned.succeeded()
    story.expired.succeeded()
    found = story.expired.one(release, action="verify")
    assert (found["drift"], found["unknown"], found["fine"]) == ([], [], [])
    assert "boot" in found["said"]
    assert story.after_reboot[release] == story.before[release]
