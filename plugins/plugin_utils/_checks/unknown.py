# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Advice for findings that could not be evaluated."""
from __future__ import annotations

from .._expressions.errors import NO_RECORD, STATUS_IN_WORDS

_ADVICE = {
    "denied": "Audit as root, or as a user with sudo.",
    "read_only": "Audit the host itself, not a container or a chroot with read-only file systems.",
    "asleep": "Use the device to resume it, and audit again while it is in use.",
    "gone": "Power-cycle the host, and look for the reason in journalctl -k -b -1.",
    "passed_through": "Audit the guest that has the device.",
    "unparsable": "Report it with a recording of the host: ansible-playbook gpuhost.tuning.record.",
    "absent": "The kernel or the driver does not provide it: check whether the driver is loaded and current.",
    "not_recorded": "Use a recording that includes it, or audit the host itself.",
}
_OTHERWISE = "See the reason; if the host does not explain it, report it with a recording of the host."


def advice(reason: str | None) -> str:
    """One sentence for the reason of an unknown verdict; the reason ends with the status of the unreadable fact."""
    if NO_RECORD in (reason or ""):
        return _ADVICE["not_recorded"]
    for status, text in _ADVICE.items():
        if (reason or "").endswith(STATUS_IN_WORDS.get(status, status)):
            return text
    return _OTHERWISE
