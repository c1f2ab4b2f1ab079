# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many hosts behind one process: on a connection it enters a host's own namespaces and becomes its sshd.

    inetd.py specification.json

An idle host has no process. A session has a mount namespace, in which the tree of its host lies at /mnt and its home at
/root, and a process namespace, so that all of it ends with its sshd. The specification is
`{port, sshd, config, hosts: [{address, tree, home, slow, dies}]}`: `slow` are seconds before it answers, null for a
host that is mute: it takes a connection and never says a word. `dies` says that the host drops dead as soon as its
journal is there, which is in the middle of its first change.
"""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import selectors
import signal
import socket
import sys
import time

# include/uapi/linux/sched.h and mount.h
CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)
sessions: dict[int, str] = {}       # process of a session: address of its host


def checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    checked(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {source} on {target}")


def enter(host: dict) -> None:
    """Give this process, and all that come of it, the view of one host."""
    checked(libc.unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare")
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount(host["tree"], "/mnt", None, MS_BIND)
    mount(host["home"], "/root", None, MS_BIND)
    mount("run", "/run", "tmpfs", 0)
    os.mkdir("/run/sshd", 0o755)


def serve(connection: socket.socket, host: dict, spec: dict) -> None:
    """Runs in a child: the host's sshd for one connection, as process 1 of a namespace."""
    try:
        if host["slow"] is None:
            signal.pause()
        time.sleep(host["slow"])
        enter(host)
        inner = os.fork()
        if inner == 0:
            # However the parent ends, this ends with it.
            libc.prctl(1, signal.SIGKILL)
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            os.execv(spec["sshd"], [spec["sshd"], "-i", "-f", spec["config"]])
        connection.close()
        os.waitpid(inner, 0)
        os._exit(0)
    except BaseException as problem:
        print(host["address"], repr(problem), file=sys.stderr, flush=True)
        os._exit(1)


def reap() -> None:
    while True:
        try:
            process, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if process == 0:
            return
        sessions.pop(process, None)


def drop(host: dict) -> None:
    for process in [process for process, address in sessions.items() if address == host["address"]]:
        os.kill(process, signal.SIGKILL)


def main() -> None:
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    doors = selectors.DefaultSelector()
    for host in spec["hosts"]:
        listener = socket.create_server((host["address"], spec["port"]), backlog=64)
        doors.register(listener, selectors.EVENT_READ, host)
    mortal = {host["address"]: host for host in spec["hosts"] if host["dies"]}
    print("ready", flush=True)
    try:
        while True:
            for door, _events in doors.select(0.005 if mortal else 1):
                host = door.data
                connection, _address = door.fileobj.accept()
                process = os.fork()
                if process == 0:
                    serve(connection, host, spec)
                connection.close()
                sessions[process] = host["address"]
            for host in list(mortal.values()):
                if os.path.exists(f"{host['tree']}/run/gpuhost/journal.jsonl"):
                    drop(mortal.pop(host["address"]))
                    door = next(key for key in doors.get_map().values() if key.data is host)
                    doors.unregister(door.fileobj)
                    door.fileobj.close()
            reap()
    finally:
        for process in list(sessions):
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    main()
