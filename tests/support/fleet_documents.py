# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a large fleet: audit documents with many checks, and hosts in which every text is hostile."""
from __future__ import annotations

from audit_document import GPUS, document, finding

PRIORITIES = ("P0", "P1", "P2", "info")
HOST_CHECKS, GPU_CHECKS, POLICIES = 118, 30, 32
# Texts that end a script element, start a comment, run code or misdirect the reader.
HOSTILE = ("</script><script>window.hacked=1</script><!--<img src=x onerror=\"window.hacked=1\">'`${1}\u2028\u202e"
           "\x1b[31m|$data")


def big_document(number: int) -> dict:
    """Host `number` of many: more checks than the catalogue has, a tenth of them failing, some with its own values."""
    findings = [_host_finding(check, number) for check in range(HOST_CHECKS)]
    for check in range(GPU_CHECKS):
        for gpu, address in enumerate(GPUS):
            fails = (check + gpu + number) % 17 == 0
            findings.append(finding(f"gpu_check_{check:02d}", "fail" if fails else "pass", subject=address,
                                    priority=PRIORITIES[check % 4], actual=512 if fails else 4096, recommended=4096,
                                    reason=f"measured {number * 7 + gpu} on {address}" if fails else None,
                                    commands=[f"setpci -s {address} CAP_EXP+8.w=5000:7000"] if fails else (),
                                    undo_commands=[f"setpci -s {address} CAP_EXP+8.w=2000:7000"] if fails else ()))
    for name in ("governor", "preference"):
        findings += [finding(f"policy_{name}", "pass", subject=f"policy{policy}", actual="performance",
                             recommended="performance") for policy in range(POLICIES)]
    made = document(findings, host=f"node{number:04d}")
    made["facts"]["kernel"]["release"]["value"] = "6.8.12-4-pve" if number % 100 == 7 else "6.8.12-9-pve"
    return made


def _host_finding(check: int, number: int) -> dict:
    verdict = ("fail" if (check + number) % 11 == 0 else "unknown" if (check * 3 + number) % 97 == 0
               else "not_applicable" if check % 9 == 0 else "pass")
    return finding(f"host_check_{check:03d}", verdict, priority=PRIORITIES[check % 4],
                   title=f"Setting number {check} of the host has the value that suits its work",
                   actual=f"{number % 13} of {check}" if verdict == "fail" else str(check), recommended=str(check),
                   reason="could not be read: permission denied" if verdict == "unknown" else None)


def hostile_document(name: str = "hostile") -> dict:
    made = document([
        finding("own_check", "fail", priority="P0", actual=HOSTILE, recommended=HOSTILE, reason=HOSTILE, title=HOSTILE,
                subject=HOSTILE, contested={"by": [HOSTILE], "why": HOSTILE}),
        finding("own_check", "unknown", subject="\ud800\uffff", reason=HOSTILE, title=HOSTILE)], host=name)
    made["facts"]["cpu"]["model_name"] = HOSTILE
    made["facts"]["kernel"]["release"]["value"] = HOSTILE
    made["facts"]["gpus"][0] |= {"model": HOSTILE, "driver": HOSTILE}
    return made
