# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Decide whether a path missing from a recording is absent on the host or was not recorded.

recorded/answers.json decides, with the keys `open`, `closed`, `listed`, `not_recorded` and `cut` (see
docs/recordings.md). Without any of them the recording is complete: what is missing is absent.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

# Folders that every host has: if a recording lacks one, nothing is known about its contents.
ALWAYS_THERE = ("/etc", "/proc", "/sys")


def _texts(answers: dict, key: str) -> dict[str, str]:
    return {_spelled(path): str(reason) for path, reason in dict(answers.get(key) or {}).items()}


def _paths(answers: dict, key: str) -> frozenset[str]:
    return frozenset(map(_spelled, answers.get(key) or ()))


def _spelled(path: str) -> str:
    return "/" + path.strip("/")


def _upwards(path: str) -> Iterator[str]:
    """Yield the path, its parent folder, and so on up to the root."""
    path = _spelled(path)
    while path != "/":
        yield path
        path = path.rpartition("/")[0] or "/"
    yield "/"


class RecordedWorld:
    """What a recording states about missing paths. Paths are the host's; `spellings` are all names of one place.

    Raises ValueError, TypeError or AttributeError for malformed answers.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        self.open: str | None = None if answers.get("open") is None else str(answers["open"])
        self.closed, self.listed = _paths(answers, "closed"), _paths(answers, "listed")
        self.lacking, self.cut = _texts(answers, "not_recorded"), _texts(answers, "cut")

    @property
    def whole(self) -> bool:
        """Whether everything missing is absent."""
        return self.open is None and not self.lacking and not self.cut

    def why_missing(self, spellings: tuple[str, ...], there: Callable[[str], bool]) -> str | None:
        """Why it is unknown whether a missing path exists; None if the host does not have it.

        `there` says whether the recording has a path. The longest prefix with a statement decides.
        """
        statements = [one for path in spellings for one in self._statements(path, there)]
        return max(statements, key=lambda one: len(one[0]))[1] if statements else self.open

    def _statements(self, path: str, there: Callable[[str], bool]) -> Iterator[tuple[str, str | None]]:
        for place in _upwards(path):
            folder = place.rpartition("/")[0] or "/"
            if place in self.lacking:
                yield place, self.lacking[place]
            elif place in self.closed or (place != "/" and folder in self.listed and not there(place)):
                yield place, None

    def why_not_whole(self, spellings: tuple[str, ...], there: Callable[[str], bool]) -> str | None:
        """Why the listing of a recorded folder may be incomplete; None if it is complete."""
        if not self.listed.isdisjoint(map(_spelled, spellings)):
            return None
        for path in map(_spelled, spellings):
            prefix = path.rstrip("/") + "/"
            for lacking, reason in self.lacking.items():
                if lacking.startswith(prefix) and not there(prefix + lacking[len(prefix):].partition("/")[0]):
                    return reason
        statements = [one for path in spellings for one in self._statements(path, lambda _place: True)]
        if statements:
            return max(statements, key=lambda one: len(one[0]))[1]
        return self.open

    def why_cut(self, spellings: tuple[str, ...]) -> str | None:
        """Why a file is truncated in the recording; None if it is complete."""
        return next((self.cut[path] for path in map(_spelled, spellings) if path in self.cut), None)
