# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Remove secrets from any text of a host: command lines, unit files, configurations, logs, program output.

A secret is recognised by the words around it (`names.py`) or by its form (`forms.py`), never by the file it is in.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from .forms import HINTS_OF_FORMS, mask_forms
from .names import CERTAIN, secrecy
from .values import MASKED, is_secret

# A text without any of these has nothing to mask, which holds for nearly all texts of a host.
_HINTS = ("pass", "pwd", "pw", "secret", "token", "key", "psk", "cred", "auth", "cookie", "bearer", "sig", "jwt", "sas",
          "community", *HINTS_OF_FORMS)
# A name begins at the beginning of a word, so that each word of a long text is examined once.
_NAME = r"[A-Za-z][A-Za-z0-9]*(?:[._-]+[A-Za-z0-9]+)*"
_GAP = r"[ \t]{0,8}"
# `name=`, `name =`, `"name": `, `name:value`, with the closing quote of a name before the sign.
_ASSIGNED = re.compile(rf"(?<![A-Za-z0-9_.-])[._-]{{0,3}}(?P<name>{_NAME})(?P<close>\\?[\"']?){_GAP}"
                       rf"(?P<sign>[:+?]?=|:){_GAP}")
# `--name value`, also in a list of words and in a command line of /proc.
_OPTION = re.compile(rf"(?:^|(?<=[\s\0\"'\[(=,]))--?(?P<name>{_NAME})"
                     r"(?:(?:\\?[\"'])?[ \t\0]+|\\?[\"'][ \t]*,[ \t\n]*)")
_ELEMENT = re.compile(rf"<(?P<name>{_NAME})(?:\s[^<>]*)?>(?P<value>[^<>]*)</")
_START_OF_LINE = re.compile(r"(?:^|\n)[ \t]*(?:[-+] )?[\"']?(?:export[ \t]+)?$")
_QUOTED = {quote: re.compile(rf"(?:\\.|[^{quote}\\\n\0])*") for quote in ("\"", "'")}
# A bare value extends to the next blank or closing quote, but not across another setting after a comma or the like,
# nor across a mount option.
_BARE = re.compile(r"(?:(?![,;&:][\w.-]+=)"
                   r"(?!,(?:ro|rw|optional|r?bind|nofail|noauto|defaults|nosuid|nodev|noexec)\b)[^\s\0\"']"
                   r"|[\"'](?=[^\s\0\"',;)\]}>]))+")
_NEXT = re.compile(r"\s[\w.-]+=")
_CLOSING = ")]}>,;\\"
_REST_OF_LINE = re.compile(r"[^\n\0]*")
_LIMIT = 1 << 16            # characters of one value


def redact(text: str) -> str:
    """Replace every secret in `text` by MASKED."""
    lower = text.lower()
    for hint in _HINTS:         # not a generator, for speed: nearly all texts of a host end here
        if hint in lower:
            break
    else:
        return text
    text = mask_forms(text)
    spans = sorted({*_assigned(text), *_options(text), *_elements(text)})
    pieces, done = [], 0
    for start, end in spans:
        if start >= done:
            pieces += [text[done:start], MASKED]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def redact_bytes(data: bytes) -> bytes:
    """Like redact(), for file contents in any encoding."""
    return redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    done = 0
    for found in _ASSIGNED.finditer(text):
        level = secrecy(found["name"])
        if not level or found.start() < done:
            continue
        colon = found["sign"] == ":"
        if colon and not _is_setting(text, found, level):
            continue
        before = text[max(0, found.start() - 1):found.start()]
        if before in _QUOTED and not found["close"]:        # the quotes enclose the whole setting, or several
            start, end = found.end(), _QUOTED[before].match(text, found.end(), found.end() + _LIMIT).end()
            further = _NEXT.search(text, start, end)
            end = further.start() if further else end
        else:
            start, end = _value(text, found.end(), colon and not found["close"] and text[found.end() - 1] in " \t")
        if is_secret(text[start:end].strip(), found["name"], level):
            yield start, end
            done = end


def _is_setting(text: str, found: re.Match, level: int) -> bool:
    """Whether `name:` precedes a value, not the rest of a sentence: a quoted name, or the first word of its line."""
    if found["close"] or level == CERTAIN:
        return True
    return _START_OF_LINE.search(text[max(0, found.start() - 80):found.start()]) is not None \
        or found["name"].lower() in ("pass", "authorization")


def _options(text: str) -> Iterator[tuple[int, int]]:
    done = 0
    for found in _OPTION.finditer(text):
        level = secrecy(found["name"])
        if not level or found.start() < done or text[found.end():found.end() + 1] in ("-", "=", ":", ""):
            continue
        start, end = _value(text, found.end(), False)
        if is_secret(text[start:end], found["name"], level):
            yield start, end
            done = end


def _elements(text: str) -> Iterator[tuple[int, int]]:
    for found in _ELEMENT.finditer(text):
        level = secrecy(found["name"])
        if level and is_secret(found["value"].strip(), found["name"], level):
            yield found.span("value")


def _value(text: str, at: int, whole_line: bool) -> tuple[int, int]:
    """Return start and end of the value that begins at `at`, without its quotes."""
    if text[at:at + 1] == "\\" and text[at + 1:at + 2] in _QUOTED:      # nested quotes
        end = text.find("\\" + text[at + 1], at + 2, at + _LIMIT)
        return at + 2, end if end > 0 else len(text)
    if text[at:at + 1] in _QUOTED:
        return at + 1, _QUOTED[text[at]].match(text, at + 1, at + _LIMIT).end()
    if whole_line:
        return at, _REST_OF_LINE.match(text, at, at + _LIMIT).end()
    found = _BARE.match(text, at, at + _LIMIT)
    if found is None:
        return at, at
    value = found[0]
    if "${" not in value and "{{" not in value:
        value = value.rstrip(_CLOSING)
    return at, at + len(value)
