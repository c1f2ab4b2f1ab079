# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Run a user's program, on this machine or in a container, and return within a time limit whatever it does."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._host.host import Host
from .._host.pipe import Drain
from .._host.program import PATH
from .._pve.exec import container_prefix
from .output_file import OutputFile
from .process_tree import Process, read_family, send, still_alive

OUTPUT_LIMIT = 4 << 20      # bytes kept of each stream, half from its start and half from its end
TERM_GRACE = 10.0           # seconds to exit after SIGTERM
KILL_GRACE = 2.0            # and after SIGKILL, before it is abandoned
PIPE_GRACE = 1.0            # for the rest of a pipe that another process keeps open
SECRET_LENGTH = 8           # shorter values, such as `8` or `true`, are not secrets and occur everywhere
_POLL = 0.05
_LOOK = 0.5                 # seconds between checks for a signal
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Stopped(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_workload(host: Host, argv: Sequence[str], *, container: str | None = None, chdir: str | None = None,
                 environment: Mapping[str, str] | None = None, timeout: float = 600.0,
                 output_limit: int = OUTPUT_LIMIT, output_file: str | None = None) -> dict[str, Any]:
    """`{rc, stdout, stderr, file, cut, started, seconds, timed_out, abandoned, left_running, problem}`.

    `problem` says in one line why the result cannot be used, None if it can. Processes, `[{pid, command}]`:
    `abandoned` could not be killed at the time limit, `left_running` were left behind by a program that ended in time.
    `file` is what it wrote to `output_file`; `cut` names the streams and the file that were truncated. Values of
    `environment` are masked in its output. ValueError if it could not be started; nothing was run then.
    """
    environment = dict(environment or {})
    prefix = container_prefix(host, container, keep=bool(environment)) if container else []
    file = OutputFile(output_file, prefix) if output_file is not None else None
    started, begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
    with _Guard(host) as guard:
        child = _start(argv, prefix, chdir, environment)
        waiter = guard.watch(child)
        streams = {name: Drain(pipe, output_limit // 2, output_limit - output_limit // 2)
                   for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr))}
        timed_out = not waiter.ends_within(timeout)
        seconds = timeout if timed_out else waiter.ended - begin
        abandoned = _end(host, child, waiter) if timed_out else []
    result: dict[str, Any] = {
        "rc": child.returncode, "started": started, "seconds": round(seconds, 6), "timed_out": timed_out, "file": None,
        **{name: stream.text(PIPE_GRACE) for name, stream in streams.items()},
        "cut": [name for name, stream in streams.items() if stream.left_out], "abandoned": abandoned,
        "left_running": [] if timed_out else [process.told() for process in read_family(host, child.pid)]}
    result["problem"] = _problem(argv[0], result, timeout)
    if file is not None and result["problem"] is None:
        _read_file(file, result, argv[0], output_limit)
    return _masked(result, environment.values())


# -- starting ---------------------------------------------------------------------------------------------------------

def _start(argv: Sequence[str], prefix: list[str], chdir: str | None, environment: dict[str, str]) -> subprocess.Popen:
    surroundings = {**os.environ, **environment}
    words = list(argv)
    if prefix:
        # The folder is inside the container: env of coreutils changes to it.
        words = [*prefix, *(["env", f"--chdir={chdir}"] if chdir else []), *words]
        surroundings["PATH"] = environment.get("PATH", PATH)
    elif chdir is not None and not os.path.isdir(chdir):
        raise ValueError(f"{argv[0]} was not started: chdir {chdir} is not a directory")
    try:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=None if prefix else chdir, env=surroundings, start_new_session=True,
                                close_fds=True)
    except FileNotFoundError:
        if os.path.exists(os.path.join(chdir or "", words[0])):
            raise ValueError(f"{argv[0]} could not be started: the interpreter of its first line is missing") from None
        raise ValueError(f"{argv[0]} was not found, neither as a path nor in PATH ({surroundings.get('PATH', '')}): "
                         "install it or use an absolute path") from None
    except OSError as error:
        raise ValueError(f"{argv[0]} could not be started: {error.strerror}") from None


# -- waiting and ending -----------------------------------------------------------------------------------------------

