# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which hosts differ from the others of their model: the majority is the measure, no golden file is needed."""
from __future__ import annotations

from collections import Counter
from typing import Any

# With two hosts that differ it is not known which is the odd one.
FEWEST = 3
FACT = "fact"


def outliers(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """`rows` by host name. Each answer is `{model, hosts, what, kind, majority, having, odd: {host: value}}`, those
    that stand alone first, facts before checks. Where no value is shared by more than half of the hosts nobody is odd.
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
    """What one host has of each check, in one text: `4096`, or `4096 (7), 512 (1)` where its devices differ."""
    counts: dict[str, Counter] = {}
    for check, verdict, _priority, actual, *_texts, subjects in findings:
        text = {"unknown": "unknown", "not_applicable": "does not apply"}.get(verdict, actual)
        counts.setdefault(check, Counter())[text] += max(len(subjects), 1)
    return {check: next(iter(tally)) if len(tally) == 1 else
            ", ".join(f"{text} ({number})" for text, number in sorted(tally.items(), key=lambda one: (-one[1], one[0])))
            for check, tally in counts.items()}
