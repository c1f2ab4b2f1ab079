# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Run a program that may hang, and return in time even so."""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from typing import NamedTuple

from .pipe import Drain

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OUTPUT_LIMIT = 8 << 20      # bytes kept of each stream
GRACE = 2.0                 # seconds a killed program gets before it is abandoned


class ProgramResult(NamedTuple):
    returncode: int | None
    stdout: str
    stderr: str
    problem: str | None     # None if the program exited with status 0


def run_program(argv: list[str], timeout: float) -> ProgramResult | None:
    """Run `argv` without a shell; None if the program is not installed.

    The program leads its own process group, which is killed at the time limit. One that survives even that (state D
    in a broken driver) is abandoned, and `problem` says so: waiting for it would hang the caller too.
    """
    program = shutil.which(argv[0], path=PATH)
    if program is None:
        return None
    try:
        child = subprocess.Popen(
            [program, *argv[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": PATH, "LC_ALL": "C"}, start_new_session=True, close_fds=True)
    except OSError as error:    # no interpreter, another architecture
        return ProgramResult(None, "", "", f"{argv[0]} could not be started: {error.strerror}")
    # Not communicate(): it would block on a grandchild that keeps the pipe open.
    streams = [Drain(child.stdout, OUTPUT_LIMIT), Drain(child.stderr, OUTPUT_LIMIT)]
    problem = _wait(child, argv[0], timeout)
    stdout, stderr = (stream.text(GRACE) for stream in streams)
    if problem is None and child.returncode != 0:
        # The second line often holds the rest: "Driver/library version mismatch", "NVML library version: ...".
        message = "; ".join(line.strip() for line in (stderr or stdout).strip().splitlines()[:2])
        problem = f"{argv[0]} ended with status {child.returncode}: {message or 'no output'}"
    return ProgramResult(child.returncode, stdout, stderr, problem)


def _wait(child: subprocess.Popen, name: str, timeout: float) -> str | None:
    """Wait for `child` to exit and kill it at the time limit; return what went wrong, None if nothing did."""
    try:
        child.wait(timeout)
        return None
    except subprocess.TimeoutExpired:
        problem = f"timeout: {name} did not end within {timeout:g} s"
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        problem += " and could not be killed; it was abandoned"
    return problem
