# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether values are persisted on this host, and if so, which, by what, and with what outcome at the current boot."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._host.host import Host
from .._host.reading import ABSENT, Reading
from .._persist.paths import LEDGER


def read(host: Host, find_competitors: Callable[..., list[dict]] | None = None) -> dict[str, Any]:
    """The facts' section `persisted`. Raises NotRecorded.

    Other settings of the same values are looked for only if something is persisted and `find_competitors` is given: an
    audit does not send that code to every host.
    """
    ledger = host.read(LEDGER).told()
    if ledger.status == ABSENT:
        return nothing(ledger)
    # Imports the rules of every tunable, a sixth of what an audit compiles on the host; most have nothing persisted.
    from .persisted_values import read_values

    return read_values(host, ledger, find_competitors)


def nothing(ledger: Reading) -> dict[str, Any]:
    return {"ledger": ledger, "files": [], "boot": Reading(ABSENT, None, "nothing is persisted"), "this_boot": False,
            "rebooted": None, "values": []}
