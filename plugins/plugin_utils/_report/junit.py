# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""junit.xml: the checks of one host as test results for a CI server."""
from __future__ import annotations

import functools
import re
from typing import Any
from xml.etree import ElementTree

from .._render.text import count, one_line, show
from .first_three import by_priority
from .groups import Group, Groups
from .sentences import name_of, sentences

# Characters that XML 1.0 does not allow, even escaped; one_line() has already removed control characters.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def junit(document: dict[str, Any], run_id: str, groups: Groups | None = None) -> str:
    """One test suite with one test case per check. A test fails if there is something to do; it is skipped, with the
    reasons, if a finding could not be judged or is waived, or the check does not apply."""
    checks: dict[str, list[dict[str, Any]]] = {}
    for finding in document["findings"]:
        checks.setdefault(finding["check"], []).append(finding)
    failed: dict[str, list[Group]] = {}
    for one in by_priority((groups or Groups(document["findings"])).failed):
        failed.setdefault(one.first["check"], []).append(one)
    suite = ElementTree.Element("testsuite", {
        "name": _text(f"gpuhost {document['host']}"), "hostname": _text(document["host"]),
        "timestamp": _text(document["collected_at"].removesuffix("Z")), "id": "0", "package": "gpuhost", "time": "0",
        "tests": str(len(checks)), "errors": "0"})
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in (("profile", document["profile"]), ("run_id", run_id)):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(text)})
    cases = [_case(suite, found, failed.get(check)) for check, found in checks.items()]
    for counted, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(counted, str(sum(case.find(tag) is not None for case in cases)))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, findings: list[dict[str, Any]], failed: list[Group] | None
          ) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", {
        "classname": _text(f"gpuhost.{findings[0]['topic']}"), "time": "0", "name": _text(findings[0]["check"])})
    if failed:
        _add_failure(case, failed)
        return case
    reasons = (_skipped([one for one in findings if one["verdict"] == "unknown"], "unknown")
               or _skipped([one for one in findings if one["waived"]], "waived"))
    if not reasons and all(one["verdict"] == "not_applicable" for one in findings):
        reasons = _skipped(findings, "not applicable")
    if reasons:
        ElementTree.SubElement(case, "skipped", {"message": _text(reasons)})
    return case


def _add_failure(case: ElementTree.Element, groups: list[Group]) -> None:
    """`groups` are in the order of their priorities."""
    worst = groups[0].first
    many = f"{count(len(groups), 'thing')} in {count(sum(len(one.findings) for one in groups), 'place')}"
    said = "; ".join(f"{f'{one.names()}: ' if one.subjects else ''}is {one.actual}, "
                     f"wanted {show(one.first['recommended'])}" for one in groups)
    failure = ElementTree.SubElement(case, "failure", {
        "type": worst["priority"], "message": _text(f"{name_of(worst)} ({many}): {said}")})
    problems = dict.fromkeys(text.rstrip(".") for one in groups for text in sentences(one.findings))
    failure.text = _text(". ".join([*problems, worst["why"]]))


def _skipped(findings: list[dict[str, Any]], verdict: str) -> str:
    """`unknown: it needs root`; each reason once, with its subjects."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        reason = finding["waived"]["reason"] if verdict == "waived" else (
            finding.get("not_recorded") or finding["reason"] or finding["title"])
        reasons.setdefault(reason, []).extend([finding["subject"]] if finding["subject"] is not None else [])
    said = "; ".join(f"{reason} ({', '.join(where)})" if where and len(reasons) > 1 else reason
                     for reason, where in reasons.items())
    return f"{verdict}: {said}" if said else ""


@functools.lru_cache(maxsize=1024)
def _text(text: str) -> str:
    return _NOT_XML.sub("?", one_line(text))
