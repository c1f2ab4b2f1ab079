# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/run/gpuhost/hung.json: GPUs that hung during a measurement, quarantined so that nothing else touches them.

`{bdf: {since, run_id, what, pid, boot}}`; `pid` is the process that could not be killed, null if there is none. Marks
of another boot no longer count: a reboot recovers such a GPU.
"""
from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .._host.run_folder import FOLDER, RUN, open_file, open_folder, write_all
from .moment import BOOT_ID, utc_now

NAME = "hung.json"
MARKS = f"{RUN}/{FOLDER}/{NAME}"
SIZE_LIMIT = 1 << 20        # bytes

_TOUCHING = ("pcie_maxreadreq", "module")       # kinds whose write reaches a GPU or its driver
_KEYS = ("since", "run_id", "what", "pid")


def read_marks(host: Host) -> Reading:
    """Read the GPUs that hung in this boot: `{bdf: {since, run_id, what, pid}}`. Unparsable if the file is not ours."""
    text = host.read(MARKS, SIZE_LIMIT)
    if text.status == ABSENT:
        return ok({})
    boot = host.read(BOOT_ID).value if text.ok else None
    return text.map(lambda content: parse_marks(content, boot))


def parse_marks(text: str, boot: str | None) -> dict[str, dict]:
    """Parse the marks of `boot` in the file's text. Raises ValueError."""
    marks = json.loads(text)
    if not isinstance(marks, dict) or not all(isinstance(mark, dict) for mark in marks.values()):
        raise ValueError("not a mapping of addresses to entries")
    found = {bdf: {key: mark.get(key) for key in _KEYS} for bdf, mark in sorted(marks.items())
             if mark.get("boot") == boot}
    if not all(isinstance(mark[key], str) for mark in found.values() for key in ("since", "run_id", "what")):
        raise ValueError("an entry lacks the time, the run or the step")
    return found


def list_hung(host: Host) -> Reading:
    """Read the fact `nvidia.hung`: `[{bdf, since, run_id, what}]` by address."""
    return read_marks(host).map(lambda marks: [
        {"bdf": bdf, **{key: mark[key] for key in ("since", "run_id", "what")}} for bdf, mark in marks.items()])


def mark_hung(host: Host, bdfs: Iterable[str], run_id: str, what: str, pid: int | None) -> None:
    """Mark GPUs until the next boot. Raises OSError.

    The file is replaced atomically, so that readers never see part of it.
    """
    host.require_writable()
    folder = open_folder(host, create=True)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        boot = host.read(BOOT_ID).value
        known = read_marks(host).value or {}
        new = {bdf: {"since": utc_now(), "run_id": run_id, "what": what, "pid": pid} for bdf in bdfs}
        # The first hang is the one to report.
        marks = {bdf: {**mark, "boot": boot} for bdf, mark in {**new, **known}.items()}
        _replace(folder, json.dumps(marks, ensure_ascii=True, indent=1).encode() + b"\n")
    finally:
        os.close(folder)


def _replace(folder: int, data: bytes) -> None:
    temporary = f"{NAME}.{os.getpid()}"
    handle = open_file(folder, temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(temporary, NAME, src_dir_fd=folder, dst_dir_fd=folder)


def leave_hung(values: dict[str, dict], marks: Reading) -> tuple[dict[str, dict], list[dict]]:
    """Remove values that touch a hung GPU, or its driver, from a restore; return the rest and `[{address, reason}]`."""
    kept: dict[str, dict] = {}
    left = []
    for kind, named in values.items():
        for name, item in named.items():
            reason = reason_to_leave(marks, name if kind == "pcie_maxreadreq" else None) if kind in _TOUCHING else None
            if reason is None:
                kept.setdefault(kind, {})[name] = item
            else:
                left.append({"address": f"{kind}:{name}", "reason": reason})
    return kept, left


def describe_mark(bdf: str, mark: dict) -> str:
    """Return `0000:41:00.0 hung at 2026-11-30T03:00:00Z while it was measured (run r1, ...): it is left alone ...`."""
    return (f"{bdf} hung at {mark['since']} during a measurement (run {mark['run_id']}, {mark['what']}): it is not "
            "touched until the host is rebooted")


def reason_to_leave(marks: Reading, bdf: str | None = None) -> str | None:
    """Return why a GPU, or without `bdf` the driver of all, is left alone; None if nothing hung."""
    if not marks.ok:
        return f"whether a GPU hung during a measurement is unknown: {MARKS}: {marks.detail or marks.status}"
    return next((describe_mark(hung, mark) for hung, mark in marks.value.items() if bdf in (None, hung)), None)
