# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed at any step, in the middle of a write too, is taken back as if it had ended."""
from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import tempfile
import time
import traceback

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import pair_lines
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

from hosts.config_space import ConfigSpace
from hosts.cpu import CPUFREQ, plant_frequency
from hosts.memory import THP, plant_thp
from hosts.pci import plant_gpu, plant_root_port
from hosts.setters import apply_values, file_bytes, read_everything, restore_values
from hosts.tree import Tree

GPUS = ("0000:01:00.0", "0000:41:00.0")
VALUES = {
    "sysctl": {"kernel.numa_balancing": 0, "vm.swappiness": 10, "vm.dirty_ratio": 10,
               "vm.dirty_background_bytes": 1 << 26, "net.ipv4.tcp_rmem": "4096 65536 16777216",
               "net.core.rmem_max": {"at_least": 16777216}},
    "sysfs": {f"{CPUFREQ}/policy*/scaling_governor": "performance",
              f"{CPUFREQ}/policy*/energy_performance_preference": "performance", f"{THP}/enabled": "madvise"},
    "pcie_maxreadreq": dict.fromkeys(GPUS, 4096),
}
NAMES = {kind: [*values] for kind, values in VALUES.items()}
NAMES["sysctl"] = [*NAMES["sysctl"], "vm.dirty_bytes", "vm.dirty_background_ratio"]
CHOICE = ("transparent_hugepage/enabled",)


class Killer:
    """Counts steps, and kills its own process at step `at`."""

    def __init__(self, at=None):
        self.at = at
        self.steps = 0

    def step(self):
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps += 1


class KilledHost(Host):
    def __init__(self, root, killer):
        super().__init__(root)
        self.killer = killer

    def _write(self, path, data, flags, offset):
        self.killer.step()
        if flags & os.O_TRUNC:
            os.truncate(self.local(path), 0)        # killed between open(O_TRUNC) and write()
            self.killer.step()
        super()._write(path, data, flags, offset)
        self.killer.step()


def write_in_pieces(killer):
    """What the journal writes lines with, interrupted in the middle of a line."""
    def write_all(handle, data):
        middle = len(data) * 2 // 3
        killer.step()
        os.write(handle, data[:middle])
        killer.step()
        os.write(handle, data[middle:])
        killer.step()

    return write_all


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("killed") / "host")
    for key, value in {"kernel.random.boot_id": "boot-1", "kernel.numa_balancing": 1, "vm.swappiness": 60,
                       "vm.dirty_ratio": 0, "vm.dirty_bytes": 1 << 28, "vm.dirty_background_ratio": 10,
                       "vm.dirty_background_bytes": 0, "net.core.rmem_max": 212992,
                       "net.ipv4.tcp_rmem": "4096\t131072\t6291456"}.items():
        tree.sysctl(key, value)
    plant_frequency(tree, range(2), driver="amd-pstate-epp", governor="powersave", epp="balance_power", boost=None)
    plant_thp(tree, enabled="always")
    for number, (gpu, size) in enumerate(zip(GPUS, (512, 256))):
        port = plant_root_port(tree, f"0000:{0x80 + number:02x}:01.1")
        plant_gpu(tree, gpu, parent=port, config=ConfigSpace().power_management(0x40).express(
            0x78, max_read_request=size))
    return tree.root


def in_child(work, root, killer):
    """Runs `work(host)` in a process of its own; whether it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            journal.write_all = write_in_pieces(killer)
            work(KilledHost(str(root), killer))
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    _pid, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def count_steps(work, root, monkeypatch):
    killer = Killer()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "write_all", write_in_pieces(killer))
        work(KilledHost(str(root), killer))
    return killer.steps


def trials(template, monkeypatch, number, seed):
    dice = random.Random(seed)
    bytes_before = file_bytes(template, CHOICE)
    readings_before = read_everything(Host(str(template)), NAMES)

    def tune(host):
        return apply_values(host, VALUES, run_id="killed")

    killed = unfinished = 0
    with tempfile.TemporaryDirectory() as folder:
        counted = pathlib.Path(folder) / "counted"
        shutil.copytree(template, counted, symlinks=True)
        steps = count_steps(tune, counted, monkeypatch)
        way_back = count_steps(restore_values, counted, monkeypatch)
        assert steps > 100
        for trial in range(number):
            root = pathlib.Path(folder) / str(trial)
            shutil.copytree(template, root, symlinks=True)
            killed += in_child(tune, root, Killer(dice.randrange(steps)))
            unfinished += any(not write.known for write in pair_lines(read_journal(Host(str(root))).value or []))
            # The way back may be killed too, and then goes on.
            if dice.random() < 0.3:
                in_child(restore_values, root, Killer(dice.randrange(way_back)))
            back = restore_values(Host(str(root)))
            assert all(change["outcome"] in ("changed", "unchanged") for change in back), (trial, back)
            assert file_bytes(root, CHOICE) == bytes_before, trial
            assert read_everything(Host(str(root)), NAMES) == readings_before, trial
            shutil.rmtree(root)
    assert killed == number
    assert unfinished > number / 4      # the kills did fall between a start and its end


def test_killed_runs_are_taken_back(template, monkeypatch):
    trials(template, monkeypatch, 60, seed=20261129)


@pytest.mark.soak
def test_1000_killed_runs_are_taken_back(template, monkeypatch):
    trials(template, monkeypatch, 1000, seed=time.time_ns())


def test_two_at_once_take_turns(template, tmp_path):
    """Two processes want different values of the same tunables: each waits for the other, and the way back is one."""
    root = tmp_path / "host"
    shutil.copytree(template, root, symlinks=True)
    bytes_before = file_bytes(root, CHOICE)
    children = []
    for number, size in enumerate((1024, 4096)):
        child = os.fork()
        if child == 0:
            values = {"sysctl": {"vm.swappiness": 5 + number, "kernel.numa_balancing": 2 + number},
                      "pcie_maxreadreq": dict.fromkeys(GPUS, size)}
            for _turn in range(10):
                done = apply_values(Host(str(root)), values, run_id=f"run-{number}", lock_timeout=60)
                if any(change["outcome"] not in ("changed", "unchanged") for change in done):
                    os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    lines = read_journal(Host(str(root))).value
    open_writes = []
    for line in lines:      # never a line of one run between the start and the end of another's write
        if line["event"] == "start":
            open_writes.append((line["run"], line["address"]))
        else:
            open_writes.remove((line["run"], line["address"]))
        assert len({run for run, _address in open_writes}) <= 1
    assert {line["run"] for line in lines} == {"run-0", "run-1"}
    restore_values(Host(str(root)))
    assert file_bytes(root, CHOICE) == bytes_before


def test_the_second_is_told_who_holds_the_host(template, tmp_path):
    root = tmp_path / "host"
    shutil.copytree(template, root, symlinks=True)
    with journal.Journal(Host(str(root)), "20261129T183000Z-4f2a"):
        done = apply_values(Host(str(root)), VALUES, lock_timeout=0.1)
    assert {change["outcome"] for change in done} == {"refused"}
    assert all("run 20261129T183000Z-4f2a (pid " in change["reason"] for change in done)
