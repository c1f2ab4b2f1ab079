# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The values of the ledger, the files that apply them, and the outcome of each value at the current boot."""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from .._boot.outcome import PATH as OUTCOME
from .._boot.outcome import SCHEMA as OUTCOME_SCHEMA
from .._host.host import Host
from .._host.reading import ABSENT, DENIED, Reading, from_error
from .._one_file.version import VERSION
from .._persist.ledger import parse_ledger
from .._tunables.kinds import KINDS
from .persisted import nothing

INTACT, EDITED, MISSING, UNREADABLE = "intact", "edited", "missing", "unreadable"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SIZE_LIMIT = 16 << 20      # bytes of a file
_BOOT_TIME = re.compile(r"^btime (\d+)$", re.MULTILINE)
_OF_A_CHANGE = ("outcome", "before", "after", "reason")
_OF_A_COMPETITOR = ("path", "line", "key", "value", "wins", "why")


def read_values(host: Host, ledger: Reading, find_competitors: Callable[..., list[dict]] | None) -> dict[str, Any]:
    """The facts' section `persisted`; `ledger` is the text of the ledger."""
    ledger = ledger.map(parse_ledger).map(_checked)
    if not ledger.ok:
        return nothing(ledger)
    document = ledger.value
    outcome = host.read(OUTCOME).map(_parse_outcome)
    this_boot = outcome.ok and outcome.value.get("boot_id") == host.read(_BOOT_ID).value
    return {
        "ledger": ledger.map(lambda it: {**{key: it[key] for key in ("run_id", "version", "created_at")},
                                         "collection": VERSION, "unfinished": it["next"] is not None}),
        "files": [{"path": path, "state": _file_state(host, path, entry)} for path, entry in document["files"].items()],
        "boot": outcome.map(lambda it: {"run_id": str(it["run_id"]), "started_at": str(it["started_at"]),
                                        "finished_at": str(it["finished_at"]), "error": it["error"]}),
        "this_boot": this_boot,
        "rebooted": _was_rebooted(host, document["created_at"]),
        "values": _read_values(host, document, outcome.value["changes"] if this_boot else [], find_competitors),
    }


def _parse_outcome(text: str) -> dict[str, Any]:
    """Parse the outcome, which is read as a file so that recordings contain it. Raises ValueError."""
    document = json.loads(text)
    if document["schema"] != OUTCOME_SCHEMA or not isinstance(document["changes"], list):
        raise ValueError(f"its schema is not {OUTCOME_SCHEMA}")
    return document


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """Check the document. Raises ValueError for a value that this collection would not have written."""
    for kind, named in document["values"].items():
        for name, spec in named.items():
            KINDS[kind].parse(name, spec)
    return document


def _file_state(host: Host, path: str, entry: dict[str, Any]) -> str:
    link = host.read_link(path)
    if link.status == ABSENT:
        return MISSING
    if link.ok or "link" in entry:
        return INTACT if link.value == entry.get("link") else EDITED
    try:
        data = host.read_bytes(path, _SIZE_LIMIT)
    except OSError as error:
        return UNREADABLE if from_error(error).status == DENIED else MISSING

    return INTACT if hashlib.sha256(data).hexdigest() == entry.get("sha256") else EDITED


def _was_rebooted(host: Host, created_at: str) -> bool | None:
    """Whether the machine was booted after `created_at`, according to /proc/stat."""
    booted = _BOOT_TIME.search(host.read("/proc/stat").value or "")

    try:
        created = datetime.strptime(created_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return None if booted is None else created.timestamp() < int(booted[1])


def _read_values(host: Host, document: dict[str, Any], changes: list[Any],
                 find_competitors: Callable[..., list[dict]] | None) -> list[dict[str, Any]]:
    done = {change["address"]: {key: change.get(key) for key in _OF_A_CHANGE} for change in changes
            if isinstance(change, dict) and "address" in change}
    others: dict[str, list[dict[str, Any]]] = {}
    for one in find_competitors(host, document["values"]) if find_competitors else ():
        others.setdefault(one["address"], []).append({key: one[key] for key in _OF_A_COMPETITOR})
    return [{
        "address": f"{kind}:{name}",
        "wanted": spec["set"] if isinstance(spec, dict) and "set" in spec else spec,
        "baseline": document["baseline"].get(kind, {}).get(name),
        "now": KINDS[kind].read(host, name),
        "set": done.get(f"{kind}:{name}"),
        "competitors": others.get(f"{kind}:{name}", []) if find_competitors else None,
    } for kind, named in document["values"].items() for name, spec in named.items()]
