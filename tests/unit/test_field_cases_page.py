# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/field-cases.md names every public case about sysctls, modules and PCI, and tests that are there."""
from __future__ import annotations

import ast
import re

from checkout import REPOSITORY

NUMBERS = (1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 14, 16, 17, 18, 20, 22, 23, 25, 27, 28, 29, 30, 31, 32, 34, 36, 38,
           39, 40, 42, 44, 46, 47, 48, 49, 50, 52, 54, 55, 58)
STATES = ("met", "reading side met", "refused: ", "coming catalogue: ")
PAGE = REPOSITORY / "docs" / "field-cases.md"


def rows() -> dict[str, tuple[str, list[str]]]:
    """State and tests by case, from the tables of the page."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(("| A-", "| B-")):
            case, _story, state, tests = (cell.strip() for cell in line.strip("|").split("|"))
            assert case not in found, f"{case} has two rows"
            found[case] = (state, re.findall(r"`([^`]+\.py::\w+)`", tests))
    return found


def names_case(test: str, case: str) -> bool:
    """Whether the test is there and says the case in its name or its docstring."""
    path, name = test.split("::")
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name), None)
    short = case.replace("-", "").lower()
    return function is not None and (short in name.lower().split("_") or case in (ast.get_docstring(function) or ""))


def test_every_case_about_sysctls_modules_and_pci_has_a_row_and_a_test():
    cases = {f"A-{number:02}" for number in NUMBERS}
    assert cases - set(rows()) == set()
    assert {case for case in cases if not rows()[case][1]} == set()


def test_every_test_that_the_page_names_is_there_and_names_the_case():
    assert [(case, test) for case, (_state, tests) in rows().items() for test in tests
            if not names_case(test, case)] == []


def test_every_state_of_the_page_is_one_of_four():
    odd = {case: state for case, (state, _tests) in rows().items() if not state.startswith(STATES)}
    assert odd == {}


def test_the_page_lists_every_public_case_of_those_subjects(field_files):
    text = (field_files.parent / "cases.md").read_text(encoding="utf-8")
    public = re.findall(r"^### (A-\d\d) \[(?:SYSCTL|MODULE|PCI)\]", text, re.MULTILINE)
    assert sorted(public) == [f"A-{number:02}" for number in NUMBERS]
