# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a host is known to offer a GPU more bandwidth than the path that it is on.

Free slots cannot be seen: a slot's port is read only with a GPU below it. What another GPU's path carries is seen, and
its slots and ports support at least that.
"""
from __future__ import annotations

from typing import Any

from ..not_recorded import Gap, recorded


def compare_paths(gpus: list[dict[str, Any]]) -> None:
    """Add `wider_path` to every GPU: `{gpu, gbps}`, the GPU whose path carries most, or None if none carries more."""
    carried = recorded(lambda: [(gpu["derived"]["path_gbps"], gpu["bdf"]) for gpu in gpus
                                if gpu["derived"]["path_gbps"] is not None])
    for gpu in gpus:
        gpu["derived"]["wider_path"] = carried if isinstance(carried, Gap) else recorded(
            lambda own=gpu["derived"]: _wider(own["path_gbps"], carried))


def _wider(own: float | None, carried: list[tuple[float, str]]) -> dict[str, Any] | None:
    most = max((gbps for gbps, _bdf in carried), default=None)
    if own is None or most is None or most <= own:
        return None
    return {"gpu": next(bdf for gbps, bdf in carried if gbps == most), "gbps": most}
