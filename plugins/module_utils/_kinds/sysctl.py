# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind `sysctl`: files below /proc/sys, written directly.

Sources: Documentation/admin-guide/sysctl/, kernel/sysctl.c, mm/page-writeback.c (the dirty pairs).
"""
from __future__ import annotations

import errno
from typing import Any

from .._change.text_file import TextFile, parse_numbers
from .._change.tunable import CERTAIN, KERNEL_DECIDES, Group, Kind, Refused, Tunable, expected_error
from .._host.host import Host
from .._host.reading import Reading
from .._kernel.sysctl import PROC_SYS, key_to_path
from .._tunables import sysctl
from .._tunables.kinds import KINDS
from .._tunables.sysctl_rules import PAIRS, RANGES, WATCHDOGS, never_written
from .._tunables.wanted import Wanted

_SWAP = str.maketrans("./", "/.")


class Sysctl(TextFile):
    """One sysctl key, in dotted form."""

    def __init__(self, host: Host, path: str) -> None:
        self.key = path[len(PROC_SYS) + 1:].translate(_SWAP)
        super().__init__(host, f"sysctl:{self.key}", path)
        self.cleared_by: str | None = None      # the other key of a pair, if that is wanted as well

    def read(self) -> Reading:
        return sysctl.read(self.host, self.key)

    def made_of(self, written: str, found: str) -> bool:
        """The kernel allocates only as many huge pages as it has memory for. Keys that change together take
        intermediate values: a pair 0, its ratio also the 1 or 2 by which the bytes are cleared.
        """
        if super().made_of(written, found):
            return True
        try:
            number = self.number(found)
            return (self.key == "vm.nr_hugepages" and number <= self.number(written)) \
                or (any(self.key in pair for pair in PAIRS) and number == 0) \
                or (any(self.key == ratio for ratio, _face in PAIRS) and number in (1, 2)) \
                or (self.key in WATCHDOGS and number in (0, 1))
        except ValueError:
            return False

    def predict(self, now: str, target: str, peers: dict[str, Any]) -> str:
        why = never_written(self.key)
        if why is not None:
            raise Refused(f"never written: {why}")
        self.require_writable()
        try:
            held = len(parse_numbers(now))
        except ValueError:
            return KERNEL_DECIDES
        try:
            numbers = parse_numbers(target)
        except ValueError as bad:
            raise expected_error(errno.EINVAL, str(bad)) from None
        if len(numbers) != held:
            # The kernel applies what fits and silently ignores the rest.
            raise Refused(f"it holds {held} number{'s' if held > 1 else ''}, and {target!r} are {len(numbers)}")
        return self._in_range(numbers[0])

    def _in_range(self, number: int) -> str:
        ratio = next((ratio for ratio, alias in PAIRS if alias == self.key), None)
        if number == 0 and ratio is not None:
            if self.cleared_by is None:
                raise expected_error(errno.EINVAL, f"0 means that sysctl:{ratio} applies: set that one")
            return CERTAIN
        if self.key not in RANGES:
            return KERNEL_DECIDES
        lowest, highest = RANGES[self.key]
        if not lowest <= number <= highest:
            raise expected_error(errno.EINVAL, f"the kernel takes {lowest} to {highest}")
        return CERTAIN


class Pair(Group):
    """A ratio and the same setting in bytes: writing one sets the other to 0; 0 is never written to the bytes.

    domain_dirty_limits() in mm/page-writeback.c uses the bytes if they are not 0. dirty_ratio_handler() clears them
    only if the ratio actually changes.
    """

    def __init__(self, host: Host, ratio: Sysctl, alias: Sysctl, wanted: dict[Tunable, Wanted]) -> None:
        members = {member: wanted[member] for member in (ratio, alias) if member in wanted}
        super().__init__(members, [member for member in (ratio, alias) if member not in members])
        self.host, self.ratio, self.alias = host, ratio, alias

    def steps(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        ratio, alias = self.ratio, self.alias
        if not _zero(target.get(alias, "0")):
            return [] if alias.same(now.get(alias), target[alias]) else [(alias, target[alias])]
        last = target.get(ratio, now.get(ratio))
        if last is None:
            return []
        if not ratio.same(now.get(ratio), last):
            return [(ratio, last)]
        if alias in target and not alias.same(now.get(alias), target[alias]):
            return [(ratio, "2" if last.split() == ["1"] else "1"), (ratio, last)]
        return []

    def follow_up(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        # In a recording there is no kernel to clear the other key.
        return [] if self.host.live else super().follow_up(now, target)

    def foresee_side_effects(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> dict[Tunable, Any]:
        if not self.host.live:
            return {}
        return {companion: "0" for companion in self.companions if not _zero(now.get(companion, "0"))}


class SysctlKind(Kind):
    name = "sysctl"

    def __init__(self, host: Host) -> None:
        self.host = host

    def parse(self, name: str, spec: Any) -> Wanted:
        return KINDS[self.name].parse(name, spec)

    def find(self, name: str) -> list[Tunable]:
        return [Sysctl(self.host, key_to_path(name))]

    def peers(self, tunable: Sysctl) -> list[Tunable]:
        return [self.find(key)[0] for key in family(tunable.key) if key != tunable.key]

    def group(self, wanted: dict[Tunable, Wanted]) -> list[Group]:
        by_key = {tunable.key: tunable for tunable in wanted}
        groups = []
        for keys in dict.fromkeys(family(key) for key in by_key):
            members = [by_key.get(key) or self.find(key)[0] for key in keys]
            if keys in PAIRS:
                groups.append(self._pair(members[0], members[1], wanted))
            else:
                groups.append(Group({member: wanted[member] for member in members if member in wanted},
                                    [member for member in members if member not in wanted]))
        return groups

    def _pair(self, ratio: Sysctl, alias: Sysctl, wanted: dict[Tunable, Wanted]) -> Pair:
        if ratio in wanted and alias in wanted:
            if not _zero(str(wanted[ratio].value)) and not _zero(str(wanted[alias].value)):
                raise ValueError(f"{ratio.key} and {alias.key} are a ratio/bytes alias pair: one of them must be 0")
            alias.cleared_by = ratio.key
        return Pair(self.host, ratio, alias, wanted)


def family(key: str) -> tuple[str, ...]:
    """The keys that change together with this one, including itself, in write order."""
    return next((keys for keys in (*PAIRS, WATCHDOGS) if key in keys), (key,))


def _zero(text: str) -> bool:
    try:
        return parse_numbers(text) == [0]
    except ValueError:
        return False
