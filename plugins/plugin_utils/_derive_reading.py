# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The value of a reading in facts that are JSON already."""
from __future__ import annotations

from typing import Any


def value(reading: dict[str, Any]) -> Any:
    """The value of `{status, value}`, None where the status is not ok."""
    return reading["value"] if reading["status"] == "ok" else None
