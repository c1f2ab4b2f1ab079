# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The last match of a pattern in a text, as a separate program, so that a pattern that runs too long can be killed.

Standard input: JSON, `[pattern, text]`. Standard output: the text of the group `value` of the last match, or null.
"""
from __future__ import annotations

import json
import re
import sys


def last_match(pattern: str, text: str) -> str | None:
    """The text of the group `value` in the last match that has it."""
    found = None
    for match in re.finditer(pattern, text, re.MULTILINE):
        found = match["value"] if match["value"] is not None else found
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(last_match(*json.load(sys.stdin))))
