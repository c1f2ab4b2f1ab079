# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kernel log as records; it holds messages printed only once, at boot or when a GPU fails."""
from __future__ import annotations

import errno
import os
import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, from_error, ok

KMSG = "/dev/kmsg"
RECORDED = "kmsg.txt"
KMSG_NUMBER = (1, 11)           # Documentation/admin-guide/devices.txt; in some containers this name is a console
RECORD_LIMIT = 8192             # bytes, CONSOLE_EXT_LOG_MAX of older kernels; a smaller buffer gets EINVAL
LOG_LIMIT = 32 << 20            # bytes; log_buf_len= of a 256-CPU host is 1 to 16 MiB

_RECORD = re.compile(r"\d{1,20},\d{1,20},(\d{1,20}),[^;]*;(.*)")
_STAMP = re.compile(r"(?:<\d+>)?\[ *(\d{1,12}\.\d{1,9})\] ?(?:\[ *[CT]\d+\] ?)?(.*)")
_CLOCK = re.compile(r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ?(.*)")
# The first line of every boot; in a saved journal, the line between two boots.
_BOOT = re.compile(r"(?:^|kernel: (?:\[ *\d+\.\d+\] )?)Linux version \d|^-- (?:Boot [0-9a-f]{32}|Reboot) --")
_ESCAPE = re.compile(r"(?:\\x[0-9a-f]{2})+")


def read_lines(host: Host) -> Reading:
    """Read the kernel log of this boot, oldest first: `[{seconds: float | None, text: str}]`, seconds since boot.

    From /dev/kmsg (Documentation/ABI/testing/dev-kmsg), for a recorded host from recorded/kmsg.txt. The ring buffer
    holds only the newest part: a missing line does not prove that an event did not happen.
    """
    return read_boots(host)[1]


def read_boots(host: Host) -> tuple[Reading, Reading]:
    """Read the lines of earlier boots and those of this one, each in the form of read_lines().

    The kernel's ring buffer has one boot; a saved log may have several, of which the last is this one.
    """
    lines = _read_all(host)
    return lines.map(lambda every: split_boots(every)[0]), lines.map(lambda every: split_boots(every)[1])


def split_boots(lines: list[dict]) -> tuple[list[dict], list[dict]]:
    """Split a log at the last line that begins a boot; without such a line all of it is this boot."""
    begins = [position for position, line in enumerate(lines) if _BOOT.search(line["text"])]
    last = begins[-1] if begins else 0
    return lines[:last], lines[last:]


def _read_all(host: Host) -> Reading:
    if not host.live:
        return host.recorded(RECORDED).map(parse_text)
    node = host.device_node(KMSG)
    if node is None or (node["major"], node["minor"]) != KMSG_NUMBER:
        return Reading(ABSENT, None, f"{KMSG} is not the kernel's log device")
    try:
        records = read_records(KMSG)
    except OSError as error:
        host.keep(RECORDED, error)
        return from_error(error)
    host.keep(RECORDED, "".join(records))
    return ok(parse_records(records))


def read_records(path: str, limit: int = LOG_LIMIT) -> list[str]:
    """Read every record that the log device holds now. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    records = []
    try:
        while limit > 0:
            try:
                record = os.read(handle, RECORD_LIMIT)
            except OSError as error:
                if error.errno == errno.EPIPE:      # overwritten while we read; the next read continues after the gap
                    limit -= 1
                    continue
                if error.errno == errno.EAGAIN:     # nothing newer
                    break
                raise
            if not record:
                break
            limit -= len(record)
            records.append(record.decode("utf-8", "replace"))
    finally:
        os.close(handle)
    return records


def parse_records(records: list[str]) -> list[dict]:
    """Parse records `priority,sequence,microseconds,flags;text`, without the lines below that begin with a space."""
    parsed = (parse_record(record.partition("\n")[0]) for record in records)
    return [line for line in parsed if line is not None]


def parse_record(line: str) -> dict | None:
    """Parse the first line of a record, None for any other text."""
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    text = found[2]
    return {"seconds": int(found[1]) / 1e6, "text": _ESCAPE.sub(_unescape, text) if "\\" in text else text}


def parse_text(text: str) -> list[dict]:
    """Parse a saved log: records of /dev/kmsg, or dmesg output with or without time stamps."""
    lines = []
    inside_record = False
    for line in text.splitlines():
        record = parse_record(line)
        if record is not None:
            inside_record = True
            lines.append(record)
        elif line.strip() and not (inside_record and line.startswith(" ")):
            inside_record = False
            lines.append(parse_dmesg(line))
    return lines


def parse_dmesg(line: str) -> dict:
    """Parse a line of dmesg: `[   12.345678] text`, maybe with a caller `[    T1]`, `[Sun Nov 29 ...] text` or text."""
    stamped = _STAMP.fullmatch(line)
    if stamped is not None:
        return {"seconds": float(stamped[1]), "text": stamped[2]}
    dated = _CLOCK.fullmatch(line)
    return {"seconds": None, "text": dated[1] if dated else line}


def _unescape(found: re.Match) -> str:
    return bytes.fromhex(found[0].replace("\\x", "")).decode("utf-8", "replace")
