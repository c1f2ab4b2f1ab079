# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Read an nvidia-bug-report.log as a recorded host: what becomes a file of the host, and what other readers get."""
from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable
from typing import Callable

from .blocks import COMMAND, DENIED, FILE, MISSING, NOTHING, PROLOGUE, START, Block, read_blocks, trimmed
from .gathered import Gathered
from .lspci import merge, parse_devices
from .pci_tree import parse_tree
from .recorded_host import RecordedHost, Refused, clean_path
from .report_facts import finish

LACKS = "the bug report does not have it"
KIND = "nvidia-bug-report"

_TAKEN = re.compile(r"/(?:proc|sys|etc)/(?!X11/|asound)")
_PARAMETER = re.compile(r"(/sys/module/\w+/parameters/\w+):(.*)")
_TIME = re.compile(r"\*\*\* ls: .* (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d+ ([-+]\d{4}) /(?:proc|sys)/")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d):(\d\d)\b")
HALF_A_DAY, LONGEST_RUN = 43_200, 900       # seconds
_LOG_PART = re.compile(r"  (?:journalctl -b (-[0-2]|0)|(/var/log/\S+)):")
_SMI = re.compile(r"(?:\S*/)?nvidia-smi (?:--query|-q)")
_OLD_GPU = re.compile(r"/proc/driver/nvidia/gpus/(\d+)/(\w+)")


def read_report(lines: Iterable[str], name: str) -> RecordedHost:
    """The host described by a report. Raises Refused for two reports in one file, or for none."""
    host, found = RecordedHost(), Gathered()
    host.open = LACKS
    host.source.update(kind=KIND, name=name)
    starts: list[int] = []
    times: list[datetime.datetime] = []
    for block in read_blocks(_watched(lines, starts, times)):
        _take(host, found, block)
    if not starts:
        raise Refused(f"it has no line that begins {START!r}")
    host.source["collected_at"] = when_collected(times, found.date)
    finish(host, found)
    return host


def _watched(lines: Iterable[str], starts: list[int], times: list[datetime.datetime]) -> Iterable[str]:
    """The lines; notes on the way where a report starts, and the times at which files of the kernel were read."""
    for number, line in enumerate(lines, 1):
        if line.startswith(START):
            starts.append(number)
            if len(starts) > 1:
                raise Refused(
                    f"it holds two bug reports, which begin at the lines {starts[0]} and {number}. Wanted one a file: "
                    f"head -n {number - 3} FILE > first.log; tail -n +{number - 2} FILE > second.log")
        elif line.startswith("*** ls: "):
            time = _TIME.match(line)
            if time is not None:
                with contextlib.suppress(ValueError):
                    times.append(datetime.datetime.strptime(f"{time[1]} {time[2]}", "%Y-%m-%d %H:%M:%S %z"))
        yield line


def when_collected(times: list[datetime.datetime], date: str | None) -> str | None:
    """The time of the report in UTC: `Date:` may be in any language and often has no time zone.

    Files of /proc are as old as the first access to them, so some of `times` are from the moment of the report: those
    that match the clock of `date`, which may be a 12-hour clock.
    """
    clock = _CLOCK.search(date or "")
    fits = times
    if clock is not None:
        began = int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3])
        fits = [time for time in times
                if (time.hour * 3600 + time.minute * 60 + time.second - began) % HALF_A_DAY <= LONGEST_RUN] or times
    with contextlib.suppress(OverflowError, ValueError):
        return max(fits).astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None


def _take(host: RecordedHost, found: Gathered, block: Block) -> None:
    if block.cut:
        host.note(f"{block.title[:80]} is longer than is read: its end is left out")
    if block.kind == FILE:
        _take_file(host, found, block)
    elif block.kind == MISSING and _TAKEN.match(block.title):
        host.close(block.title)
    elif block.kind == DENIED:
        host.deny(block.title)
    elif block.kind == PROLOGUE:
        _take_prologue(host, found, block.lines)
    elif block.kind == NOTHING:
        found.smi_missing = found.smi_missing or bool(re.match(r"Skipping:? nvidia-smi output", block.title))
    elif block.kind == COMMAND:
        handler = next((take for start, take in _COMMANDS if start.match(block.title)), None)
        if handler is not None:
            handler(host, found, block)


