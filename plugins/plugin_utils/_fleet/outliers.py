# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Find hosts that differ from others of the same model: the majority is the reference, no golden file is needed."""
from __future__ import annotations

from collections import Counter
from typing import Any

# If only two hosts differ from each other, there is no majority.
FEWEST = 3
FACT = "fact"
_WITHOUT_VALUE = {"unknown": "unknown", "not_applicable": "does not apply"}


def outliers(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """`rows` by host name. Each result is `{model, hosts, what, kind, majority, having, odd: {host: value}}`, single
    outliers first, facts before checks. Without a value shared by more than half of the hosts there are no outliers.
    """
    models: dict[str, list[str]] = {}
    for host, row in rows.items():
        models.setdefault(row["model"], []).append(host)
    found = []
    for model, hosts in models.items():
        if len(hosts) >= FEWEST:
            found += _of_model(model, {host: rows[host] for host in hosts})
    return sorted(found, key=lambda one: (len(one["odd"]), one["kind"] != FACT, one["model"], one["what"]))


def _of_model(model: str, rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    values: dict[tuple[str, str], dict[str, str]] = {}
    for host, row in rows.items():
        for name, text in row["traits"].items():
            values.setdefault((FACT, name), {})[host] = text
        for check, text in check_values(row["findings"]).items():
            values.setdefault(("check", check), {})[host] = text
    found = []
    for (kind, what), by_host in values.items():
        majority, having = Counter(by_host.values()).most_common(1)[0]
        odd = {host: text for host, text in by_host.items() if text != majority}
        if odd and len(by_host) >= FEWEST and having * 2 > len(by_host):
            found.append({"model": model, "hosts": len(by_host), "what": what, "kind": kind, "majority": majority,
                          "having": having, "odd": odd})
    return found


def check_values(findings: list[list]) -> dict[str, str]:
    """The values of one host for each check, as one text: `4096`, or `4096 (7), 512 (1)` if its devices differ."""
    counts: dict[str, dict[str, int]] = {}
    for check, verdict, _priority, actual, *_texts, subjects in findings:
        text = _WITHOUT_VALUE.get(verdict, actual)
        tally = counts.setdefault(check, {})
        tally[text] = tally.get(text, 0) + max(len(subjects), 1)
    return {check: next(iter(tally)) if len(tally) == 1 else
            ", ".join(f"{text} ({number})" for text, number in sorted(tally.items(), key=lambda one: (-one[1], one[0])))
            for check, tally in counts.items()}
