# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kinds of tunables without their writers: the part shared by facts, checks, plan and setters."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

from .._host.host import Host
from .._host.reading import Reading
from . import guest_affinity, kmod, maxreadreq, sysctl, sysfs
from .wanted import Wanted, parse_wanted, scalar


class KindOfTunable(NamedTuple):
    """`check_name` and `parse_value` raise ValueError; `at_least` says whether the kind supports a lower bound.

    `opt_in`: planned only if gpuhost_include, or `plan` of a profile, names the kind beside its checks.
    `lasts`: it may be persisted.
    """

    check_name: Callable[[Any], None]
    parse_value: Callable[[Any], Any]
    read: Callable[[Host, str], Reading]
    at_least: bool = False
    opt_in: bool = False
    lasts: bool = True

    def parse(self, name: Any, spec: Any) -> Wanted:
        """Parse what a user, a plan or a restore plan wants of the tunable `name`."""
        self.check_name(name)
        return parse_wanted(spec, self.parse_value, numbers=self.at_least)


KINDS = {
    "sysctl": KindOfTunable(sysctl.check_key, scalar, sysctl.read, at_least=True),
    "sysfs": KindOfTunable(sysfs.check_path, scalar, sysfs.read),
    "pcie_maxreadreq": KindOfTunable(maxreadreq.check_address, maxreadreq.parse_size, maxreadreq.read),
    "module": KindOfTunable(kmod.check_name, kmod.parse_state, kmod.read),
    "guest_affinity": KindOfTunable(guest_affinity.check_name, guest_affinity.parse_value, guest_affinity.read,
                                    opt_in=True, lasts=False),
}
OPT_IN = tuple(name for name, kind in KINDS.items() if kind.opt_in)
