# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind `sysfs`: attributes below /sys from a list of patterns; everything else is refused."""
from __future__ import annotations

import errno
from typing import Any

from .._change.text_file import TextFile
from .._change.tunable import CERTAIN, KERNEL_DECIDES, Group, Kind, Refused, Tunable, expected_error
from .._host.host import Host
from .._host.reading import Reading
from .._kernel.bracketed import choices
from .._tunables import sysfs
from .._tunables.kinds import KINDS
from .._tunables.sysfs import check_path
from .._tunables.sysfs_rules import BRACKETED, CPUFREQ, NUMBER, find_rule, never_written
from .._tunables.wanted import Wanted

GOVERNOR = "scaling_governor"
PREFERENCE = "energy_performance_preference"
MAXIMUM = "scaling_max_freq"
MINIMUM = "scaling_min_freq"
BOOST = "boost"
# The limits come last because the kernel may reset them when it switches boost (cpufreq_boost_set_sw() in
# drivers/cpufreq/cpufreq.c).
POLICY_FILES = (GOVERNOR, PREFERENCE, BOOST, MAXIMUM, MINIMUM)
_OF_BOOST = (BOOST, MAXIMUM, MINIMUM)
# A new limit is a request that a kernel worker applies later: handle_update() in drivers/cpufreq/cpufreq.c.
SETTLE_SECONDS = 1.0
EVERY_BOOST = f"{CPUFREQ}/{BOOST}"      # of all policies at once

# Files that the kernel may change together with another file of the same policy.
_FOLLOWERS = {GOVERNOR: (PREFERENCE,), BOOST: (MAXIMUM, MINIMUM)}

# With these drivers, the governor may lock the preference (amd_pstate_set_epp() and intel_pstate_set_epp(): EBUSY).
_ACTIVE_DRIVERS = ("amd-pstate-epp", "intel_pstate")


class Attribute(TextFile):
    """One sysfs file."""

    def __init__(self, host: Host, path: str) -> None:
        super().__init__(host, f"sysfs:{path}", path)
        self.folder, _slash, self.file = path.rpartition("/")
        self.rule = find_rule(path)
        self.inexact = self.rule.inexact if self.rule else ()
        if host.live and self.file in (MAXIMUM, MINIMUM):
            self.settles = SETTLE_SECONDS

    def read(self) -> Reading:
        return sysfs.read(self.host, self.path)

    def same(self, one: Any, other: Any) -> bool:
        if one is None or other is None:
            return False
        if self.rule is not None and self.rule.form == NUMBER:
            return super().same(one, other)
        if self.rule is not None and self.rule.form == BRACKETED:
            return one.rstrip() == other.rstrip()       # the kernel does not skip leading blanks
        return one.strip() == other.strip()

    def made_of(self, written: str, found: str) -> bool:
        """A frequency limit is rounded to the nearest supported one, or reset to the hardware limit when boost is
        switched; a preference follows its governor.
        """
        if self.file == PREFERENCE or super().made_of(written, found):
            return True
        if self.file not in (MAXIMUM, MINIMUM):
            return False
        limits = [self.host.read_int(f"{self.folder}/{name}").value for name in self.rule.limits_files]
        offered = [int(word) for word in (self._peer_value("scaling_available_frequencies") or "").split()
                   if word.isdecimal()]
        try:
            wanted, now = self.number(written), self.number(found)
        except ValueError:
            return False
        nearest = sorted(offered, key=lambda one: abs(one - wanted))[:2]
        return now in (wanted, *limits, *nearest)

    def predict(self, now: str, target: str, peers: dict[str, Any]) -> str:
        why = never_written(self.path)
        if why is not None:
            raise Refused(f"never written: {why}")
        if self.rule.form == NUMBER:
            self._require_number(target)
        self.require_writable()
        self._require_free_preference(target, peers)
        if self.rule.limits_files and not self._boost_changes(peers):
            self._require_in_limits(self.number(target))
        return self._among_choices(target)

    def _require_number(self, target: str) -> None:
        try:
            self.number(target)
        except ValueError as why:
            raise expected_error(errno.EINVAL, str(why)) from None

    def _among_choices(self, target: str) -> str:
        offered = self._choices()
        if not offered or (self.file == PREFERENCE and target.isdigit()):
            return KERNEL_DECIDES
        if all(not self.same(target, word) for word in offered):
            raise expected_error(errno.EINVAL, f"{target!r} is none of {', '.join(offered)}")
        return CERTAIN

    def _choices(self) -> list[str]:
        if self.rule.choices_file:
            return (self._peer_value(self.rule.choices_file) or "").split()
        if self.rule.form == BRACKETED:
            text = self.host.read(self.path).value or ""
            return choices(text) if "[" in text else []
        return list(self.rule.choices)

    def _peer_value(self, name: str) -> str | None:
        return self.host.read(f"{self.folder}/{name}").value

    def _boost_changes(self, peers: dict[str, Any]) -> bool:
        # The hardware limits will change before this is written.
        return any(wanted is not None and not super(Attribute, self).same(wanted, self.host.read(path).value)
                   for path in (EVERY_BOOST, f"{self.folder}/{BOOST}")
                   for wanted in [peers.get(f"sysfs:{path}")])

    def _require_in_limits(self, number: int) -> None:
        low, high = (self.host.read_int(f"{self.folder}/{name}").value for name in self.rule.limits_files)
        if low is not None and high is not None and not low <= number <= high:
            raise expected_error(errno.EINVAL, f"the hardware's limits are {low} to {high} kHz")

    def _require_free_preference(self, target: str, peers: dict[str, Any]) -> None:
        if self.file != PREFERENCE or target in ("performance", "0"):
            return
        governor = peers.get(f"sysfs:{self.folder}/{GOVERNOR}") or self._peer_value(GOVERNOR)
        if governor == "performance" and self._peer_value("scaling_driver") in _ACTIVE_DRIVERS:
            raise expected_error(errno.EBUSY, "with the governor performance the driver accepts no other preference")


