# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How to disable ACS redirection on ports: a command for this boot, and a kernel parameter if one covers it.

pci=disable_acs_redir= exists since kernel 4.19, pci=config_acs= since 6.11; both take devices separated by semicolons.
Kernels from 6.11 on parse both wrongly (commit 47c8846a49ba) until "PCI/ACS: Fix 'pci=config_acs=' parameter" (6.15,
and 6.12.23, 6.13.11, 6.14.2). Flags are one digit per bit, the lowest last: `00xx` clears completion and request
redirect and leaves translation blocking and source validation unchanged (admin-guide/kernel-parameters.txt).
"""
from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_CLEAR_REDIRECTS = "00xx"
_REWRITTEN, _REPAIRED = (6, 11), (6, 15)
_REPAIRED_IN = {(6, 12): 23, (6, 13): 11, (6, 14): 2}
_FIRST = (4, 19)


def clear_redirection(ports: list[str], release: str | None, loader: str | None, edit: str) -> str | None:
    """The instruction in words, None without ports; `edit` says how to change this host's kernel command line.

    `release` is the kernel that starts next.
    """
    if not ports:
        return None
    names = " ".join(ports)
    now = (f"setpci -s {names} ECAP_ACS+6.w=0000:000c" if len(ports) == 1 else
           f"for port in {names}; do setpci -s $port ECAP_ACS+6.w=0000:000c; done")
    for_good = _for_good(ports, release, loader, edit)
    return f"For this boot: {now} (a reset of a port sets it again). Permanently: {for_good}"


def _for_good(ports: list[str], release: str | None, loader: str | None, edit: str) -> str:
    version = _version(release)
    if version is None or version < _FIRST:
        return f"kernel {release} has no known parameter for it."
    if _REWRITTEN <= version[:2] < _REPAIRED and version[2] < _REPAIRED_IN.get(version[:2], 1 << 16):
        return (f"kernel {release} misparses the parameters for it, like 6.11 to 6.14 before 6.12.23, 6.13.11 and "
                "6.14.2 (a distribution may have backported the fix): update the kernel first.")
    parameter = (f"pci=disable_acs_redir={';'.join(ports)}" if version[:2] < _REWRITTEN else
                 f"pci=config_acs={';'.join(f'{_CLEAR_REDIRECTS}@{port}' for port in ports)}")
    if len(ports) == 1 or loader == "systemd-boot":
        return f"{parameter} on the kernel command line: {edit}."
    if loader == "GRUB" and "GRUB_CMDLINE" in edit:
        return f'\\"{parameter}\\" with these backslashes and quotes, as GRUB ends a command at a semicolon: {edit}.'
    return "no instruction: how to quote the semicolons for this host's boot loader is not known."


def _version(release: str | None) -> tuple[int, int, int] | None:
    found = _VERSION.match(release or "")
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))
