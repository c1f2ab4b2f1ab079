# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The parent of the measuring child (child.py): requests steps one by one, always with a time limit."""
from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._host.host import Host
from .._host.program import GRACE, PATH
from .._kernel import cpulist
from .._kernel.containers import parse_container
from . import (
    child,
    cuda_copies,
    cuda_driver,
    cuda_functions,
    cuda_hold,
    cuda_kernel,
    cuda_pattern,
    cuda_place,
    cuda_reading,
    cuda_slots,
    cuda_ways,
)

RESULT, ERROR, HUNG, DIED = "result", "error", "hung", "died"
_MODULES = {".".join(module.__name__.split(".")[-2:]): module for module in (
    cpulist, cuda_functions, cuda_driver, cuda_hold, cuda_pattern, cuda_place, cuda_slots, cuda_reading, cuda_ways,
    cuda_kernel, cuda_copies, child)}
_KEPT = 4096            # bytes of the child's standard error
_LINE_LIMIT = 1 << 20   # bytes; output from a container is untrusted
_LINES_WAITING = 1000
_TEXT_LIMIT = 500       # characters


class Answer(NamedTuple):
    """The outcome of one step."""

    kind: str                       # RESULT, ERROR, HUNG (no answer in time), DIED
    result: dict[str, Any] | None
    message: str | None             # reason if there is no result
    name: str | None = None         # CUDA's name of an error, such as CUDA_ERROR_NO_DEVICE
    abandoned: int | None = None    # the process that could not be killed