class Policy(Group):
    """The files of one cpufreq policy in the order governor, preference, boost, limits."""

    patience = 0.1      # seconds; a host has hundreds of policies, which are written one by one

    @property
    def pause(self) -> float:
        return self.patience if any(tunable.settles for tunable in self.tunables) else 0

    def steps(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        steps = super().steps(now, target)
        by_path = {tunable.path: (tunable, value) for tunable, value in steps}
        for path, maximum in by_path.items():
            minimum = by_path.get(f"{maximum[0].folder}/{MINIMUM}") if path.endswith(f"/{MAXIMUM}") else None
            # A maximum below the current minimum would be clamped: write the minimum first.
            if minimum is not None and _less(maximum[1], now.get(minimum[0])):
                low, high = steps.index(minimum), steps.index(maximum)
                steps[low], steps[high] = steps[high], steps[low]
        return steps


class Boost(Policy):
    """Boost of all policies at once, and the desired limits, which the kernel may reset with it.

    Limits that were set are companions: they are recorded and restored with boost. The kernel itself restores limits
    at the hardware's values.
    """

    side_effects_known = KERNEL_DECIDES
    patience = SETTLE_SECONDS

    def foresee_side_effects(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> dict[Tunable, Any]:
        # A driver with a boost register (acpi-cpufreq) leaves them alone; others give the policy new limits.
        return dict.fromkeys(self.companions, "chosen by the kernel")


def _less(one: Any, other: Any) -> bool:
    try:
        return int(one) < int(other)
    except (TypeError, ValueError):
        return False


class SysfsKind(Kind):
    name = "sysfs"

    def __init__(self, host: Host) -> None:
        self.host = host

    def parse(self, name: str, spec: Any) -> Wanted:
        return KINDS[self.name].parse(name, spec)

    def is_pattern(self, name: str) -> bool:
        return any(sign in name for sign in "*?[")

    def find(self, name: str) -> list[Tunable]:
        check_path(name)
        paths = self.host.glob(name) if self.is_pattern(name) else [name]
        return [Attribute(self.host, path) for path in dict.fromkeys(self._resolve(one) for one in paths or [name])]

    def _resolve(self, path: str) -> str:
        # /sys/devices/system/cpu/cpu0/cpufreq links to a policy, and a link may lead to a path that is never written.
        try:
            return self.host.resolve(path)
        except OSError:
            return path

    def peers(self, tunable: Attribute) -> list[Tunable]:
        if tunable.path == EVERY_BOOST:
            return self._set_limits(tunable)
        if not in_policy(tunable):
            return []
        return [Attribute(self.host, f"{tunable.folder}/{name}") for name in _FOLLOWERS.get(tunable.file, ())]

    def _set_limits(self, boost: Attribute) -> list[Tunable]:
        """Limits that differ from the hardware's, and policies' boost files that differ from the global one."""
        found = []
        for folder in self.host.glob(f"{CPUFREQ}/policy*"):
            for name, usual in ((BOOST, boost.path), (MAXIMUM, f"{folder}/cpuinfo_max_freq"),
                                (MINIMUM, f"{folder}/cpuinfo_min_freq")):
                now = self.host.read(f"{folder}/{name}")
                if now.ok and now.value != self.host.read(usual).value:
                    found.append(Attribute(self.host, f"{folder}/{name}"))
        return found

    def group(self, wanted: dict[Tunable, Wanted]) -> list[Group]:
        boost = next((tunable for tunable in wanted if tunable.path == EVERY_BOOST), None)
        policies: dict[str, dict[str, Tunable]] = {}
        single, with_boost = [], {}
        for tunable in wanted:
            if boost is not None and (tunable is boost or (in_policy(tunable) and tunable.file in _OF_BOOST)):
                with_boost[tunable] = wanted[tunable]
            elif in_policy(tunable):
                policies.setdefault(tunable.folder, {})[tunable.file] = tunable
            else:
                single.append(Group({tunable: wanted[tunable]}))
        groups = [*single, *(self._policy(files, wanted) for files in policies.values())]
        return groups if boost is None else [*groups, self._boost(boost, with_boost)]

    def _boost(self, boost: Attribute, wanted: dict[Tunable, Wanted]) -> Boost:
        ordered = sorted(wanted, key=lambda tunable: (tunable is not boost, POLICY_FILES.index(tunable.file)))
        paths = {tunable.path for tunable in wanted}
        return Boost({tunable: wanted[tunable] for tunable in ordered},
                     [one for one in self._set_limits(boost) if one.path not in paths])

    def _policy(self, files: dict[str, Tunable], wanted: dict[Tunable, Wanted]) -> Policy:
        companions = {one.file: one for tunable in files.values() for one in self.peers(tunable)}
        return Policy({files[name]: wanted[files[name]] for name in POLICY_FILES if name in files},
                      [companion for name, companion in companions.items() if name not in files])


def in_policy(tunable: Attribute) -> bool:
    return tunable.folder.startswith(f"{CPUFREQ}/policy") and tunable.file in POLICY_FILES
