# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals while a host is not as it was found, in a process of its own."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.interruptions import TimeLimitReached, at_most

# Prints what it does; its argument says where the signal finds it.
WORKER = """
import signal, subprocess, sys, time
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.interruptions import Interrupted, Interruptions

def last_words(number, frame):
    print("handed on", signal.Signals(number).name, flush=True)
    raise SystemExit(3)

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, last_words)
interruptions = Interruptions()
with interruptions:
    try:
        if sys.argv[1] == "inside":
            with interruptions.let_through():
                print("ready", flush=True)
                time.sleep(60)
        else:
            print("ready", flush=True)
            until = time.monotonic() + 1
            while time.monotonic() < until:     # a setter that was begun
                time.sleep(0.05)
            print("setter ended", flush=True)
            with interruptions.let_through():
                print("never", flush=True)
    except Interrupted:
        print(interruptions.message, flush=True)
    time.sleep(float(sys.argv[2]))
    print("back", flush=True)
interruptions.hand_on()
print("nobody ended it", flush=True)
"""


def start(where, way_back=0.0):
    path = os.pathsep.join(sys.path)
    return subprocess.Popen([sys.executable, "-c", WORKER, where, str(way_back)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": path}, start_new_session=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_is_left_at_once_and_the_signal_handed_on_behind_the_way_back(number):
    with start("inside") as worker:
        assert worker.stdout.readline() == "ready\n"
        worker.send_signal(number)
        assert worker.stdout.read().splitlines() == [
            f"interrupted by {number.name}", "back", f"handed on {number.name}"]
        assert worker.wait() == 3


def test_a_setter_is_waited_for():
    with start("outside") as worker:
        assert worker.stdout.readline() == "ready\n"
        worker.terminate()
        assert worker.stdout.read().splitlines() == [
            "setter ended", "interrupted by SIGTERM", "back", "handed on SIGTERM"]


def test_more_signals_do_not_disturb_the_way_back():
    with start("inside", way_back=1.0) as worker:
        assert worker.stdout.readline() == "ready\n"
        worker.send_signal(signal.SIGINT)
        assert worker.stdout.readline() == "interrupted by SIGINT\n"
        worker.send_signal(signal.SIGINT)
        worker.terminate()
        assert worker.stdout.read().splitlines() == ["back", "handed on SIGINT"]


# Starts the worker and dies without a word to it.
PARENT = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1], "inside", "0"], start_new_session=True)
sys.stdin.read()
os.kill(os.getpid(), 9)
"""


def test_a_worker_notices_that_its_parent_was_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True) as parent:
        assert parent.stdout.readline() == "ready\n"
        parent.stdin.close()
        assert parent.stdout.read().splitlines() == [
            "interrupted: ansible-playbook was killed", "back", "handed on SIGTERM"]


def test_what_takes_too_long_is_ended():
    began = time.monotonic()
    with pytest.raises(TimeLimitReached), at_most(1):
        time.sleep(30)
    assert time.monotonic() - began < 10
    with at_most(1):
        pass
    time.sleep(1.2)     # nothing rings behind it
