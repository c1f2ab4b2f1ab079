# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Waivers: accepted deviations with a reason and an expiry date."""
from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from .._expressions.errors import CatalogueError, nearest

_KEYS = ("check", "subject", "host", "reason", "expires")
_ORIGIN = "gpuhost_waivers"


class Waiver(NamedTuple):
    check: str
    subject: str | None             # None: every subject
    host: str | None                # None: every host
    reason: str
    expires: datetime.date          # the last day on which it counts

    def concerns(self, host: str | None) -> bool:
        return self.host is None or self.host == host

    def covers(self, check: str, subject: str | None) -> bool:
        return self.check == check and self.subject in (None, subject)

    def as_finding_says(self) -> dict[str, str]:
        return {"reason": self.reason, "expires": self.expires.isoformat()}


def parse_waivers(given: Iterable[Mapping[str, Any]], known: Collection[str] | None = None) -> list[Waiver]:
    """The waivers in gpuhost_waivers; CatalogueError names the invalid entry and key."""
    if isinstance(given, (str, Mapping)):
        raise CatalogueError(_ORIGIN, None, None, "must be a list of {check, subject, host, reason, expires}")
    return [_parse(entry, f"number {number}", known) for number, entry in enumerate(given, 1)]


def expired(waivers: Iterable[Waiver], host: str | None, today: datetime.date) -> list[dict[str, Any]]:
    """The expired waivers of this host, as the report lists them."""
    return [{"check": waiver.check, "subject": waiver.subject, **waiver.as_finding_says()}
            for waiver in waivers if waiver.concerns(host) and waiver.expires < today]


def counting(waivers: Iterable[Waiver], host: str | None, today: datetime.date) -> list[Waiver]:
    return [waiver for waiver in waivers if waiver.concerns(host) and waiver.expires >= today]


def _parse(entry: Any, number: str, known: Collection[str] | None) -> Waiver:
    if not isinstance(entry, Mapping):
        raise CatalogueError(_ORIGIN, None, number, f"{entry!r} is not a mapping of {', '.join(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise CatalogueError(_ORIGIN, None, number, f"unknown key {key!r}{nearest(str(key), _KEYS)}")
    check = entry.get("check")
    if not isinstance(check, str):
        raise CatalogueError(_ORIGIN, None, number, "the key 'check' is missing")
    if known is not None and check not in known:
        raise CatalogueError(_ORIGIN, None, number, f"there is no check {check!r}{nearest(check, known)}")
    for key in ("subject", "host"):
        if not isinstance(entry.get(key), (str, type(None))):
            raise CatalogueError(_ORIGIN, check, key, f"{entry[key]!r} is not text: quote it in YAML")
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise CatalogueError(_ORIGIN, check, "reason", "a waiver needs a reason")
    return Waiver(check, entry.get("subject"), entry.get("host"), reason.strip(), _date(entry.get("expires"), check))


def _date(given: Any, check: str) -> datetime.date:
    """The date, given as text or as a date: YAML parses an unquoted 2026-12-31 as one."""
    if isinstance(given, datetime.datetime):
        return given.date()
    if isinstance(given, datetime.date):
        return given
    try:
        return datetime.date.fromisoformat(given)
    except (TypeError, ValueError):
        raise CatalogueError(_ORIGIN, check, "expires", f"{given!r} is not a date like 2026-12-31") from None
