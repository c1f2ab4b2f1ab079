# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Compare two audits: the differences that matter, each once, with the facts behind it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._checks.check import Check
from .._checks.findings import value
from .._checks.things import likeness
from .._render.shell_loops import fold
from .._render.text import show
from .._report.sentences import name_of, sentence
from . import facts as compared_facts
from . import findings as compared_findings
from .findings import Pair
from .leaves import Leaf
from .pairs import pairs
from .reads import facts_of_checks
from .rules import below_any, rules

SCHEMA = "gpuhost.compare/1"
_SAID_BOTH = 4      # shown values of each kind


def compare(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str],
            checks: Iterable[Check]) -> dict[str, Any]:
    """The document of a comparison, plain JSON: see docs/compare.md. `names` are the names of the two audits."""
    same_host = first["host"] == second["host"]
    ruled = rules(same_host)
    paired = pairs(first["facts"], second["facts"], names[1], same_host)
    seen = compared_facts.differences(first["facts"], paired.translate(second["facts"]), ruled)
    reads = facts_of_checks(checks, ruled.judged_by)
    judged = compared_findings.differences(first["findings"], paired.translate(second["findings"]))
    differences, covered = _of_findings(judged.differing, seen.differing, reads)
    rest = _grouped({leaf: pair for leaf, pair in seen.differing.items() if leaf not in covered})
    differences += [{"kind": "fact", **one} for one in rest]
    return {
        "schema": SCHEMA, "hosts": [_about(first, names[0]), _about(second, names[1])], "same_host": same_host,
        "counterparts": paired.moved, "differences": differences,
        "could_not_be_compared": _unread(seen.unread, judged.unknown), "judged_by_one": judged.not_judged,
        "varies_by_itself": dict(sorted(seen.varying.items(), key=lambda pair: (-pair[1], pair[0]))),
    }


def _about(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    facts = document["facts"]
    return {"name": name, "host": document["host"], "collected_at": document["collected_at"],
            "profile": document["profile"], "privileged": facts["privileged"],
            "boot_id": value(facts["identity"]["boot_id"])}


def _of_findings(pairs_: Iterable[Pair], differing: Mapping[Leaf, tuple[Any, Any]],
                 reads: Mapping[str, tuple[str, ...]]) -> tuple[list[dict[str, Any]], set[Leaf]]:
    """The differences found by checks, and the facts that belong to them. A finding based on facts that another one has
    listed already is not a separate difference."""
    found: list[dict[str, Any]] = []
    by_leaf: dict[Leaf, dict[str, Any]] = {}
    # For a card that only one of them has, this is the only difference to report.
    alone = {leaf.entity[-1] for leaf in differing if leaf.fact.endswith("[]")}
    for members in _alike(pair for pair in pairs_ if None not in (pair.here, pair.there) or pair.subject not in alone):
        behind = [leaf for member in members for leaf in _behind(member, differing, reads.get(member.check, ()))]
        behind = list(dict.fromkeys(behind))
        if not behind and members[0].both_fail:
            continue
        if behind and all(leaf in by_leaf for leaf in behind):
            told = by_leaf[behind[0]]["also"]
            if members[0].check not in told and members[0].check != by_leaf[behind[0]]["check"]:
                told.append(members[0].check)
            continue
        found.append(_finding(members, behind, differing))
        for leaf in behind:
            by_leaf.setdefault(leaf, found[-1])
    return found, set(by_leaf)


def _alike(pairs_: Iterable[Pair]) -> list[list[Pair]]:
    """Pairs that need the same action, as in other reports, and have the same two verdicts."""
    groups: dict[Any, list[Pair]] = {}
    for pair in pairs_:
        verdicts = tuple(side and side["verdict"] for side in (pair.here, pair.there))
        groups.setdefault((likeness(pair.worst), verdicts), []).append(pair)
    return list(groups.values())


def _behind(pair: Pair, differing: Mapping[Leaf, tuple[Any, Any]], facts: tuple[str, ...]) -> list[Leaf]:
    """The differing facts that the check evaluates; facts of list items only for its subject and for items that are not
    subjects, such as the port above a GPU."""
    found = [leaf for leaf in differing if below_any(leaf.fact, facts)]
    of_subject = [leaf for leaf in found if leaf.entity[:1] == (pair.subject,)]
    others = [leaf for leaf in found if not leaf.entity or not leaf.fact.startswith(_lists_of(of_subject))]
    return of_subject + others if of_subject else found


def _lists_of(leaves: list[Leaf]) -> tuple[str, ...]:
    return tuple({leaf.fact.partition("[]")[0] + "[]" for leaf in leaves})


def _finding(members: list[Pair], behind: list[Leaf], differing: Mapping[Leaf, tuple[Any, Any]]) -> dict[str, Any]:
    worst = members[0].worst
    return {
        "kind": "finding", "check": worst["check"], "name": name_of(worst), "priority": worst["priority"],
        "subjects": [member.subject for member in members if member.subject is not None],
        "sides": [_side([member.here for member in members]), _side([member.there for member in members])],
        "said": sentence(worst), "also": [],
        "commands": fold([line for member in members for line in member.worst["fix"].get("commands") or []]),
        "facts": _grouped({leaf: differing[leaf] for leaf in behind}),
    }


def _side(findings: list[dict[str, Any] | None]) -> dict[str, Any]:
    there = [finding for finding in findings if finding is not None]
    if not there:
        return {"verdict": None, "actual": None}
    values = Counter(show(finding["actual"]) for finding in there)
    shown = [text if len(values) == 1 else f"{text} ({number})" for text, number in values.most_common(_SAID_BOTH)]
    return {"verdict": there[0]["verdict"], "actual": ", ".join(shown)}


def _grouped(differing: Mapping[Leaf, tuple[Any, Any]]) -> list[dict[str, Any]]:
    """`{fact, of, values}`: list items with the same two values are grouped."""
    groups: dict[tuple[str, str, str], list[Leaf]] = {}
    for leaf, (ours, theirs) in differing.items():
        groups.setdefault((leaf.fact, repr(ours), repr(theirs)), []).append(leaf)
    return [{"fact": members[0].fact, "of": [list(leaf.entity) for leaf in members if leaf.entity],
             "values": list(differing[members[0]])} for members in groups.values()]


def _unread(facts: Mapping[Leaf, str], unknown: Iterable[Pair]) -> list[dict[str, Any]]:
    """What could not be compared, as `{what, of, why}`: facts by path and checks by ID."""
    groups: dict[tuple[str, str], list[str]] = {}
    for leaf, why in facts.items():
        groups.setdefault((leaf.fact, why), []).append(" ".join(leaf.entity))
    for pair in unknown:
        why = next(side["reason"] for side in (pair.here, pair.there) if side and side["verdict"] == "unknown")
        groups.setdefault((pair.check, why or "unknown"), []).append(pair.subject or "")
    return [{"what": what, "of": [name for name in of if name], "why": why} for (what, why), of in groups.items()]
