# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What was audited (a machine, a virtual machine or a container), and whether all of it was read at once."""
from __future__ import annotations

from typing import Any, Callable

from .not_recorded import NotRecorded


def container(identity: dict[str, Any]) -> str | None:
    if identity["kind"] != "container":
        return None
    return f"the target is a container ({identity['technology'] or 'unknown kind'}): audit its host"


def virtual(identity: dict[str, Any]) -> str | None:
    if identity["kind"] != "vm":
        return None
    return f"the target is a virtual machine ({identity['technology'] or 'unknown hypervisor'})"


def told(facts: dict[str, Any]) -> dict[str, str | None]:
    """Both sentences, for the reason why a check has no subject: None also if a recording lacks what they depend on."""
    def if_told(ask: Callable[[dict[str, Any]], str | None]) -> str | None:
        try:
            return ask(facts["identity"])
        except NotRecorded:
            return None

    return {"container": if_told(container), "virtual": if_told(virtual)}


def is_one_moment(source: dict[str, Any] | None) -> bool:
    """Whether all facts were read at once: by this collection, not by the script of a report."""
    return source is None or source["kind"] == "recording"
