# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/proc/cpuinfo: models and features of the CPUs. The only file with those of all CPUs in one read."""
from __future__ import annotations

import re
from typing import NamedTuple

from .._host.host import Host
from .._host.reading import Reading
from .._kernel.cpulist import format_cpulist
from .arm_cores import name_core, name_processor

# Counterparts of `model name` on x86: loongarch; powerpc and sparc; riscv; 32-bit Arm.
_NAMES = ("Model Name", "cpu", "uarch", "Processor")
# powerpc: `POWER9, altivec supported`, `POWER7 (architected), altivec supported`
_AFTERTHOUGHT = re.compile(r"(?: \(architected\))?, altivec supported$")


class CpuInfo(NamedTuple):
    """What x86 prints (arch/x86/kernel/cpu/proc.c); on other architectures most of it is None or empty."""

    vendor: str | None
    family: int | None
    model: int | None
    stepping: int | None
    model_name: str | None              # for Arm cores derived from their numbers
    microcode: tuple[str, ...]          # distinct revisions
    microcode_cpus: tuple[dict, ...]    # {revision, cpus} if there are several
    flags: frozenset[str]               # of the first CPU
    cpus: int | None                    # how many are listed, that is, online
    sockets: int | None
    cores: int | None
    kinds: tuple[dict, ...]             # {name, cpus} if several kinds of cores are listed


def read_cpuinfo(host: Host) -> Reading:
    """Read a CpuInfo of the online CPUs."""
    return host.read("/proc/cpuinfo").map(parse_cpuinfo)


def parse_cpuinfo(text: str) -> CpuInfo:
    """Parse the first CPU in full, and of all others the lines that can differ."""
    first = _first_cpu(text)
    text = f"\n{text}"
    revisions = _values(text, "microcode")
    numbers = [int(number) for number in _values(text, "processor") if number.isdecimal() and len(number) < 7]
    parts = _parts(text)
    return CpuInfo(
        vendor=first.get("vendor_id"),
        family=_integer(first.get("cpu family")),
        model=_integer(first.get("model")),
        stepping=_integer(first.get("stepping")),
        model_name=first.get("model name") or name_processor(parts) or _name(first),
        microcode=tuple(sorted(set(revisions))),
        microcode_cpus=_by_revision(numbers, revisions),
        flags=frozenset(first.get("flags", "").split()),
        cpus=len(numbers) or None,
        **_count_cores(text),
        kinds=_by_kind(numbers, parts))


def _first_cpu(text: str) -> dict[str, str]:
    """Return the lines of the first CPU; on loongarch a block about the system precedes it."""
    first, _gap, rest = text.partition("\n\n")
    lines = first.splitlines()
    if lines and not lines[0].startswith("processor"):
        lines += rest.partition("\n\n")[0].splitlines()
    return dict(_pair(line) for line in reversed(lines))


def _name(first: dict[str, str]) -> str | None:
    """Return the processor's name from its architecture's line; None if there is none (s390, some riscv)."""
    named = next((first[name] for name in _NAMES if first.get(name)), None)
    return named and _AFTERTHOUGHT.sub("", named)


def _count_cores(text: str) -> dict[str, int | None]:
    """Count packages, and add up the core counts that they report: core ids repeat across the dies of a package.

    Without `cpu cores` the pairs of package and core are counted; None if some CPU lacks these lines.
    """
    packages = _values(text, "physical id")
    inside, cores = _values(text, "cpu cores"), _values(text, "core id")
    if packages and len(inside) == len(packages) and all(count.isdecimal() and len(count) < 7 for count in inside):
        most = {package: int(count) for package, count in sorted(zip(packages, inside), key=lambda pair: int(pair[1]))}
        return {"sockets": len(most), "cores": sum(most.values())}
    if packages and len(cores) == len(packages):
        return {"sockets": len(set(packages)), "cores": len(set(zip(packages, cores)))}
    return {"sockets": None, "cores": None}


def _parts(text: str) -> list[tuple[int, int]]:
    """Return implementer and part of every Arm core; 32-bit kernels print them once for all."""
    pairs = zip(_values(text, "CPU implementer"), _values(text, "CPU part"))
    return [(int(implementer, 16), int(part, 16)) for implementer, part in pairs
            if _is_hexadecimal(implementer) and _is_hexadecimal(part)]


def _by_kind(numbers: list[int], parts: list[tuple[int, int]]) -> tuple[dict, ...]:
    if len(set(parts)) < 2 or len(parts) != len(numbers):
        return ()
    return tuple({"name": name_core(*kind), "cpus": format_cpulist(
        number for number, its in zip(numbers, parts) if its == kind)} for kind in sorted(set(parts)))


def _by_revision(numbers: list[int], revisions: list[str]) -> tuple[dict, ...]:
    """Group the CPUs by revision if they differ, so that the odd ones can be named."""
    if len(set(revisions)) < 2 or len(numbers) != len(revisions):
        return ()
    return tuple({"revision": revision, "cpus": format_cpulist(
        number for number, its in zip(numbers, revisions) if its == revision)} for revision in sorted(set(revisions)))


def _values(text: str, name: str) -> list[str]:
    """Return the values of all lines of that name, without a loop: 256 CPUs make half a megabyte of text."""
    return [_pair(rest.partition("\n")[0])[1] for rest in text.split(f"\n{name}\t")[1:]]


def _pair(line: str) -> tuple[str, str]:
    name, _colon, value = line.partition(":")
    return name.strip(), value.strip()


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text) else None


def _is_hexadecimal(text: str) -> bool:
    return re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text) is not None
