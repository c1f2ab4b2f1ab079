# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""THIS TEST CHANGES THE MACHINE IT RUNS ON: transparent huge pages, by the experiment itself, and one harmless sysctl.

A walk through 1 GiB in which every step depends on the last one is about twice as fast with huge pages: with small ones
each step misses the TLB. What holds the writing back of dirty pages back until a disk spins, vm.laptop_mode, is nothing
to it. The experiment has to tell these two apart, and the machine is as it was afterwards.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
LAPTOP = pathlib.Path("/proc/sys/vm/laptop_mode")
RESERVE = pathlib.Path("/proc/sys/vm/min_free_kbytes")      # which the kernel computes anew with THP
RUNS = ("20260101T000000Z-0001", "20260101T000000Z-0002")      # ids of the experiments of this file
JOURNAL, LOCK = pathlib.Path("/run/gpuhost/journal.jsonl"), pathlib.Path("/run/gpuhost/lock")
WALK = r"""
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

int main(void)
{
    const size_t size = (size_t)1 << 30, count = size / sizeof(uint64_t);
    const long steps = 1000000;
    uint64_t state = 88172645463325252u;
    struct timespec begin, end;
    uint64_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < count; at += 512)      /* a page is there once it is written to */
        memory[at] = 1;
    /* Time of the processor, not of the clock on the wall: other tests may run beside this one. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (long step = 0; step < steps; step++) {     /* Marsaglia's xorshift, led on by what the memory holds */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state += memory[state % count];
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("{\"steps\": %.0f, \"last\": %lu}\n",
           steps / ((end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9), (unsigned long)state);
    return 0;
}
"""


def _why_not():
    if os.geteuid():
        return "it needs root"
    if shutil.which("gcc") is None:
        return "it needs gcc"
    if not all(path.exists() and os.access(path, os.W_OK) for path in (THP, LAPTOP, RESERVE)):
        return f"{THP}, {LAPTOP} or {RESERVE} cannot be written here"
    with open("/proc/meminfo", encoding="ascii") as lines:
        free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return None if free > 3 << 20 else f"it needs 3 GiB of memory, and {free >> 10} MiB are available"


# A file system that is mounted read-only says so only when it is opened.
def _writable(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


pytestmark = [pytest.mark.once,
              pytest.mark.skipif(_why_not() is not None, reason=str(_why_not())),
              pytest.mark.skipif(not all(map(_writable, (THP, LAPTOP, RESERVE))), reason="mounted read-only")]


def chosen():
    return THP.read_text().partition("[")[2].partition("]")[0]


@pytest.fixture
def machine(controller, machine_alone):
    """Huge pages off to begin with; at the end everything as it was, whatever the experiment did."""
    before = chosen(), LAPTOP.read_text(), RESERVE.read_text()
    there = JOURNAL.parent.exists()
    lines, holder = (path.read_bytes() if path.exists() else None for path in (JOURNAL, LOCK))
    THP.write_text("never")
    LAPTOP.write_text("0")
    began = RESERVE.read_text()
    yield {"reserve": began}
    _wait_for_worker(controller.reports / "here" / "experiment.json")
    THP.write_text(before[0])
    LAPTOP.write_text(before[1])
    RESERVE.write_text(before[2])
    _take_back_journal(there, lines, holder)


def _wait_for_worker(record):
    """Where this test killed an experiment because it took too long, its worker is still on the way back."""
    end = time.monotonic() + 60
    while record.exists() and json.loads(record.read_text())["ended"] is None and time.monotonic() < end:
        time.sleep(0.5)


def _take_back_journal(there, lines, holder):
    """Our lines go, those that somebody else wrote meanwhile stay."""
    if not there:
        shutil.rmtree(JOURNAL.parent, ignore_errors=True)
        return
    with open(LOCK, "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        added = JOURNAL.read_bytes()[len(lines or b""):].splitlines(keepends=True)
        others = [line for line in added if json.loads(line)["run"] not in RUNS]
        JOURNAL.write_bytes((lines or b"") + b"".join(others))
        if not others:
            lock.seek(0)
            lock.truncate()
            lock.write(holder or b"")
    for path, was in ((JOURNAL, lines), (LOCK, holder)):
        if was is None and not others:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


@pytest.fixture
def walk(tmp_path):
    source, program = tmp_path / "walk.c", tmp_path / "walk"
    source.write_text(WALK)
    subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
    return program


def experiment(controller, walk, run_id):
    run = controller.play("experiment.yml", {"here": None}, timeout=1800, variables={
        "gpuhost_run_id": run_id,
        "gpuhost_profile": "before_reboot",     # which plans nothing by itself
        "gpuhost_values": {"sysctl": {"vm.laptop_mode": "5"}, "sysfs": {str(THP): "always"}},
        "gpuhost_experiment_mode": "one_at_a_time", "gpuhost_experiment_blocks": 9,
        "gpuhost_benchmark": {"name": "random walk", "command": [str(walk)], "timeout": 60,
                              "metrics": {"steps": {"json": "steps", "better": "higher", "unit": "1/s"}}}}).succeeded()
    document = json.loads((controller.reports / "here" / "experiment.json").read_text())
    assert document["ended"] == "finished", run.output
    verdicts = {arm["toggles"][0]: arm["metrics"]["steps"] for arm in document["arms"]}
    return document, verdicts[f"sysfs:{THP}"], verdicts["sysctl:vm.laptop_mode"]


def test_huge_pages_help_a_random_walk_and_a_placebo_does_not(controller, machine, walk):
    document, real, placebo = experiment(controller, walk, RUNS[0])
    if real["verdict"] == "inconclusive" or placebo["verdict"] in ("helps", "hurts"):
        # A crowded machine can hide any effect, and one interval of twenty misses what is true; but not two in a row.
        document, real, placebo = experiment(controller, walk, RUNS[1])
    assert real["verdict"] == "helps", real
    assert 0 < real["low"] <= real["percent"] <= real["high"], real
    assert placebo["verdict"] in ("no measurable effect", "inconclusive"), placebo

    # The experiment itself left the machine as it found it, but for what the kernel computes along: that it says.
    assert (chosen(), LAPTOP.read_text().strip()) == ("never", "0")
    assert document["state"] == {f"sysfs:{THP}": "never", "sysctl:vm.laptop_mode": "0"}
    drifted = RESERVE.read_text() != machine["reserve"]
    assert [one["address"] for one in document["drift"]] == (["sysctl:vm.min_free_kbytes"] if drifted else [])
