# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Kernel modules by name: valid names and states, and the only reader of the state."""
from __future__ import annotations

import re
from typing import Any

from .._host.host import Host
from .._host.reading import UNPARSABLE, Reading, ok
from .._kernel.modules import BUILT_IN, LIVE, MODULE_ABSENT, read_module

PRESENT, ABSENT = "present", "absent"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)


def check_name(name: Any) -> None:
    """Raise ValueError for what cannot be a module name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a module, such as nvidia_peermem")


def parse_state(value: Any) -> str:
    if value not in (PRESENT, ABSENT):
        raise ValueError(f"{value!r} is neither {PRESENT} nor {ABSENT}")
    return value


def read(host: Host, name: str) -> Reading:
    """Read `present` or `absent`; `unparsable` for a module that is being loaded or unloaded."""
    state = read_module(host, name)["state"]
    if state in (LIVE, BUILT_IN):
        return ok(PRESENT)
    return ok(ABSENT) if state == MODULE_ABSENT else Reading(UNPARSABLE, None, f"the module is {state}")
