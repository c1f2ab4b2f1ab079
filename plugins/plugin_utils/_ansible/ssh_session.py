# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How ssh connects for a task that runs one command on its host."""
from __future__ import annotations

from typing import Any

_NO_MASTER = "-o ControlMaster=no"


def start_no_master(connection: Any) -> None:
    """Have ssh use a shared connection that is open already, but start none (ssh_config(5), ControlMaster).

    A master is a second ssh process per host. It would carry one command and then stay open on the controller until
    ControlPersist ends, for anyone there with the user's rights.
    """
    if connection.transport != "ssh":
        return
    words = connection.get_option("ssh_args") or ""
    if "controlmaster" in words.lower():
        # Of an option given twice, ssh uses the first value.
        connection.set_option("ssh_args", f"{_NO_MASTER} {words}")
