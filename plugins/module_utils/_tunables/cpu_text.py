# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CPUs of a guest as one line of text: `0-31`, and what differs from it: `0-31 4711=4`, `0-31 ns=0-3`.

The list is that of a VM's main thread, or of a container's own control group. `4711=4`: that thread of the VM has the
CPU 4. `ns=0-3`: the inner control group of the container has another list. `none`: the container's control group has no
list, so that of the one above it applies.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._kernel.cpulist import format_cpulist, parse_cpulist
from .wanted import scalar

NONE = "none"
INNER = "ns"        # lxc.cgroup.dir.container.inner of Proxmox VE's containers
_THREAD = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)


class Cpus(NamedTuple):
    """`general` is a CPU list or NONE; `apart` has the lists that differ, by thread number or INNER."""

    general: str
    apart: dict[str, str]

    def text(self) -> str:
        return " ".join([self.general, *(f"{name}={cpus}" for name, cpus in self.apart.items())])

    def of(self, name: str) -> str:
        return self.apart.get(name, self.general)


def make(general: str, others: Mapping[str, str]) -> Cpus:
    """Of `others` only those that differ are kept, in the order of their names."""
    apart = {name: cpus for name, cpus in others.items() if cpus != general}
    return Cpus(general, dict(sorted(apart.items(), key=lambda item: (len(item[0]), item[0]))))


def parse(text: str) -> Cpus:
    """Raises ValueError for anything but the text above."""
    general, *rest = text.split() or [""]
    apart: dict[str, str] = {}
    for part in rest:
        name, equals, cpus = part.partition("=")
        if not equals or not (name == INNER or _THREAD.fullmatch(name)) or name in apart:
            raise ValueError(f"{part!r} in {text!r} is neither THREAD=CPUS nor {INNER}=CPUS")
        apart[name] = _list(cpus)
    if INNER in apart and len(apart) > 1:
        raise ValueError(f"{text!r} names threads of a VM and the control group of a container")
    if NONE in apart.values() or (general == NONE and set(apart) - {INNER}):
        raise ValueError(f"{text!r}: only the control group of a container may have no list")
    return make(_list(general), apart)


def parse_value(value: Any) -> str:
    """Parse a wanted value to its normal form. Raises ValueError; an empty list would leave the guest no CPU."""
    if isinstance(value, str) and not value.strip():
        raise ValueError("the list of CPUs is empty: a guest needs at least one")
    return parse(scalar(value)).text()


def cpus_of(text: str) -> set[int]:
    """The CPUs of a list; none for NONE."""
    return set() if text == NONE else set(parse_cpulist(text))


def _list(text: str) -> str:
    if text == NONE:
        return NONE
    cpus = parse_cpulist(text)
    if not cpus:
        raise ValueError("the list of CPUs is empty: a guest needs at least one")
    return format_cpulist(cpus)
