# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts' section `managers`: services that change tunables, and the files that set sysctls at boot."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, settle
from .._kernel.services import read_services, read_unit_links
from .sysctl_facts import read_sysctl_files
from .tuned_main import read_excluded, read_reapplies

_NO_TUNED = Reading(ABSENT, None, "tuned is not installed")


def read(host: Host) -> dict:
    services = known(lambda: read_services(host))
    return settle({
        "services": lambda: services,
        "unit_links": lambda: read_unit_links(host),
        "tuned_profile": lambda: host.read("/etc/tuned/active_profile").map(str.strip)
        if services[0]["installed"] else _NO_TUNED,
        "tuned_reapplies": lambda: read_reapplies(host) if services[0]["installed"] else _NO_TUNED,
        "tuned_excludes": lambda: list(read_excluded(host)) if services[0]["installed"] else [],
        "sysctl": lambda: read_sysctl_files(host),
    })
