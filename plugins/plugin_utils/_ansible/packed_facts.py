# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts of host_info as they travel: JSON, compressed, in base64."""
from __future__ import annotations

import base64
import json
import zlib
from typing import Any

LARGEST = 64 << 20      # bytes of JSON; a host with 128 CPUs and 8 GPUs has 127 kB


def unpack(packed: str) -> dict[str, Any]:
    """The facts; ValueError for what host_info did not write."""
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(base64.b64decode(packed, validate=True), LARGEST)
        if not stream.eof:
            raise ValueError(f"they are cut off, or of more than {LARGEST >> 20} MiB")
        return json.loads(text)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"host_info answered with facts that cannot be unpacked: {error}") from error
