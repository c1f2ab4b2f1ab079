# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Commands as lists of words, in which an option and its secret may be two words."""
from __future__ import annotations

from collections.abc import Iterable

from .names import secrecy
from .text import redact
from .values import MASKED, is_secret

_SHORTEST = 6       # length from which a secret in a command is also searched for in its output


def redact_words(words: list[str]) -> list[str]:
    """Replace secrets in the words by MASKED."""
    shown = [redact(word) for word in words]
    for position in range(1, len(words)):
        if is_secret_of(words[position - 1], words[position]):
            shown[position] = MASKED
    return shown


def find_secrets(words: list[str]) -> list[str]:
    """Return the values in a command's words that are masked, the longest first."""
    found = set()
    for word, shown in zip(words, redact_words(words)):
        start = shown.find(MASKED)
        if word != shown and start >= 0:
            found.add(word[start:len(word) - (len(shown) - start - len(MASKED))])
    return sorted(found, key=len, reverse=True)


def redact_output(text: str, secrets: Iterable[str]) -> str:
    """Redact a command's output, including the `secrets` that it was given."""
    for secret in secrets:
        text = text.replace(secret, MASKED) if len(secret) >= _SHORTEST else text
    return redact(text)


def is_secret_of(option: str, word: str) -> bool:
    """Whether `word` is the secret argument of the option before it."""
    if not option.startswith("-") or "=" in option or word.startswith("-"):
        return False
    level = secrecy(option)
    return bool(level) and is_secret(word, option, level)
