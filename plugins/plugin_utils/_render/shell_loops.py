# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Folding of shell commands that differ only in the place they act on into POSIX sh loops."""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# What may differ between two commands of one loop: it needs no quoting and can be listed after `in` unchanged.
_TOKEN = re.compile(r"[A-Za-z0-9_.:-]+")
_NUMBERED = re.compile(r"([A-Za-z0-9_.:-]*?)(0|[1-9][0-9]*)([^0-9]*)")
_DEVICE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# A part of a shell word that means the same inside double quotes; private-use characters stand for variables.
_FIRST = 0xE000
_PLAIN = re.compile("[A-Za-z0-9_./:=,+@%^\ue000-\ue0ff-]+")
_VARIABLE = re.compile("([\ue000-\ue0ff])(?=([A-Za-z0-9_]?))")
_SHORTEST_RANGE = 3
_MOST_LOOPS = 4
_SEVERAL = ("first", "second", "third", "fourth")


def fold(lines: Sequence[str]) -> list[str]:
    """`lines`, those that differ in one place folded into `for n in $(seq 0 255); do ...; done`.

    If two things differ, say a place and a value, there is one loop per value, or `while read` over a list if there are
    many values. The result does what the lines do; lines that are not alike, and those that differ within single
    quotes, are left unchanged.
    """
    alike: dict[tuple, list[str]] = {}
    for line in dict.fromkeys(lines):
        first = _TOKEN.match(line)
        alike.setdefault((first and first.group(), tuple(_TOKEN.split(line))), []).append(line)
    return [folded for (_first, between), members in alike.items() for folded in _fold_alike(between, members)]


def _fold_alike(between: tuple[str, ...], lines: list[str]) -> list[str]:
    if len(lines) == 1:
        return lines
    columns = list(zip(*(_TOKEN.findall(line) for line in lines)))
    variables, template = _variables(between, columns)
    if _quoted_in_vain(template):
        return lines
    if len(variables) == 1:
        (words, name), = variables
        return [f"for {name} in {' '.join(_ranges(words))}; do {_with_names(template, [name])}; done"]
    fewest = min((words for words, _name in variables), key=lambda words: len(set(words)))
    if len(set(fewest)) <= _MOST_LOOPS:
        return [folded for word in dict.fromkeys(fewest) for folded in
                _fold_alike(between, [line for line, own in zip(lines, fewest) if own == word])]
    names = [name for _words, name in variables]
    rows = [" ".join(row) for row in zip(*(words for words, _name in variables))]
    return [f"while read -r {' '.join(names)}; do {_with_names(template, names)}; done <<'END'", *rows, "END"]


def _variables(between: tuple[str, ...], columns: list[tuple[str, ...]]) -> tuple[list[tuple[tuple, str]], str]:
    """The differing words, each set once with its variable's name, and the line with a private character for each."""
    known: dict[tuple[str, ...], int] = {}
    names: list[str] = []
    template = between[0]
    for column, behind in zip(columns, between[1:]):
        if len(set(column)) == 1:
            template += column[0] + behind
            continue
        front, words, back = _numbers(column)
        if words not in known:
            known[words] = len(names)
            names.append(_name(words))
        template += front + chr(_FIRST + known[words]) + back + behind
    if len(names) > 1:
        names = [*_SEVERAL[:len(names)], *(f"value{place}" for place in range(len(_SEVERAL), len(names)))]
    return list(zip(known, names)), template


def _numbers(column: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """`policy`, the numbers and what follows them, if the tokens differ only in a number; else the tokens unchanged."""
    found = [_NUMBERED.fullmatch(token) for token in column]
    around = {(one.group(1), one.group(3)) if one else None for one in found}
    if len(around) == 1 and None not in around:
        return found[0].group(1), tuple(one.group(2) for one in found), found[0].group(3)
    return "", column, ""


def _name(words: tuple[str, ...]) -> str:
    if all(map(_DEVICE.fullmatch, words)):
        return "device"
    return "n" if all(map(str.isdigit, words)) else "name"


def _ranges(words: Sequence[str]) -> Iterator[str]:
    """The words, consecutive numbers as a range of seq."""
    run: list[str] = []
    for word in [*words, ""]:
        if run and word.isdigit() and run[-1].isdigit() and int(word) == int(run[-1]) + 1:
            run.append(word)
            continue
        yield from [f"$(seq {run[0]} {run[-1]})"] if len(run) >= _SHORTEST_RANGE else run
        run = [word] if word else []


def _pieces(template: str) -> Iterator[tuple[str, str]]:
    """The parts of the line, each with the quote that encloses it: none, `"` or `'`."""
    quote, text, escaped = "", "", False
    for sign in template:
        if escaped or (sign == "\\" and quote != "'"):
            escaped = not escaped
        elif sign == quote or (not quote and sign in "'\""):
            yield quote, text
            quote, text = ("" if quote else sign), ""
            continue
        text += sign
    yield quote, text


def _quoted_in_vain(template: str) -> bool:
    return any(quote == "'" and _VARIABLE.search(text) for quote, text in _pieces(template))


def _with_names(template: str, names: list[str]) -> str:
    """The line with `$name` for each private character, in double quotes unless it is quoted already."""
    def named(text: str) -> str:
        return _VARIABLE.sub(lambda found: ("${%s}" if found.group(2) else "$%s")
                             % names[ord(found.group(1)) - _FIRST], text)

    def quoted(found: re.Match) -> str:
        return f'"{named(found.group())}"' if _VARIABLE.search(found.group()) else found.group()

    return "".join(f"{quote}{named(text)}{quote}" if quote else _PLAIN.sub(quoted, text)
                   for quote, text in _pieces(template))
