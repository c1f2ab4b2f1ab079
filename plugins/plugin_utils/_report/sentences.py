# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The name and the message of findings, worded the same in every output."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._render.text import count, one_line

SHOWN_SENTENCES = 3


def name_of(finding: dict[str, Any]) -> str:
    """The name of the check. Records from before 0.2.0 have no name, and user-defined checks may have none."""
    return finding.get("name") or finding["title"]


def sentence(finding: dict[str, Any]) -> str:
    """The message of a finding: if failed, the problem and its cost; if passed, what is in order; otherwise the reason.

    Empty if there is nothing to add to the name and the values.
    """
    reason = finding["reason"] or ""
    if finding["verdict"] == "fail":
        return one_line(finding.get("problem") or reason)
    if finding["verdict"] != "pass" or name_of(finding) == finding["title"]:
        return one_line(reason)
    return one_line(f"{finding['title']}: {reason}" if reason else finding["title"])


def sentences(findings: Iterable[dict[str, Any]]) -> list[str]:
    """The distinct messages of findings that are shown together, each with the number of its subjects.

    Subjects with different values have separate messages; beyond a few, only the number of the others is given.
    """
    tally = Counter(filter(None, map(sentence, findings)))
    if len(tally) < 2:
        return list(tally)
    shown = [f"{text} ({count(number, 'place')})" for text, number in tally.most_common(SHOWN_SENTENCES)]
    more = sum(number for _text, number in tally.most_common()[SHOWN_SENTENCES:])
    return [*shown, f"Similar in {count(more, 'place')} more."] if more else shown


def effect_of(finding: dict[str, Any]) -> str:
    """`some (follows from the mechanism: ...)`; empty for a record without an effect."""
    effect = finding.get("effect")
    if not effect:
        return ""
    return f"{effect['size']} ({one_line(effect['source'])})" if effect["source"] else effect["size"]