class _Waiter(threading.Thread):
    """Records when a child ended to the microsecond, which a wait with a time limit cannot."""

    def __init__(self, child: subprocess.Popen) -> None:
        super().__init__(daemon=True)
        self._child = child
        self.ended = 0.0
        self.start()

    def run(self) -> None:
        self._child.wait()
        self.ended = time.monotonic()

    def ends_within(self, seconds: float) -> bool:
        """Wait in short intervals: a signal that arrives just before a wait is noticed only after it."""
        end = time.monotonic() + seconds
        while self.is_alive() and time.monotonic() < end:
            self.join(min(_LOOK, max(end - time.monotonic(), 0)))
        return not self.is_alive()


class _Guard:
    """Ends the child if this process is told to end: the child has its own session and would not get the signal."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._child: subprocess.Popen | None = None
        self._waiter: _Waiter | None = None
        self._pending: int | None = None
        self._ending = False        # the first signal is handled; later ones must not interrupt that
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> _Guard:
        # Handlers can be set only in the main thread; signals do not arrive elsewhere either.
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        return self

    def _stop(self, number: int, _frame: Any) -> None:
        # The child may have been started before its pid is known here: nothing may be raised until then.
        if self._child is None or self._ending:
            self._pending = self._pending or number
        else:
            self._ending = True
            raise _Stopped(number)

    def watch(self, child: subprocess.Popen) -> _Waiter:
        self._waiter, self._child = _Waiter(child), child
        if self._pending is not None:
            self._ending = True
            raise _Stopped(self._pending)
        return self._waiter

    def __exit__(self, _kind: Any, error: BaseException | None, _traceback: Any) -> None:
        self._ending = True
        if error is not None and self._child is not None:
            _end(self._host, self._child, self._waiter)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        number = error.number if isinstance(error, _Stopped) else self._pending
        if number is not None:
            os.kill(os.getpid(), number)
            raise SystemExit(128 + number)


def _end(host: Host, child: subprocess.Popen, waiter: _Waiter) -> list[dict[str, Any]]:
    """Terminate the child and what it started, then kill them; returns those that remain as `[{pid, command}]`."""
    family: dict[int, Process] = {}
    left: list[Process] = []
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, KILL_GRACE)):
        family.update({process.pid: process for process in read_family(host, child.pid)})
        others = list(family.values())
        if waiter.is_alive():
            with contextlib.suppress(OSError):
                os.killpg(child.pid, number)
            # No process gets the signal twice: many programs then quit without cleaning up.
            others = [process for process in others if process.group != child.pid]
        send(host, others, number)
        end = time.monotonic() + grace
        while time.monotonic() < end:
            left = still_alive(host, family.values())
            if not left and not waiter.is_alive():
                return []
            time.sleep(_POLL)
    told = [process.told() for process in left]
    return told or [{"pid": child.pid, "command": str(child.args[0])}]


# -- outcome ---------------------------------------------------------------------------------------------------------

def _problem(name: str, result: Mapping[str, Any], timeout: float) -> str | None:
    if result["timed_out"]:
        message = f"timeout: {name} did not end within {timeout:g} s"
        if not result["abandoned"]:
            return f"{message} and was ended"
        names = ", ".join(f"{process['command']} (pid {process['pid']})" for process in result["abandoned"])
        return f"{message} and could not be killed; it was abandoned: {names}"
    status = result["rc"]
    if status == 0:
        return None
    lines = [line.strip() for line in (result["stderr"].strip() or result["stdout"].strip()).splitlines()]
    message = "; ".join(line for line in lines[-2:] if line)[-300:] or "no output"
    if status < 0:
        return f"{name} was killed by {_signal_name(-status)}: {message}"
    # The exit status for a signal that shells use, and pct for programs in a container.
    by = f", as after {_signal_name(status - 128)}" if 128 < status <= 128 + signal.NSIG else ""
    return f"{name} ended with status {status}{by}: {message}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read_file(file: OutputFile, result: dict[str, Any], name: str, limit: int) -> None:
    try:
        result["file"], more = file.read(limit)
    except ValueError as error:
        result["problem"] = f"{name} ended, but {error}"
        return
    if more:
        result["cut"].append("file")


def _masked(result: dict[str, Any], values: Iterable[str]) -> dict[str, Any]:
    """The program's output with the values of its environment masked."""
    secrets = sorted((value for value in values if len(value) >= SECRET_LENGTH), key=len, reverse=True)
    for key in ("stdout", "stderr", "file", "problem"):
        for secret in secrets:
            if result[key] is not None:
                result[key] = result[key].replace(secret, "********")
    return result
