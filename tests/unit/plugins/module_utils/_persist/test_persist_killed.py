# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed at any step leaves each file old or new as a whole, and the next run takes it from there."""
from __future__ import annotations

import functools
import os
import random
import shutil
import signal
import traceback

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist import persist as room
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.paths import FILES, LEDGER

from hosts.persisting import GPUS, KSM, THP, persisting, snapshot
from hosts.tree import Tree

CHANGING = ("mkdir", "rename", "unlink", "symlink", "rmdir", "fchmod")
OLD = {"sysctl": {"vm.swappiness": 20}, "sysfs": {KSM: "0"}}
NEW = {"sysctl": {"vm.swappiness": 10, "kernel.numa_balancing": 0}, "sysfs": {THP: "madvise"}}


def kill_at(step):
    """Make this process kill itself at that one of its steps: before a call that changes something, and within it."""
    left = iter(range(step, -1, -1))

    def count():
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def stepping(call):
        def run(*given, **named):
            count()
            return call(*given, **named)
        return run

    for name in CHANGING:
        setattr(os, name, stepping(getattr(os, name)))
    write, make = os.write, os.open

    def write_in_pieces(handle, data):
        middle = len(data) * 2 // 3
        count()
        write(handle, data[:middle])
        count()
        return middle + write(handle, data[middle:])

    def open_new(path, flags, *given, **named):
        if flags & os.O_CREAT:
            count()
        return make(path, flags, *given, **named)
    os.write, os.open = write_in_pieces, open_new


def killed(step, call):
    """Whether a child that calls `call` reached its step; else it came to its end, as it has to."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            kill_at(step)
            call()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def persist(tree, values, run_id="r"):
    return room.persist(Host(str(tree.root)), values, run_id=run_id)


def remove(tree):
    return room.remove(Host(str(tree.root)), run_id="gone")


def ours(tree):
    """The files of the list, as snapshot() tells them."""
    found = snapshot(tree)
    return {path: found.get(path) for path in FILES}


def is_old_or_new(now, old, new):
    return all(now[path] in (old[path], new[path]) for path in FILES)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Trees with nothing persisted, with OLD, and what the files are with NEW."""
    bare = persisting(Tree(tmp_path_factory.mktemp("bare")), gpus=())
    old = Tree(copied(bare, tmp_path_factory.mktemp("old")))
    persist(old, OLD, "old")
    new = Tree(copied(bare, tmp_path_factory.mktemp("new")))
    persist(new, NEW, "new")
    return bare, old, ours(new)


def copied(tree, folder):
    shutil.rmtree(folder)
    return shutil.copytree(tree.root, folder, symlinks=True)


def every_step(tmp_path, start, call):
    """The tree after a kill at each step, until none is reached."""
    for step in range(2000):
        tree = Tree(copied(start, tmp_path))
        if not killed(step, functools.partial(call, tree)):
            assert step > 10
            return
        yield tree


def test_killed_at_each_step_while_it_writes_the_first_files(states, tmp_path):
    bare, _old, new = states
    before = snapshot(bare)
    for tree in every_step(tmp_path, bare, lambda tree: persist(tree, NEW, "new")):
        assert is_old_or_new(ours(tree), ours(bare), new)
        assert snapshot(tree).keys() - before.keys() == set() or tree.path(LEDGER).exists() or leftovers(tree)
        remove(tree)
        assert snapshot(tree) == before


def leftovers(tree):
    """What is there of a run that never came to write its ledger has a name that no service reads."""
    return [path for path in snapshot(tree) if path.endswith(".gpuhost-new")]


def test_killed_at_each_step_while_it_replaces_older_files(states, tmp_path):
    bare, old, new = states
    for number, tree in enumerate(every_step(tmp_path, old, lambda tree: persist(tree, NEW, "new"))):
        now = ours(tree)
        assert is_old_or_new(now, ours(old), new)
        if number % 2:
            remove(tree)
            assert snapshot(tree) == snapshot(bare)
            continue
        done = persist(tree, NEW, "again")
        assert ours(tree) == new
        assert leftovers(tree) == []
        if done.interrupted:
            assert done.interrupted.startswith("run new was killed while it wrote the files")
        else:
            assert now in (ours(old), new)


def test_killed_at_each_step_while_it_removes(states, tmp_path):
    bare, old, _new = states
    for number, tree in enumerate(every_step(tmp_path, old, remove)):
        now = ours(tree)
        assert is_old_or_new(now, ours(old), ours(bare))
        if number % 2:
            done = persist(tree, OLD, "again")
            assert ours(tree) == ours(old)
            assert done.interrupted is None or done.interrupted.startswith("run gone was killed while it removed")
        remove(tree)
        assert snapshot(tree) == snapshot(bare)


def random_plan(dice):
    plan = {
        "sysctl": {key: dice.randrange(1, 100) for key in dice.sample(
            ["vm.swappiness", "vm.dirty_ratio", "net.core.rmem_max"], dice.randrange(4))},
        "sysfs": dice.choice([{}, {THP: "never"}, {THP: "madvise", KSM: 0}]),
        "pcie_maxreadreq": {bdf: dice.choice([128, 1024, 4096]) for bdf in GPUS[:dice.randrange(3)]},
    }
    plan["sysctl"].update({"net.core.rmem_max": 1 << 20} if "net.core.rmem_max" in plan["sysctl"] else {})
    return {kind: named for kind, named in plan.items() if named} or {"sysctl": {"vm.swappiness": 1}}


@pytest.mark.parametrize("seed", range(100))
def test_a_random_plan_leaves_the_tree_as_it_was_whatever_is_killed(tmp_path, seed):
    dice = random.Random(seed)
    tree = persisting(Tree(tmp_path / "host"))
    for folder in dice.sample(["/etc/sysctl.d", "/etc/udev/rules.d", "/var/lib", "/usr/local/lib"], dice.randrange(4)):
        tree.path(folder).rmdir()
    if dice.random() < 0.5:
        tree.file("/etc/sysctl.d/10-site.conf", "vm.laptop_mode = 0").file("/usr/local/lib/x", "theirs")
    before = snapshot(tree)
    for _time in range(dice.randrange(1, 4)):
        plan = random_plan(dice)
        if dice.random() < 0.7:
            killed(dice.randrange(60), lambda plan=plan: persist(tree, plan))
        else:
            persist(tree, plan)
            assert not persist(tree, plan, "again").changed
        if dice.random() < 0.3:
            killed(dice.randrange(40), lambda: remove(tree))
    remove(tree)
    assert snapshot(tree) == before
    assert not remove(tree).changed
