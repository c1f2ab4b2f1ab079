# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make check-checks FILES='my-checks.yml ...'`: load files with checks and run the examples of each check.

An example is a fragment of facts that is merged into those of a tuned host with two EPYC processors, eight GPUs and no
findings. The check must give the verdict that the example is named after.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile, load
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import Check
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError, MissingPackage

from neutral_facts import epyc, merge


def main(paths: Sequence[str]) -> str | None:
    """Check the files; returns an error message, or None if all examples are correct."""
    if not paths:
        return "wanted: FILES='my-checks.yml ...', files or folders with checks of your own"
    try:
        shipped = {check.id for check in load()}
        own = [check for check in load(paths) if check.id not in shipped]
    except (CatalogueError, MissingPackage) as problem:
        return str(problem)
    wrong = [line for check in own for line in results(check)]
    return f"{len(wrong)} wrong" if wrong else None


def results(check: Check) -> list[str]:
    """Print a line for each example, and return the lines of the wrong ones."""
    wrong = []
    if not check.examples:
        print(f"{check.id}: no examples: nothing but its names and types was checked")
    for wanted, fragment in check.examples.items():
        line = f"{check.id}: example {wanted}: {_verdict(check, wanted, fragment)}"
        print(line)
        if not line.endswith(": as it should be"):
            wrong.append(line)
    return wrong


def _verdict(check: Check, wanted: str, fragment: dict) -> str:
    try:
        findings = judge(merge(epyc(), fragment), [check], Profile("examples"))
    except (CatalogueError, ValueError) as problem:
        return f"wrong: {problem}"
    found = {finding["verdict"] for finding in findings}
    # An example of `fail` may have one bad GPU among good ones; other verdicts must hold for every subject.
    if found == {wanted} or (wanted == "fail" and found == {"fail", "pass"}):
        return "as it should be"
    reasons = "; ".join(sorted({str(finding["reason"]) for finding in findings if finding["verdict"] != wanted}))
    return f"wrong: found {', '.join(sorted(found))} ({reasons})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
