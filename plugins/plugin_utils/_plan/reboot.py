# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a reboot broke: the last audit of the previous boot compared with the current state.

The same checks evaluate both; what passed before and fails now is broken. Other changes are listed separately.
"""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from .._checks import catalogue as checks_catalogue
from .._checks.findings import value
from .._checks.judge import judge
from .._records.host_folder import HostFolder, RecordError, read_json
from .._render.text import count
from . import health

PROFILE = "before_reboot"
_BOOT_ID = re.compile(r'^ "boot_id": "([^"]+)"', re.MULTILINE)
LATEST, BEFORE = "audit.json", "audit-previous-boot.json"
# From that profile: checks of the current state, not of risks at the next boot.
_BROKEN = ("gpu_driver", "nvidia_module", "nvidia_library", "nvidia_device_nodes", "nvidia_container_library",
           "lxc_gpu_access", "lxc_library_mounts", "vm_hostpci")


def keep_previous(folder: HostFolder, boot_id: str | None) -> None:
    """Keep the last audit of another boot next to the one about to be written."""
    latest = folder.path / LATEST
    if boot_id is not None and _boot_of(latest) not in (None, boot_id):
        try:
            os.replace(latest, folder.path / BEFORE)
        except OSError as error:
            raise RecordError(f"cannot rename {latest}: {error.strerror}") from error


def previous(folder: HostFolder, boot_id: str | None) -> dict[str, Any] | None:
    """The last audit recorded in another boot, None if there is none."""
    for name in (LATEST, BEFORE):
        path = folder.path / name
        if boot_id is not None and _boot_of(path) not in (None, boot_id):
            return read_json(path)
    return None


def _boot_of(path: pathlib.Path) -> str | None:
    """The boot id of a recorded audit; None if there is none. It is in the first lines, before all facts."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            found = _BOOT_ID.search(stream.read(1 << 12))
    except OSError:
        return None
    return None if found is None else found[1]


def compare_boots(document: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """`{since, broken: [{subject, check, reason, how}], changed: [sentence]}`.

    `document` is an audit of the previous boot, `facts` are the current ones. RecordError: the document's version is
    not supported.
    """
    before = document["facts"]
    try:
        was, seen = health.observe(before), health.observe(facts)
        broken = _lost_devices(was, seen) + _stopped(was, seen) + _failing(before, facts)
        changed = _changed(before, facts) + health.moved(was, seen)
    except (KeyError, TypeError) as error:
        raise RecordError(f"the audit of {document.get('collected_at')} was recorded by another version of this "
                          f"collection and cannot be compared ({error!r})") from error
    return {"since": document["collected_at"], "broken": broken, "changed": changed}


def _lost_devices(was: dict[str, Any], seen: dict[str, Any]) -> list[dict[str, Any]]:
    return [_line(harm["device"], None, harm["what"], None) for harm in health.triggers(was, seen)]


def _stopped(was: dict[str, Any], seen: dict[str, Any]) -> list[dict[str, Any]]:
    return [_line(guest, None, "it was running before the reboot and is not running now", None)
            for guest in was["guests"] if guest not in seen["guests"]]


def _failing(before: dict[str, Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that failed after the reboot and did not fail before."""
    catalogue = checks_catalogue.shipped()
    profile = checks_catalogue.load_profile(PROFILE, catalogue)
    known = {(finding["check"], finding["subject"], finding["reason"])
             for finding in judge(before, catalogue, profile, only=_BROKEN) if finding["verdict"] == "fail"}
    return [_line(finding["subject"], finding["check"], finding["reason"], finding["fix"]["how"])
            for finding in judge(facts, catalogue, profile, only=_BROKEN)
            if finding["verdict"] == "fail"
            and (finding["check"], finding["subject"], finding["reason"]) not in known]


def _line(subject: str | None, check: str | None, reason: str | None, how: str | None) -> dict[str, Any]:
    return {"subject": subject, "check": check, "reason": reason, "how": how}


def _changed(before: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    """What changed with the reboot and needs no fix."""
    pairs = (
        ("the kernel", value(before["kernel"]["release"]), value(facts["kernel"]["release"])),
        ("the NVIDIA driver", value(before["nvidia"]["driver_version"]), value(facts["nvidia"]["driver_version"])),
        ("the frequency driver", _drivers(before), _drivers(facts)),
        ("the BIOS", value(before["firmware"]["bios_version"]), value(facts["firmware"]["bios_version"])),
    )
    return [f"{what} was {old} and is {new}" for what, old, new in pairs if old and new and old != new]


def _drivers(facts: dict[str, Any]) -> str:
    return ", ".join(value(facts["cpu"]["frequency"]["drivers"], []))


def tally(reboot: dict[str, Any]) -> str:
    """`rebooted since the audit of 2026-11-29T18:30:00Z: 1 thing broken, 3 changed`."""
    return (f"rebooted since the audit of {reboot['since']}: {count(len(reboot['broken']), 'thing')} broken, "
            f"{len(reboot['changed'])} changed")


def describe(subject: str | None, check: str | None, reason: str | None, how: str | None) -> list[str]:
    """`lxc:101: ... (lxc_gpu_access)`, and the fix on its own line."""
    lines = [f"broken: {subject or 'host'}: {reason}" + (f" ({check})" if check else "")]
    return lines + ([f"  {how}"] if how else [])
