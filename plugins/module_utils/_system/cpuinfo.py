# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/proc/cpuinfo: what the CPUs are. The only file that has it for all of them in one read."""
from __future__ import annotations

import re
from typing import NamedTuple

from .._host.host import Host
from .._host.reading import Reading
from .._kernel.cpulist import format_cpulist


class CpuInfo(NamedTuple):
    """What x86 prints (arch/x86/kernel/cpu/proc.c); on other architectures most of it is None or empty."""

    vendor: str | None
    family: int | None
    model: int | None
    stepping: int | None
    model_name: str | None
    microcode: tuple[str, ...]          # distinct revisions
    microcode_cpus: tuple[dict, ...]    # {revision, cpus} where there is more than one
    flags: frozenset[str]               # of the first CPU
    cores: frozenset[tuple[str, str]]   # distinct pairs of `physical id` and `core id`


def read_cpuinfo(host: Host) -> Reading:
    """A CpuInfo of the CPUs that are online."""
    return host.read("/proc/cpuinfo").map(parse_cpuinfo)


def parse_cpuinfo(text: str) -> CpuInfo:
    """The first CPU in full, of all others the lines in which they can differ."""
    first = dict(_pair(line) for line in text.partition("\n\n")[0].splitlines())
    revisions = _values(text, "microcode")
    packages, cores = _values(text, "physical id"), _values(text, "core id")
    return CpuInfo(
        vendor=first.get("vendor_id"),
        family=_integer(first.get("cpu family")),
        model=_integer(first.get("model")),
        stepping=_integer(first.get("stepping")),
        model_name=first.get("model name"),
        microcode=tuple(sorted(set(revisions))),
        microcode_cpus=_by_revision(text, revisions),
        flags=frozenset(first.get("flags", "").split()),
        cores=frozenset(zip(packages, cores)) if len(packages) == len(cores) else frozenset())


def _by_revision(text: str, revisions: list[str]) -> tuple[dict, ...]:
    """The CPUs of each revision, where they differ: the odd ones can be named then."""
    if len(set(revisions)) < 2:
        return ()
    numbers = [int(number) for number in _values(f"\n{text}", "processor") if number.isdecimal()]
    if len(numbers) != len(revisions):
        return ()
    return tuple({"revision": revision, "cpus": format_cpulist(
        number for number, its in zip(numbers, revisions) if its == revision)} for revision in sorted(set(revisions)))


def _values(text: str, name: str) -> list[str]:
    """The value of every line of that name. Half a megabyte on a host with 256 CPUs: no loop over its lines."""
    return [_pair(rest.partition("\n")[0])[1] for rest in text.split(f"\n{name}\t")[1:]]


def _pair(line: str) -> tuple[str, str]:
    name, _colon, value = line.partition(":")
    return name.strip(), value.strip()


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text) else None
