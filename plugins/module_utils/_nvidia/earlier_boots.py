# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Errors of NVIDIA's driver in earlier boots, from recordings that contain their logs: `kernel.earlier_boots`.

Not read on a live host: its journal may be large and does not concern this boot.
"""
from __future__ import annotations

import json
from typing import Any

from .._host.host import Host
from .._host.reading import ABSENT, Reading
from .._kernel.log import parse_text
from .driver_messages import parse_mismatches
from .init_log import parse_init_failures
from .log import count_xids

RECORDED = "earlier_boots.json"
LIMIT = 50          # boots
_NOT_ASKED = Reading(ABSENT, None, "not asked for: journalctl -k -b -1 has the last boot before this one")


def read(host: Host) -> Reading:
    """`[{boot, xids: [{bdf, xid, count}], mismatches: [...], init_failures: [{bdf, text}]}]`, the newest boot first.

    `boot` is -1 for the previous boot. Mismatches are from parse_mismatches(); `init_failures` are distinct, `bdf` is
    None if the line does not name it.
    """
    return _NOT_ASKED if host.live else host.recorded(RECORDED).map(parse)


def parse(text: str) -> list[dict[str, Any]]:
    """Parse the recorded logs. Raises ValueError for anything but a list of logs."""
    boots = json.loads(text)
    if not isinstance(boots, list):
        raise ValueError("a list of boots was expected")
    return [_messages(int(boot["boot"]), parse_text(str(boot["text"]))) for boot in boots[:LIMIT]]


def _messages(boot: int, lines: list[dict]) -> dict[str, Any]:
    failures = {(failure["bdf"], failure["text"]): None for failure in parse_init_failures(lines)}
    return {"boot": boot, "xids": count_xids(lines), "mismatches": parse_mismatches(lines),
            "init_failures": [{"bdf": bdf, "text": text} for bdf, text in list(failures)[:LIMIT]]}
