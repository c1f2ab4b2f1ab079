# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Text from hosts made safe for terminals and Markdown; values and numbers made readable."""
from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NOT_SHOWN = re.compile(r"[^ -~\t\n]")      # of these, str.isprintable() decides which are shown
_MARKDOWN = r"\`*_{}[]<>|#~"       # the backslash comes first, as the others get one
_UNDERSCORE_IN_A_WORD = re.compile(r"(?<=[A-Za-z0-9])\\_(?=[A-Za-z0-9])")
_OPERATORS = {
    "at_least": "at least {}", "at_most": "at most {}", "not_equals": "not {}", "one_of": "one of {}",
    "none_of": "none of {}", "matches": "like {}", "subset": "among {}", "superset": "all of {}", "empty": "none",
    "not_empty": "any", "all_equal": "all alike",
}
_BINARY_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def clean(text: object, keep_tabs: bool = False) -> str:
    r"""`text` made safe to print: text from a host must move neither the cursor nor the order of letters.

    Every character that is not printable becomes an escape (`\x1b`, `\u202e`): control characters, marks of direction,
    zero-width spaces, lone surrogates. A tab becomes a space; line ends stay.
    """
    text = str(text)
    # A report has thousands of strings, and hardly one with a character to escape.
    if text.isprintable():
        return text
    shown = _NOT_SHOWN.sub(_escaped, text)
    return shown if keep_tabs else shown.replace("\t", " ")


def _escaped(found: re.Match) -> str:
    character = found[0]
    return character if character.isprintable() else character.encode("ascii", "backslashreplace").decode() \
        if ord(character) > 0x7F else f"\\x{ord(character):02x}"


def clean_all(thing: Any) -> Any:
    """`thing`, of plain JSON types, with every string made safe for terminals and editors; tabs stay."""
    kind = type(thing)
    if kind is str:
        return thing if thing.isprintable() else clean(thing, keep_tabs=True)
    if kind is dict:
        return {clean_all(key): clean_all(value) for key, value in thing.items()}
    return [clean_all(value) for value in thing] if kind is list else thing


def one_line(text: object) -> str:
    return _one_line(text if isinstance(text, str) else str(text))


# The same few strings occur hundreds of times in the files of one audit.
@functools.lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    text = clean(text)
    # The only printable white space is the space.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())


def escape(text: object) -> str:
    """`text` on one line, with everything that is special in Markdown or HTML escaped."""
    line = one_line(text)
    # A fourth of the time of re.sub(), and a sixth of that of str.translate(): most lines have one or none of them.
    for character in _MARKDOWN:
        if character in line:
            line = line.replace(character, f"\\{character}")
    return line.replace("&", "&amp;")


def prose(text: object) -> str:
    """Like escape(), but an underscore within a word stays: Markdown ignores it there, and a search for a setting's
    name finds it."""
    return _UNDERSCORE_IN_A_WORD.sub("_", escape(text))


def code(text: object) -> str:
    """`text` as inline code; backticks in it get a longer fence, a pipe is escaped for tables."""
    line = one_line(text)
    if "`" not in line:
        return f"`{line}`".replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def fenced(lines: Iterable[str], language: str) -> list[str]:
    """A code block of these lines."""
    shown = [clean(line) for line in lines]
    fence = "```" if not any("```" in line for line in shown) else "~~~~"
    return [f"{fence}{language}", *shown, fence]


def show(value: Any) -> str:
    """A finding's value for people: `performance`, `10 32`, `at least 16777216`, `-` for nothing."""
    # Most are plain strings, and the files of an audit show each several times.
    if isinstance(value, str):
        return _one_line(value) if value else "-"
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, Mapping):
        return _show_wanted(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(show(item) for item in value) or "none"
    return one_line(value)


def _show_wanted(value: Mapping) -> str:
    """A wanted value that is a mapping: `{at_least: 60}`, `{one_of: [a, b]}`, a guarded value."""
    if "set" in value:
        return show(value["set"])
    if len(value) == 1:
        (operator, operand), = value.items()
        if operator in _OPERATORS:
            return _OPERATORS[operator].format(show(operand))
    return one_line(json.dumps(value, sort_keys=True))


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def binary_size(size: int) -> str:
    """Bytes in the largest binary unit that gives at least 1: `503 GiB`."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_BINARY_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} {_BINARY_UNITS[unit]}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a Markdown table; cells must be Markdown already."""
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
