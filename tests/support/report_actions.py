# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extract the commands of a Markdown report, as a reader would paste them."""
from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple


class Action(NamedTuple):
    """One action; `do` and `undo` are shell scripts, empty if there are none."""

    check: str
    runtime: bool
    do: str
    undo: str


def actions(report: str, runtime: Collection[str]) -> list[Action]:
    """The actions of the report in order; `runtime` are the checks with a runtime fix."""
    found = []
    for text in re.split(r"^##+ ", report, flags=re.MULTILINE)[1:]:
        blocks = dict(re.findall(r"^(Do|Undo):\n\n```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL))
        check = re.search(r"^- check: `(.*?)`", text, flags=re.MULTILINE)
        if check:
            found.append(Action(check[1], check[1] in runtime, blocks.get("Do", ""), blocks.get("Undo", "")))
    return found
