# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The changes of a fleet as lines of text."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._render.text import clean, count
from .counters import WORDS

_SHOWN = 6
_SHORTEST_HOURS = 1 / 12
_KINDS = {"new": "new", "mended": "mended", "changed": "changed"}


def lines(hosts: Mapping[str, Mapping[str, Any]], missing: Mapping[str, str]) -> list[str]:
    """The changes of each host, and the hosts that did not respond; one line if there are none."""
    found: list[str] = []
    for host, seen in hosts.items():
        found += _host(host, seen)
    found += [f"{host}: not audited now ({why})" for host, why in missing.items()]
    quiet = sum(not (seen["changes"] or seen["rates"] or seen["rebooted"]) for seen in hosts.values())
    if quiet:
        found.append(f"nothing changed on {count(quiet, 'host')}")
    return [clean(line) for line in found]


def _host(host: str, seen: Mapping[str, Any]) -> list[str]:
    since = f" since {seen['since']}" if seen["since"] else ", watched for the first time"
    body = [f"  rebooted{since}"] if seen["rebooted"] else []
    body += [line for one in seen["changes"] for line in _change(one)]
    body += [f"  {rate_text(one)}" for one in seen["rates"]]
    return [f"{host}{since}:", *body] if body else []


def _change(one: Mapping[str, Any]) -> list[str]:
    more = len(one["subjects"]) - _SHOWN
    where = ", ".join(one["subjects"][:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    line = f"  {_KINDS[one['kind']]}: {one['priority']} {one['name']} ({one['check']})"
    line += (f" of {where}" if where else "") + f": {_end(one['was'])} -> {_end(one['now'])}"
    return [line, *([f"    {one['said']}"] if one["said"] else [])]


def _end(end: list | None) -> str:
    return "not there" if end is None else f"{end[1]} ({end[0].replace('_', ' ')})"


def rate_text(one: Mapping[str, Any]) -> str:
    """`7 corrected PCIe errors (AER) on 0000:41:00.0 in 2 h, 3.5 an hour`; without a rate for less than an hour."""
    if one["what"] == "slowed":
        return f"{one['place']} is slowed down now: {', '.join(one['reasons'])}"
    if one["what"] == "link_changes":
        return f"the link of {one['place']} changed {count(one['number'], 'time')} in {count(one['looks'], 'look')}"
    text = f"{one['number']} {WORDS[one['what']]} on {one['place']} in "
    if one["hours"] < 1:
        return f"{text}{one['hours'] * 60:.0f} min"
    return f"{text}{one['hours']:.3g} h, {per_hour(one):.3g} an hour"


def per_hour(one: Mapping[str, Any]) -> float:
    """The rate; counts from less than five minutes are not extrapolated further."""
    return one["number"] / max(one["hours"], _SHORTEST_HOURS)