def _take_file(host: RecordedHost, found: Gathered, block: Block) -> None:
    path = clean_path(block.title)
    if path is None or not _TAKEN.match(path):
        return
    text = "".join(f"{line}\n" for line in trimmed(block.lines))
    old = _OLD_GPU.fullmatch(path)
    if old is not None:                     # until driver 304, by number instead of address
        found.old_gpus.setdefault(old[1], {})[old[2]] = text
    else:
        host.put(path, text, block.mode)


def _take_prologue(host: RecordedHost, found: Gathered, lines: list[str]) -> None:
    for line in lines:
        name, _colon, value = line.partition(": ")
        if name == "nvidia-bug-report.sh Version":
            host.source["script"] = value.strip() or None
        elif name == "Date":
            found.date = value
        elif name == "uname":
            found.uname = value
        elif name == "command line flags":
            found.flags = value.split()
        elif "| Distribution :" in line:
            found.distribution = line.partition("Distribution :")[2].strip() or None


def _take_lspci(_host: RecordedHost, found: Gathered, block: Block) -> None:
    options = block.title.partition("lspci")[2]
    if " -t" in options or "tv" in options:
        found.tree = found.tree or parse_tree(block.lines)
        return
    found.all_devices = found.all_devices or ("-d" not in options and bool(block.lines))
    devices = parse_devices(block.lines)
    merge(found.devices, devices)


def _take_dmesg(_host: RecordedHost, found: Gathered, block: Block) -> None:
    found.dmesg = [line for line in block.lines if line.strip()]


def _take_logs(_host: RecordedHost, found: Gathered, block: Block) -> None:
    """The parts of "Scanning kernel log files": journals of three boots, and files."""
    part: list[str] | None = None
    for line in block.lines:
        start = _LOG_PART.fullmatch(line.rstrip())
        if start is None:
            if part is not None and line.strip():
                part.append(line)
        elif start[1] is not None:
            part = found.journals.setdefault(int(start[1]), [])
        else:
            # /var/log/dmesg is from the start of this boot or of another one: dmesg itself is better.
            part = found.log_files if not start[2].endswith("/dmesg") else []


def _take_smi(_host: RecordedHost, found: Gathered, block: Block) -> None:
    """The first of several queries in one block: the others are about units, links and so on."""
    end = next((number for number, line in enumerate(block.lines) if re.match(r"\S*nvidia-smi ", line)),
               len(block.lines))
    found.smi = found.smi or "\n".join(trimmed(block.lines[:end]))


def _take_parameters(host: RecordedHost, _found: Gathered, block: Block) -> None:
    for line in (block.title, *block.lines):
        parameter = _PARAMETER.fullmatch(line)
        if parameter is not None:
            host.put_line(parameter[1], parameter[2])


def _take_numactl(_host: RecordedHost, found: Gathered, block: Block) -> None:
    found.numactl = "\n".join(block.lines)


def _take_dmidecode(_host: RecordedHost, found: Gathered, block: Block) -> None:
    found.dmidecode = block.lines


def _take_units(_host: RecordedHost, found: Gathered, block: Block) -> None:
    found.units = found.units or any(line.strip().startswith("Loaded: ") for line in block.lines)


_COMMANDS: tuple[tuple[re.Pattern, Callable[[RecordedHost, Gathered, Block], None]], ...] = (
    (re.compile(r"\S*lspci "), _take_lspci),
    (re.compile(r"PCI devices configuration space dump"), _take_lspci),
    (re.compile(r"dmesg:"), _take_dmesg),
    (re.compile(r"Scanning kernel log files"), _take_logs),
    (_SMI, _take_smi),
    (_PARAMETER, _take_parameters),
    (re.compile(r"\S*numactl -H"), _take_numactl),
    (re.compile(r"\S*dmidecode"), _take_dmidecode),
    (re.compile(r"\S*systemctl status"), _take_units),
)
