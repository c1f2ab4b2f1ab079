# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Acceptance of a host's facts: bounded in size, of the known version, cleaned, and valid by their schema."""
from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from .._render.text import clean, clean_all
from . import bounds
from .bounds import too_much
from .shape import compile_schema, describe

SCHEMA = "gpuhost.facts/1"
# Compiled once, when the plugin is imported: workers are forks.
_FITS = compile_schema("facts.json")
_TOO_DEEP = "host_info returned facts that are nested too deep"


def take_packed(packed: Any) -> dict[str, Any]:
    """The facts that host_info packed; ValueError says in one line what is wrong with them."""
    if not isinstance(packed, str):
        raise ValueError(f"host_info returned facts that are not text but {type(packed).__name__}")
    if len(packed) > bounds.ANSWER_BYTES:
        raise ValueError(too_much("bytes", len(packed), bounds.ANSWER_BYTES))
    text = _unpack(packed)
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    if values > bounds.VALUES:
        raise ValueError(too_much("values", values, bounds.VALUES))
    try:
        # host_info writes ASCII.
        return take(json.loads(text.decode("ascii"), parse_constant=_no_constant), b"\\u" in text or b"\x7f" in text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"host_info returned facts that are not JSON: {error}") from None
    except UnicodeDecodeError:
        raise ValueError("host_info returned facts that are not ASCII") from None


def take(facts: Any, odd: bool = True) -> dict[str, Any]:
    """The facts, given as plain JSON types; `odd`: whether a string may hold characters unsafe for a terminal."""
    found = facts.get("schema") if isinstance(facts, dict) else None
    if found != SCHEMA:
        raise ValueError(f"host_info returned the schema {found!r:.80}, wanted {SCHEMA!r}: the collection on the "
                         "controller and the one that read the host have different versions")
    try:
        if odd:
            facts = clean_all(facts)
        misfit = _FITS(facts)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if misfit is not None:
        raise ValueError(f"host_info returned facts that do not match {SCHEMA}: {clean(describe(misfit))}")
    _require_few(facts)
    return facts


def _unpack(packed: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(base64.b64decode(packed, validate=True), bounds.ANSWER_BYTES)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"host_info returned facts that cannot be unpacked: {error}") from None
    if not stream.eof:
        more = len(text) >= bounds.ANSWER_BYTES
        raise ValueError(too_much("bytes", f"more than {len(text)}", bounds.ANSWER_BYTES) if more else
                         "host_info returned facts that cannot be unpacked: they are truncated")
    return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"host_info returned {name}, which is not a JSON number")


def _require_few(facts: dict[str, Any]) -> None:
    guests = facts["guests"]
    for what, found, limit in (
        # A section that is not recorded is an object of three entries.
        ("PCI devices", len(facts["gpus"]) + len(facts["ports"]), bounds.DEVICES),
        ("guests", sum(len(guests.get(kind, {}).get("value") or []) for kind in ("containers", "vms")), bounds.GUESTS),
    ):
        if found > limit:
            raise ValueError(too_much(what, found, limit))
