# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Looks at files that may never answer: those that a container or a user has put in place.

A file system in user space (FUSE) answers stat(2) when its owner likes. A child process looks, and is left behind where
it does not come back: to wait for it would be to hang with it.
"""
from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Iterable
from typing import Any, Callable

from .host import Host

TIME_LIMIT = 2.0        # seconds until one look has an answer
HANGING_LIMIT = 3       # looks that do not answer, after which no further one is tried
NOT_ASKED = "not read: too many others did not respond"


def ask_each(host: Host, names: Iterable[str], look: Callable[[str], Any],
             seconds: float = TIME_LIMIT) -> dict[str, Any]:
    """`{name: what look(name) answered, in JSON types}`; a text, which no look answers with, says why there is none."""
    answers: dict[str, Any] = {}
    waiting = list(names)
    for _try in range(HANGING_LIMIT):
        answers.update(_ask_child(host, waiting, look, seconds))
        waiting = [name for name in waiting if name not in answers]
        if not waiting:
            return answers
        answers[waiting.pop(0)] = f"its file system did not respond within {seconds:g} s"
    return {**answers, **dict.fromkeys(waiting, NOT_ASKED)}


def _ask_child(host: Host, names: list[str], look: Callable[[str], Any], seconds: float) -> dict[str, Any]:
    """What a child says of each name, one after the other, as far as it came in time."""
    if not names:
        return {}
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(host, names, look, writer)
    os.close(writer)
    try:
        text = _read_until(reader, seconds, len(names))
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        _reap(child)
    answers = {}
    for name, answer, told in map(json.loads, text.split(b"\n")[:-1]):
        answers[name] = answer
        host.hear(told)
    return answers


def _be_child(host: Host, names: list[str], look: Callable[[str], Any], writer: int) -> None:
    """Never returns. Holds none of the parent's streams, so that nobody waits for them if it hangs."""
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        for name in names:
            host.tell()
            answer = look(name)
            os.write(writer, json.dumps([name, answer, host.tell()]).encode() + b"\n")
    finally:
        os._exit(0)


def _read_until(reader: int, seconds: float, lines: int) -> bytes:
    """What the child wrote, until it has said all, ended, or took too long for the first answer and all behind it."""
    text = b""
    deadline = time.monotonic() + seconds
    while text.count(b"\n") < lines:
        ready, _none, _either = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(reader, 1 << 16) if ready else b""
        if not piece:
            break
        text += piece
    return text


def _reap(child: int) -> None:
    """A killed child ends at once, unless it hangs in the kernel; then it is left behind."""
    for _try in range(50):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
