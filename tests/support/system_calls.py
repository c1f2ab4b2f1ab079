# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module under strace as on its target, and list what it opened, changed and started."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

# Calls that name a file, start or signal a process, or talk to another one, and calls that change kernel state without
# a file name.
TRACED = ("%file,%process,%network,fchmod,fchown,ftruncate,fallocate,ioctl,kill,tgkill,init_module,finit_module,"
          "delete_module,kexec_load,kexec_file_load,reboot,sethostname,setdomainname,settimeofday,clock_settime,"
          "adjtimex,clock_adjtime,iopl,ioperm,bpf,perf_event_open,setpriority,sched_setaffinity,sched_setscheduler,"
          "swapon,swapoff,keyctl,mount_setattr,move_mount")

OPENS = {"open", "openat", "openat2", "creat"}
FOR_WRITING = re.compile(r"\b(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE)\b")
READS = {"access", "faccessat", "faccessat2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "readlink",
         "readlinkat", "getcwd", "chdir", "getxattr", "lgetxattr", "listxattr", "llistxattr"}
STARTS = {"execve", "execveat"}
# Calls within the process, or between it and its own children.
OWN = {"clone", "clone3", "fork", "vfork", "wait4", "waitid", "exit", "exit_group", "kill", "tgkill", "pidfd_open",
       "pidfd_send_signal", "socketpair", "socket", "getsockname", "getpeername", "getsockopt", "setsockopt",
       "shutdown", "recvfrom", "recvmsg"}
TALKS = {"connect", "sendto", "sendmsg", "sendmmsg"}

LINE = re.compile(r"^(?:\d+ +)?(?P<name>\w+)\((?P<rest>.*)$")
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
BY_DESCRIPTOR = {"ioctl", "fchmod", "fchown", "ftruncate", "fallocate"}
SOCKET = re.compile(r'sun_path=@?"(?P<path>[^"]*)"|(?P<address>sin6?_port=[^}]*)')
DESCRIPTOR = re.compile(r"^\d+<(?P<path>[^>]*)>")


class Call(NamedTuple):
    """One system call: its name, the file or peer it names or None, and the line of the trace."""

    name: str
    path: str | None
    line: str

    @property
    def opens_for_writing(self) -> bool:
        return self.name in OPENS and (self.name == "creat" or bool(FOR_WRITING.search(self.line)))

    @property
    def only_looks(self) -> bool:
        return self.name in READS or (self.name in OPENS and not self.opens_for_writing)


def parse(line: str) -> Call | None:
    """A line of `strace -f -y`; None for exits, signals and the second half of an interrupted call."""
    match = LINE.match(line)
    if match is None:
        return None
    name, rest = match["name"], match["rest"]
    return Call(name, _named(name, rest), line)


def _named(name: str, rest: str) -> str | None:
    """The file of a call, or the socket or address it talks to."""
    if name in BY_DESCRIPTOR:
        descriptor = DESCRIPTOR.match(rest)
        return descriptor["path"] if descriptor else None
    if name in TALKS:
        peer = SOCKET.search(rest)
        return (peer["path"] or peer["address"]) if peer else None
    named = PATH.search(rest)
    return os.path.normpath(os.path.join(named["folder"] or "/", named["path"])) if named else None


def why_strace_cannot_run() -> str | None:
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    tried = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.strip()}"


def traced_interpreter(folder: pathlib.Path, temporary: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """A program to use as ansible_python_interpreter, and the file to which its traces are appended.

    `temporary` is the folder for its temporary files. Not for Ansible as a whole: its sockets need short names.
    """
    trace, program = folder / "trace", folder / "traced-python"
    strace = f"strace -f -qq -y -s 4096 -A -o {trace} -e trace={TRACED}"
    program.write_text(f'#!/bin/sh\nTMPDIR={temporary} exec {strace} {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program, trace


def calls(trace: pathlib.Path) -> list[Call]:
    lines = trace.read_text(errors="replace").splitlines()
    return [call for call in map(parse, lines) if call is not None]
