# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Kernel files that mark the selected word with brackets: `always [madvise] never`."""
from __future__ import annotations


def chosen(text: str) -> str:
    """Return the word in brackets, or the only word, which is all that a recorded host holds after a write.

    Raises ValueError if there is neither.
    """
    words = text.split()
    if len(words) == 1 and "[" not in text:
        return words[0]
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    if len(marked) != 1:
        raise ValueError("it does not mark exactly one choice with brackets")
    return marked[0]


def choices(text: str) -> list[str]:
    """Return all words, in the kernel's order."""
    return text.replace("[", " ").replace("]", " ").split()
