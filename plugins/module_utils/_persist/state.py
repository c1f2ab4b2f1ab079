# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The state of the files of the list, whose they are, and what a killed run left."""
from __future__ import annotations

from typing import Any

from .._host.host import Host
from .files import Files, Found, Link
from .ledger import parse_ledger
from .ledger_place import sweep_ledger
from .obstacles import Obstacle
from .paths import FILES, LEDGER

Entry = dict[str, Any]


class State:
    """Read once, under the lock. Raises Obstacle for an invalid ledger, InTheWay for what is not a file."""

    def __init__(self, host: Host) -> None:
        self.files = Files(host)
        self.ledger = self._read_ledger()
        self.found: dict[str, Found] = {path: self.files.look(path) for path in FILES}

    def _read_ledger(self) -> dict[str, Any] | None:
        found = self.files.look(LEDGER)
        if found.entry is None:
            return None
        try:
            if isinstance(found.content, Link):
                raise ValueError("it is a link")
            return parse_ledger(found.content.decode())
        except (ValueError, RecursionError) as problem:
            raise Obstacle(f"{LEDGER} is not what this collection writes there ({problem}), so it is not known which "
                           "files are ours: remove them by hand, as the head of each of them says") from None

    @property
    def recorded(self) -> dict[str, Entry]:
        """The files of the last completed run."""
        return self.ledger["files"] if self.ledger else {}

    @property
    def started(self) -> dict[str, Any] | None:
        """What a killed run was about to write."""
        return self.ledger["next"] if self.ledger else None

    def ours(self, path: str) -> list[Entry]:
        """Return the entries that we may have left at `path`; empty if it was never ours."""
        entries = [self.recorded.get(path), self.started["files"].get(path) if self.started else None]
        return [entry for entry in entries if entry is not None]

    def there(self) -> dict[str, Entry]:
        """Return the existing files that are ours, whichever run wrote them; an edited one with its original entry."""
        return {path: self.ours(path)[0] if self.kept(path) else self.found[path].entry for path in FILES
                if self.ours(path) and self.found[path].entry}

    def folders(self) -> list[str]:
        """List the folders that our runs created."""
        made = [*self.ledger["folders"], *(self.started["folders"] if self.started else [])] if self.ledger else []
        return list(dict.fromkeys(made))

    def kept(self, path: str, wanted: Entry | None = None) -> str | None:
        """Return why the file at `path` is left unchanged; None if it is ours, equals `wanted`, or is missing."""
        entry, ours = self.found[path].entry, self.ours(path)
        if entry is None or same(entry, wanted) or any(same(entry, one) for one in ours):
            return None
        what = "is a link" if "link" in entry else "was edited" if ours else "was not written by gpuhost.tuning"
        return f"{path} {what}"

    def left_behind(self) -> bool:
        """Whether a killed run left temporary files."""
        return bool(self.files.leftovers()) or sweep_ledger(self.files, only_look=True)

    def sweep(self) -> None:
        self.files.sweep()
        sweep_ledger(self.files)

    def interrupted(self) -> str | None:
        """Describe what a killed run left, file by file."""
        if self.started is None:
            return None
        new = self.started["files"]
        states = {"new": [], "old": []}
        for path in FILES:
            entry = self.found[path].entry
            if not same(new.get(path), self.recorded.get(path)) and not self.kept(path):
                states["new" if same(entry, new.get(path)) else "old"].append(path)
        shown = "; ".join(f"{word}: {', '.join(paths)}" for word, paths in states.items() if paths)
        return f"run {self.started.get('run_id')} was killed while it {'wrote' if new else 'removed'} the files" \
               + (f" ({shown})" if shown else "")


def same(one: Entry | None, other: Entry | None) -> bool:
    """Whether two entries have the same content; a changed mode is corrected and does not count as an edit."""
    keys = ("sha256", "link")
    return (one is None) == (other is None) and (
        one is None or [one.get(key) for key in keys] == [other.get(key) for key in keys])
