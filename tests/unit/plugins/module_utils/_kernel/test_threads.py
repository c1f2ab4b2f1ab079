# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import threading

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel import threads

from hosts.movable import IO_WORKER, NO_SETAFFINITY, THREADS, VM_PID, movable, plant_stat, plant_thread


def test_threads_of_this_process_as_the_kernel_has_them():
    """A real process: two threads on different CPUs, where the machine has two."""
    cpus = sorted(os.sched_getaffinity(0))
    ready, done = threading.Event(), threading.Event()
    numbers = []

    def stay():
        numbers.append(threading.get_native_id())
        os.sched_setaffinity(0, cpus[:1])
        ready.set()
        done.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    ready.wait(60)
    try:
        found = threads.read_affinities(Host("/"), os.getpid())
        assert found.value[numbers[0]] == str(cpus[0])
        assert sorted(map(int, os.listdir("/proc/self/task"))) == sorted(found.value)
    finally:
        done.set()
        thread.join()


def test_start_time_of_this_process():
    with open("/proc/self/stat", encoding="utf-8") as file:
        text = file.read()
    with open("/proc/uptime", encoding="utf-8") as file:
        now = float(file.read().split()[0]) * os.sysconf("SC_CLK_TCK")
    assert 0 < threads.parse_started(text) <= now


@pytest.mark.parametrize("text", ["", "1 (a", "1 (a) S 1 2 3", "1 (a) S " + "x " * 40])
def test_text_that_is_no_status(text):
    with pytest.raises(ValueError):
        threads.parse_started(text)


@pytest.mark.parametrize(("flags", "settable"), [(0x00400040, True), (IO_WORKER, False), (NO_SETAFFINITY, False),
                                                 (0x00400040 | NO_SETAFFINITY, False), (0x00004000, True)])
def test_whose_affinity_belongs_to_the_process(tree, host, flags, settable):
    movable(tree)
    plant_thread(tree, VM_PID + 9, "5", flags)
    assert (VM_PID + 9 in threads.read_affinities(host, VM_PID).value) is settable


def test_a_process_that_has_ended(host):
    assert threads.read_affinities(host, 4711).status == "absent"


def test_a_thread_that_cannot_be_read_makes_all_unknown(tree, host):
    movable(tree)
    tree.file(f"/proc/{VM_PID}/task/{THREADS[1]}/status", "Name:\tkvm\n")
    found = threads.read_affinities(host, VM_PID)
    assert (found.status, found.detail.split(":")[0]) == ("unparsable", f"thread {THREADS[1]} of process {VM_PID}")


def test_a_thread_without_files_has_ended(tree, host):
    movable(tree)
    tree.folder(f"/proc/{VM_PID}/task/{VM_PID + 50}")
    assert sorted(threads.read_affinities(host, VM_PID).value) == list(THREADS)


def test_a_process_whose_threads_never_settle(tree, host, monkeypatch):
    movable(tree)
    numbers = iter(range(VM_PID + 10, VM_PID + 400))

    def one_more(_path):
        number = next(numbers)
        plant_thread(tree, number)
        return read_list(f"/proc/{VM_PID}/task")

    read_list = host.read_list
    monkeypatch.setattr(host, "read_list", one_more)
    found = threads.read_affinities(host, VM_PID)
    assert (found.status, found.detail) == (
        "unparsable", f"the threads of process {VM_PID} were listed 16 times and never twice alike")


def test_a_command_with_parentheses_and_blanks(tree, host):
    plant_stat(tree, "/proc/7/stat", 7, 1234)
    assert threads.parse_started(host.read("/proc/7/stat").value) == 1234
