# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tune whose controller is killed, or whose network is cut, in the middle: restore brings back what it had done."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from checkout import REPOSITORY

GUESTS = ["debian13"]
pytestmark = [pytest.mark.vm, pytest.mark.parametrize("release", GUESTS, indirect=True)]

TELL = """
cat /proc/sys/kernel/numa_balancing /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max
cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor
for gpu in $(lspci -D -d 10de::0302 | cut -d ' ' -f 1); do setpci -s $gpu CAP_EXP+8.w; done
"""
BEFORE = ["1", "212992", "212992", "schedutil", "schedutil"] + ["293f"] * 8
# The first line of the journal is written before the first change.
FIRST_CHANGE = "until [ -s /run/gpuhost/journal.jsonl ]; do sleep 0.2; done"
NO_MODULE_RUNS = "while pgrep python3 > /dev/null; do sleep 0.5; done"
PATIENCE = 1200     # seconds; an emulated guest on a busy machine takes minutes to its first change


@pytest.fixture
def guest(guests, release):
    """A host in good order that was never tuned in this boot."""
    guest = guests[release]
    if guest.run("ls -d /sys/module/testhw_pci", check=False):      # of the test before
        guest.reboot()
    guest.run("testhw healthy")
    assert guest.run(TELL).split() == BEFORE
    return guest


@pytest.fixture
def tune(guest, controller, hosts, release):
    """A tune of `guest` that runs on its own; its process group goes at the end."""
    inventory = controller.inventory({release: hosts[release]})
    given = {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "tune_runtime.yml"),
         "-i", str(inventory), "-e", json.dumps(given)],
        env=controller.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def restore(play, release):
    return lambda: play("restore.yml", "--limit", release).succeeded()


def test_controller_is_killed(guest, tune, restore):
    guest.run(FIRST_CHANGE, timeout=PATIENCE)
    os.killpg(tune.pid, signal.SIGKILL)
    tune.wait()
    guest.run(NO_MODULE_RUNS, timeout=PATIENCE)
    assert guest.run(TELL).split() != BEFORE
    restore()
    assert guest.run(TELL).split() == BEFORE


def test_network_is_cut(guest, tune, restore):
    guest.run(FIRST_CHANGE, timeout=PATIENCE)
    guest.monitor("set_link", name="net0", up=False)
    output, _nothing = tune.communicate(timeout=PATIENCE)
    guest.monitor("set_link", name="net0", up=True)
    assert tune.returncode == 4, output     # hosts that could not be reached
    guest.run(NO_MODULE_RUNS, timeout=PATIENCE)
    assert guest.run(TELL).split() != BEFORE
    restore()
    assert guest.run(TELL).split() == BEFORE
