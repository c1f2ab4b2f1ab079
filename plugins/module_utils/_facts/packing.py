# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Encode the facts of a host as one short text."""
from __future__ import annotations

import base64
import json
import zlib


def pack(facts: dict) -> str:
    """JSON, compressed by zlib, in base64; plugin_utils/_answers/facts.py reverses it."""
    # The fastest level: the others gain little and cost CPU time on the host.
    return base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode("ascii"), 1)).decode("ascii")
