# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of time and memory of one process. Each runs in a process of its own."""
from __future__ import annotations

import subprocess
import sys

import pytest

from checkout import REPOSITORY

NAME = "ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.limits"


def run(body, collections):
    program = f"import sys\nsys.path.insert(0, {str(collections)!r})\nfrom {NAME} import *\nimport subprocess\n{body}"
    return subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=60, check=False)


@pytest.fixture
def collections(tmp_path):
    namespace = tmp_path / "ansible_collections" / "gpuhost"
    namespace.mkdir(parents=True)
    (namespace / "tuning").symlink_to(REPOSITORY)
    return tmp_path


def test_what_never_answers_is_ended_with_what_it_started(collections):
    done = run("""
child = None
try:
    with time_limit(0.2):
        child = subprocess.Popen(["sleep", "50"])
        child.wait()
except OutOfTime:
    print("over", child.wait(20))
""", collections)
    assert done.stdout == "over -15\n", done.stderr


def test_a_limit_that_is_not_reached_leaves_no_alarm(collections):
    done = run("""
import signal
with time_limit(50):
    pass
print(signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM) == signal.SIG_DFL)
""", collections)
    assert done.stdout == "(0.0, 0.0) True\n"


def test_what_takes_too_much_memory_is_an_error_and_the_next_thing_is_not(collections):
    done = run("""
try:
    with memory_limit(64 << 20):
        b"x" * (256 << 20)
except MemoryError:
    print("too much")
print(len(b"x" * (256 << 20)))
""", collections)
    assert done.stdout == f"too much\n{256 << 20}\n", done.stderr