class MeasuringChild:
    """One child process for one measurement. `prefix` starts programs in `container`, which is its name in cgroups;
    `popen` starts processes. Raises OSError."""

    def __init__(self, host: Host, prefix: list[str], container: str | None, settings: dict[str, Any],
                 popen: Callable[..., subprocess.Popen] = subprocess.Popen) -> None:
        self._host = host
        self._container = container
        self._limit = settings["limit"]
        self._begun = False
        # In a container, use its own Python; on the host, the current one.
        python = "python3" if prefix else sys.executable
        self._child = popen(
            [*prefix, python, "-I", "-c", child.START, json.dumps(settings)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": PATH, "LC_ALL": "C"}, start_new_session=True,
            close_fds=True)
        self._inner: tuple[Any, Any] | None = None      # pid and start of the process inside a container
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES_WAITING)
        self._errors: list[bytes] = []
        self._messages: queue.Queue[Any] = queue.Queue()
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read_lines, self._read_errors)]
        self._writer = threading.Thread(target=self._write_lines, daemon=True)
        for thread in (*self._readers, self._writer):
            thread.start()
        self._send([[name, source_of(_MODULES[name])] for name in child.SOURCES])

    def _read_lines(self) -> None:
        for line in iter(lambda: self._child.stdout.readline(_LINE_LIMIT), b""):
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        for piece in iter(lambda: self._child.stderr.read1(1 << 16), b""):
            if sum(map(len, self._errors)) < _KEPT:
                self._errors.append(piece)

    def _write_lines(self) -> None:
        """Write messages until None, which closes the child's standard input. In a thread, because a child that does
        not read, for example in a frozen container, blocks the writer once the pipe is full."""
        # A child that has died is detected when its answer is read.
        with contextlib.suppress(OSError):
            for message in iter(self._messages.get, None):
                self._child.stdin.write(json.dumps(message).encode() + b"\n")
                self._child.stdin.flush()
        with contextlib.suppress(OSError):
            self._child.stdin.close()

    def _send(self, message: Any) -> None:
        self._messages.put(message)

    def ask(self, request: dict[str, Any]) -> Answer:
        """Run one step; a child that does not answer within the limit is killed, or abandoned if that fails."""
        self._send(request)
        until = time.monotonic() + self._limit
        at = request["step"]
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return self._hung(at)
            answer = self._understand(line)
            if answer is None:
                return self._died(at, junk=line is not None)
            self._begun = True
            if "at" in answer:
                at = str(answer["at"])[:_TEXT_LIMIT]
                continue
            if "error" in answer:
                return Answer(ERROR, None, f"{at}: {str(answer['error'])[:_TEXT_LIMIT]}", str(answer.get("name")))
            if self._container is not None and request["step"] == "init":
                self._inner = (answer["result"].get("pid"), answer["result"].get("started"))
            return Answer(RESULT, answer["result"], None)

    @staticmethod
    def _understand(line: bytes | None) -> dict[str, Any] | None:
        """Parse a line of the child; None at end of output, and for anything that the child never writes."""
        try:
            answer = json.loads(line) if line is not None else None
        except (ValueError, RecursionError):
            return None
        fine = isinstance(answer, dict) and ({"at", "error"} & set(answer) or isinstance(answer.get("result"), dict))
        return answer if fine else None

    def _died(self, at: str, junk: bool) -> Answer:
        if not junk:
            # End of output is seen before the exit status is available.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(GRACE)
        ended = self._child.poll()
        abandoned = self._kill()
        self._readers[1].join(GRACE)
        how = "wrote invalid output" if junk else "closed its output" if ended is None else _describe_end(ended)
        lines = b"".join(self._errors).decode("utf-8", "replace").strip().splitlines()
        return Answer(DIED, None, f"the measuring process {how} at {at}" + (f": {lines[-1][:300]}" if lines else ""),
                      abandoned=abandoned)

    def _hung(self, at: str) -> Answer:
        abandoned = self._kill()
        reason = f"no response within {self._limit} s at {at}"
        if abandoned is not None:
            reason += f"; process {abandoned} could not be killed and was abandoned"
        if not self._begun and abandoned is None:
            # For example in a frozen container: no GPU has been accessed yet.
            return Answer(DIED, None, f"{reason}: the measuring process did not start")
        return Answer(HUNG, None, reason, abandoned=abandoned)

    def _kill(self) -> int | None:
        """Kill the child and all that it started; returns the pid that does not die, or None."""
        inner = self._inner_pid()
        with contextlib.suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        if inner is not None:
            with contextlib.suppress(OSError):
                os.kill(inner, signal.SIGKILL)
        try:
            self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            return self._child.pid
        until = time.monotonic() + GRACE
        while inner is not None and self._inner_pid() == inner:
            if time.monotonic() > until:
                return inner
            time.sleep(0.05)
        return None

    def _inner_pid(self) -> int | None:
        """The host's pid of the process inside the container; None if there is none (any more)."""
        return None if self._inner is None else find_inner(self._host, self._container, *self._inner)

    def end(self) -> int | None:
        """End the child, which releases what it holds. If it does not exit, kill it and return as _kill() does."""
        self._messages.put(None)
        try:
            self._child.wait(self._limit)
        except subprocess.TimeoutExpired:
            return self._kill()
        return None


def _describe_end(code: int) -> str:
    return f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with status {code}"


def find_inner(host: Host, container: str, pid: int, started: int) -> int | None:
    """The host's pid of the process with `pid` inside `container` that started at `started` ticks.

    Uses NSpid of /proc/<pid>/status, innermost pid last, and fields 3 and 22 of /proc/<pid>/stat (man 5 proc). Unlike
    the command line, neither blocks for a process that hangs in the kernel.
    """
    for name in host.list("/proc"):
        if not name.isdecimal() or not _calls_itself(host, name, pid):
            continue
        if parse_container(host.read(f"/proc/{name}/cgroup").value or "") == container:
            fields = (host.read(f"/proc/{name}/stat").value or "").rpartition(")")[2].split()
            if len(fields) > 19 and fields[19] == str(started) and fields[0] not in "ZX":
                return int(name)
    return None


def _calls_itself(host: Host, name: str, pid: int) -> bool:
    status = host.read(f"/proc/{name}/status").value or ""
    numbers = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [])
    return len(numbers) > 1 and numbers[-1] == str(pid)


def source_of(module: Any) -> str:
    """The source text of a module, also from an archive."""
    return module.__loader__.get_data(module.__file__).decode()
