# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts for users keep to standard terms: phrases that have to be decoded do not come back."""
from __future__ import annotations

import ast
import re

import pytest

from checkout import REPOSITORY

# {phrase, a regular expression: what the field says}
PHRASES = {
    r"the way back\b": "restore, undo, roll back",
    r"br(?:ing|ings|ought) back\b": "restore",
    r"what became of\b": "outcome",
    r"h(?:eld|old|olds) against\b": "compare with, validate",
    r"takes? [\w ]{1,30} for hostile": "treats as untrusted input",
    r"a hand(?: change)?\b(?! in)": "a manual change",
    r"without a word\b": "silently",
    r"put(?:s)? down that": "record that",
    r"looked at again\b": "rechecked",
    r"is to become of\b": "predicted outcome",
    r"two faces\b": "an alias pair",
    r"take(?:s|n)? anew\b|mad(?:e|es) anew\b": "again",
    r"goes in a circle\b": "is circular",
    r"carries no data worth\b": "is not used for data",
    r"as it should be\b": "passed",
}
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(PHRASES)})", re.IGNORECASE)
# Written for a reader of texts that were there before.
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *(
    f"docs/{name}.md" for name in ("README", "add-a-check", "add-a-tunable", "changing-a-host", "coverage", "evidence",
                                   "fleet", "fleet-report", "performance", "security", "testing"))]
ROLES = ["audit", "bandwidth", "benchmark", "experiment", "record", "restore", "tune_runtime", "verify"]


def texts(name: str) -> list[str]:
    """Paragraphs of a page, lines of YAML, or the strings of a Python file, each on one line."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    if name.endswith(".py"):
        found = [node.value for node in ast.walk(ast.parse(text))
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    else:
        found = re.split(r"\n\s*\n", text)
    return [" ".join(one.split()) for one in found]


def names() -> list[str]:
    catalogue = [str(path.relative_to(REPOSITORY))
                 for path in REPOSITORY.glob("plugins/plugin_utils/catalogue/checks/*.yml")]
    roles = [str(path.relative_to(REPOSITORY)) for role in ROLES for path in (REPOSITORY / "roles" / role).rglob("*")
             if path.suffix in (".yml", ".md")]
    plugins = [str(path.relative_to(REPOSITORY)) for folder in ("modules", "action")
               for path in (REPOSITORY / "plugins" / folder).glob("*.py")]
    return sorted(PAGES + catalogue + roles + plugins)


@pytest.mark.parametrize("name", names())
def test_texts_use_standard_terms(name):
    found = [(match[0], better_than(match[0])) for text in texts(name) for match in FORBIDDEN.finditer(text)]
    assert found == []


def better_than(words: str) -> str:
    return next(better for phrase, better in PHRASES.items() if re.match(phrase, words, re.IGNORECASE))


@pytest.mark.parametrize("text, found", [
    ("The way back is the role restore", "The way back"), ("values that were brought back", "brought back"),
    ("what became of every host", "what became of"), ("restores the values", None), ("a handful of hosts", None),
])
def test_phrases_are_found(text, found):
    match = FORBIDDEN.search(text)
    assert (match[0] if match else None) == found
