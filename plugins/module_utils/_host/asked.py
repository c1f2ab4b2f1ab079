# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Examine files that may block forever, such as those that a container or a user has put in place.

A file system in user space (FUSE) may delay stat(2) indefinitely. A child process therefore does the access, and is
abandoned if it does not return: waiting for it would hang the caller too.
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

TIME_LIMIT = 2.0        # seconds allowed for one file
HANGING_LIMIT = 3       # files without an answer, after which the rest are skipped
NOT_ASKED = "not read: too many others did not respond"


def ask_each(host: Host, names: Iterable[str], look: Callable[[str], Any],
             seconds: float = TIME_LIMIT) -> dict[str, Any]:
    """Return `{name: look(name)}` in JSON types; where there is no answer, a str says why (no `look` returns a str)."""
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
    """Call `look` in a child process for each name in turn; return the answers received in time."""
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
    """The child's part; never returns. It closes the parent's streams, so that none stays open if the child hangs."""
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
    """Read what the child writes until it has sent `lines` lines, has ended, or `seconds` have passed."""
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
    """Reap a killed child; it ends at once unless it hangs in the kernel, and is then abandoned."""
    for _try in range(50):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
