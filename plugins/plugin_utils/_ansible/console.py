# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Lines that plugins print in addition to Ansible's own output."""
from __future__ import annotations

from typing import Any

from ansible import constants as C
from ansible.utils.display import Display

_OURS = "gpuhost.tuning."
# awx_display is ansible-runner's (AWX, ansible-navigator): the default callback, its output split into events.
_TEXT = ("default", "ansible.builtin.default", "ansible.legacy.default", "awx_display")


def prints_text() -> bool:
    """Whether standard output is text for people: another stdout callback may print JSON there, which extra lines would
    corrupt."""
    callback = C.DEFAULT_STDOUT_CALLBACK
    return callback in _TEXT or callback.startswith(_OURS)


class Console:
    """Prints lines if standard output is text, else keeps them for the result of the task."""

    def __init__(self) -> None:
        self.prints = prints_text()
        self._kept: list[str] = []

    def show(self, text: str) -> None:
        if self.prints:
            Display().display(text)
        else:
            self._kept += text.splitlines()

    def result(self) -> dict[str, Any]:
        """`{lines: [...]}` for the result of the task; empty if the lines were printed."""
        return {"lines": self._kept} if self._kept else {}
