# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""junit.xml: the findings of one host as a CI server shows test results."""
from __future__ import annotations

import functools
import re
from typing import Any
from xml.etree import ElementTree

from .._render.text import one_line, show

# What XML 1.0 has no place for, escaped or not; control characters are gone before (one_line).
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def junit(document: dict[str, Any], run_id: str) -> str:
    """One test suite, one test case a finding. A finding to improve is a failure; what is waived, does not apply or
    could not be judged is skipped, with its reason."""
    findings = document["findings"]
    suite = ElementTree.Element("testsuite", {
        "name": _text(f"gpuhost {document['host']}"), "hostname": _text(document["host"]),
        "timestamp": _text(document["collected_at"].removesuffix("Z")), "id": "0", "package": "gpuhost", "time": "0",
        "tests": str(len(findings)), "errors": "0"})
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in (("profile", document["profile"]), ("run_id", run_id)):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(text)})
    cases = [_case(suite, finding) for finding in findings]
    for counted, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(counted, str(sum(case.find(tag) is not None for case in cases)))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, finding: dict[str, Any]) -> ElementTree.Element:
    subject = finding["subject"]
    case = ElementTree.SubElement(suite, "testcase", {
        "classname": _text(f"gpuhost.{finding['topic']}"), "time": "0",
        "name": _text(finding["check"] + (f" {subject}" if subject is not None else ""))})
    reason = finding["reason"] or finding["title"]
    if finding["verdict"] == "fail" and not finding["waived"]:
        failure = ElementTree.SubElement(case, "failure", {"type": finding["priority"], "message": _text(
            f"{finding['title']}: is {show(finding['actual'])}, wanted {show(finding['recommended'])}")})
        failure.text = _text(f"{reason}. {finding['why']}")
    elif finding["verdict"] != "pass":
        what = f"waived: {finding['waived']['reason']}" if finding["waived"] else (
            f"{finding['verdict'].replace('_', ' ')}: {reason}")
        ElementTree.SubElement(case, "skipped", {"message": _text(what)})
    return case


@functools.lru_cache(maxsize=1024)
def _text(text: str) -> str:
    return _NOT_XML.sub("?", one_line(text))
