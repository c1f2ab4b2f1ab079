# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The report on findings: a name and a sentence, the same words in every output."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._render.text import count, one_line

SHOWN_SENTENCES = 3


def name_of(finding: dict[str, Any]) -> str:
    """What the check is called. Records of before 0.2.0 have no name, and checks of users may have none."""
    return finding.get("name") or finding["title"]


def sentence(finding: dict[str, Any]) -> str:
    """What is wrong and what it costs, where the finding fails; what is in order, where it passes; else the reason.

    Empty where nothing is to be said beyond the name and the values.
    """
    reason = finding["reason"] or ""
    if finding["verdict"] == "fail":
        return one_line(finding.get("problem") or reason)
    if finding["verdict"] != "pass" or name_of(finding) == finding["title"]:
        return one_line(reason)
    return one_line(f"{finding['title']}: {reason}" if reason else finding["title"])


def sentences(findings: Iterable[dict[str, Any]]) -> list[str]:
    """The different sentences of findings that are shown together, each with the number of places it is said of.

    Places that differ in their values have sentences of their own; past a few only the number of the others is said.
    """
    tally = Counter(filter(None, map(sentence, findings)))
    if len(tally) < 2:
        return list(tally)
    shown = [f"{text} ({count(number, 'place')})" for text, number in tally.most_common(SHOWN_SENTENCES)]
    more = sum(number for _text, number in tally.most_common()[SHOWN_SENTENCES:])
    return [*shown, f"Similar in {count(more, 'place')} more."] if more else shown


def effect_of(finding: dict[str, Any]) -> str:
    """`some (follows from the mechanism: ...)`; empty for a record that does not say."""
    effect = finding.get("effect")
    if not effect:
        return ""
    return f"{effect['size']} ({one_line(effect['source'])})" if effect["source"] else effect["size"]
