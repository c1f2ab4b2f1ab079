# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test needs of the machine: missing, it is a reason to skip, except where CI promises to have it."""
from __future__ import annotations

import os

import pytest


def need(present: object, reason: str) -> None:
    """Skip the running test unless `present`; fail it where GPUHOST_CI is set."""
    if present:
        return
    if os.environ.get("GPUHOST_CI"):
        pytest.fail(f"CI must have this: {reason}")
    pytest.skip(reason)
