# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._render import changes as render_changes


def change_lines(changes: list[dict[str, Any]], planned: list[dict[str, Any]] | None = None) -> list[str]:
    """One line per change, including those that the plan skipped."""
    skipped = [change for change in untag(planned or []) if change["outcome"] == "skipped"]
    return render_changes.change_lines(untag(changes) + skipped)


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"change_lines": change_lines}
