# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The fact `source`: what a recorded host was imported from, if not from this collection's own recording."""
from __future__ import annotations

import json
from typing import Any

from .._host.host import Host

RECORDED = "source.json"
_TEXTS = ("kind", "name", "collected_at", "script")
NOTES = 50


def read(host: Host) -> dict[str, Any] | None:
    """`{kind, name, collected_at, script, notes}` of recorded/source.json; None on a live host or without the file."""
    told = None if host.live else host.recorded(RECORDED)
    return parse(told.value) if told is not None and told.ok else None


def parse(text: str) -> dict[str, Any] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    notes = document.get("notes")
    return {**{key: document[key] if isinstance(document.get(key), str) else None for key in _TEXTS},
            "notes": [note for note in notes if isinstance(note, str)][:NOTES] if isinstance(notes, list) else []}
