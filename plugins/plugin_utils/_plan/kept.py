# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Output about persisted values: their state in verify, and which changes of a run are persisted."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils._boot_order.setting import agrees
from .._derive.persisted import FINE, STATES, describe, older_version, persisted_lines, persisted_values


class Kept:
    """The evaluated `persisted` section of the facts."""

    def __init__(self, section: dict[str, Any]) -> None:
        self.lines = persisted_lines(section)
        self.older = older_version(section)
        self.failing = [line for line in self.lines if line["state"] not in FINE]

    def tally(self) -> list[str]:
        """`["persisted: 1 overruled, 10 applied"]`; empty if nothing is persisted."""
        counts = [(sum(line["state"] == state for line in self.lines), state) for state in STATES]
        text = ", ".join(f"{number} {state}" for number, state in counts if number)
        return [f"persisted: {text}"] if text else []

    def shown(self, host: str) -> list[str]:
        """The lines for the terminal: the tally, and one line for each value that is not in effect."""
        texts = [f"{host}: {text}" for text in self.tally()]
        texts += [f"  {describe(line)}" for line in self.lines if line["state"] != "applied"]
        return texts + ([f"{host}: {self.older}"] if self.older else [])

    def answer(self) -> dict[str, Any]:
        """The keys of verify's result."""
        return {"persisted": self.lines, "persisted_older": self.older,
                "persisted_msg": "\n".join(describe(line) for line in self.failing)}


def kept_changes(section: dict[str, Any], changes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The changed addresses that are persisted with the same value, and those with another one:
    `{same: [address], other: {address: value}}`."""
    persisted = persisted_values(section)
    changed = {change["address"]: str(change["after"]) for change in changes
               if change["outcome"] == "changed" and change["address"] in persisted}
    same = [address for address, after in changed.items() if agrees(after, persisted[address])]
    return {"same": same, "other": {address: persisted[address] for address in changed if address not in same}}
