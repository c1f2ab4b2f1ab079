# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Module results that the controller evaluates, validated by schemas/answers.json first."""
from __future__ import annotations

from typing import Any

from .._render.text import clean, clean_all
from .shape import compile_schema, describe

_FITS = {name: compile_schema(f"answers.json#/$defs/{name}") for name in ("journal", "changes")}


def take_answer(kind: str, answer: Any) -> dict[str, Any]:
    """A result in plain types, cleaned; ValueError if it is invalid.

    `kind` is `journal` for journal_info, `changes` for a setter."""
    answer = clean_all(answer)
    misfit = _FITS[kind](answer)
    if misfit is not None:
        raise ValueError(f"the module's result is invalid: {clean(describe(misfit))}")
    return answer
