# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Why a manual action is not possible now: missing programs, read-only files and other preconditions."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PCI_CONFIG = re.compile(r"\bsetpci\b")
_CLUSTER_FILES = re.compile(r"/etc/pve\b|\b(?:qm|pct|ha-manager) ")
# A redirection to a file in proc or sysfs, or a loop over such files.
_WRITTEN = re.compile(r"(?:>\s*'?|\bfor \w+ in )(/(?:proc/sys|sys)/[\w.,:+@/-]+)")
_SYSCTL = re.compile(r"\bsysctl -w '?([\w.-]+)=")
_GUEST = re.compile(r"(lxc|vm):([0-9]+)")
_LISTS = {"lxc": ("containers", "container"), "vm": ("vms", "VM")}


def forbidden(text: str, subject: str | None, facts: Mapping[str, Any]) -> str | None:
    """The reason; None if no fact rules out the action described by `text`."""
    reason = read_only(text, facts)
    if reason is not None:
        return reason
    if _PCI_CONFIG.search(text):
        lockdown = _read(facts, "kernel", "lockdown")
        if lockdown not in (None, "none"):
            return f"kernel lockdown ({lockdown}) refuses writes to PCI config space"
    if _CLUSTER_FILES.search(text):
        if _read(facts, "cluster", "quorum") == "not_quorate":
            return "the cluster has no quorum, so /etc/pve is read-only: restore the quorum first"
        return _locked(subject or "", facts)
    return None


def read_only(text: str, facts: Mapping[str, Any]) -> str | None:
    """Why the first proc or sysfs file in `text` cannot be written; None if it can, or if that is not known."""
    paths = _WRITTEN.findall(text) + [f"/proc/sys/{key.replace('.', '/')}" for key in _SYSCTL.findall(text)]
    mounts = _read(facts, "kernel", "mounts") or []
    for path in paths:
        above = [one for one in mounts if path == one["path"] or path.startswith(f"{one['path']}/")]
        nearest = max(above, key=lambda one: len(one["path"]), default=None)
        if nearest is not None and nearest["read_only"]:
            return f"{nearest['path']} is mounted read-only, as in containers: change it on the host itself"
    return None


def _locked(subject: str, facts: Mapping[str, Any]) -> str | None:
    named = _GUEST.fullmatch(subject)
    if not named:
        return None
    key, noun = _LISTS[named[1]]
    guests = _read(facts, "guests", key) or []
    lock = next((guest.get("lock") for guest in guests if str(guest["id"]) == named[2]), None)
    return f"{noun} {named[2]} is locked ({lock}): wait until it is unlocked" if lock else None


def _read(facts: Mapping[str, Any], section: str, name: str) -> Any:
    reading = (facts.get(section) or {}).get(name)
    return reading["value"] if isinstance(reading, Mapping) and reading.get("status") == "ok" else None
