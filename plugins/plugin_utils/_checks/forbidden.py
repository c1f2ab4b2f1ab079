# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Why an action by hand cannot be taken now: what the programs and files that it names need of the host."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PCI_CONFIG = re.compile(r"\bsetpci\b")
_CLUSTER_FILES = re.compile(r"/etc/pve\b|\b(?:qm|pct|ha-manager) ")
_GUEST = re.compile(r"(lxc|vm):([0-9]+)")
_LISTS = {"lxc": ("containers", "container"), "vm": ("vms", "VM")}


def forbidden(text: str, subject: str | None, facts: Mapping[str, Any]) -> str | None:
    """The reason; None where nothing that was read forbids what `text` says."""
    if _PCI_CONFIG.search(text):
        lockdown = _read(facts, "kernel", "lockdown")
        if lockdown not in (None, "none"):
            return f"kernel lockdown ({lockdown}) refuses writes to PCI config space"
    if _CLUSTER_FILES.search(text):
        if _read(facts, "cluster", "quorum") == "not_quorate":
            return "the cluster is not quorate, so /etc/pve is read-only: see to its quorum first"
        return _locked(subject or "", facts)
    return None


def _locked(subject: str, facts: Mapping[str, Any]) -> str | None:
    named = _GUEST.fullmatch(subject)
    if not named:
        return None
    key, noun = _LISTS[named[1]]
    guests = _read(facts, "guests", key) or []
    lock = next((guest.get("lock") for guest in guests if str(guest["id"]) == named[2]), None)
    return f"{noun} {named[2]} is locked ({lock}): wait for its end" if lock else None


def _read(facts: Mapping[str, Any], section: str, name: str) -> Any:
    reading = (facts.get(section) or {}).get(name)
    return reading["value"] if isinstance(reading, Mapping) and reading.get("status") == "ok" else None
