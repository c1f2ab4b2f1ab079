# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of tests: a missing one skips the test, except in CI, which guarantees them."""
from __future__ import annotations

import os

import pytest


def need(present: object, reason: str) -> None:
    """Skip the running test unless `present`; fail it if GPUHOST_CI is set."""
    if present:
        return
    if os.environ.get("GPUHOST_CI"):
        pytest.fail(f"CI must have this: {reason}")
    pytest.skip(reason)
