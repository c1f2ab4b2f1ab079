# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hand-written audit document for tests of reports."""
from __future__ import annotations

GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x01, 0x11, 0x21, 0x31, 0x41, 0x61, 0x71, 0x81)]


def ok(value):
    return {"status": "ok", "value": value}


def finding(check, verdict, *, priority="P2", subject=None, actual=None, recommended=None, reason=None, title=None,
            fix_class="runtime", how=None, persist=None, contested=None, waived=None, not_planned_because=None,
            measured_here=(), commands=(), undo_commands=(), forbidden=None):
    return {
        "check": check, "subject": subject, "topic": "kernel", "title": title or f"Title of {check}",
        "verdict": verdict,
        "priority": priority, "actual": actual, "recommended": recommended, "reason": reason, "why": f"why {check}",
        "evidence": "kernel_doc", "contested": contested, "takes_effect": "at_once", "waived": waived,
        "measured_here": list(measured_here),
        "sources": ["Documentation/admin-guide/sysctl/vm.rst"],
        "fix": {"class": fix_class, "change": None, "how": how, "risk": "none known", "undo": None, "persist": persist,
                "commands": list(commands), "undo_commands": list(undo_commands), "forbidden": forbidden,
                "planned": False, "not_planned_because": not_planned_because},
    }


def gpu(bdf, width=16):
    link = {"speed_gts": 2.5, "width": width, "max_speed_gts": 32.0, "max_width": 16}
    return {"bdf": bdf, "vendor": "10de", "device": "2bb5", "model": "RTX PRO 6000", "driver": "nvidia", "state": "ok",
            "numa_node": ok(0), "pcie": ok({"link": link, "max_payload": 256, "max_read_request": 512}), "path": [],
            "iommu_type": ok("identity"), "claimed_by": ok([]), "virtual_function": False}


def document(findings, *, host="pve1", privileged=True, gpus=GPUS, summary=None):
    verdicts = {name: sum(one["verdict"] == name for one in findings)
                for name in ("pass", "fail", "not_applicable", "unknown")}
    failing = {name: sum(one["verdict"] == "fail" and one["priority"] == name and not one["waived"] for one in findings)
               for name in ("P0", "P1", "P2", "info")}
    things = {name: len({one["check"] for one in findings if one["verdict"] == "fail" and one["priority"] == name
                         and not one["waived"]}) for name in failing}
    return {
        "schema": "gpuhost.audit/2", "host": host, "profile": "inference", "collected_at": "2026-11-29T18:30:00Z",
        "boot_id": "0b54b1f2", "findings": findings,
        "summary": summary or {"verdicts": verdicts, "failing": failing, "things": things,
                               "places": failing,
                               "waived": sum(bool(one["waived"]) for one in findings), "expired_waivers": []},
        "facts": {
            "privileged": privileged,
            "unread": [] if privileged else [{"fact": "gpus[0].pcie", "path": None, "why": "needs root"}],
            "cpu": {"model_name": "AMD EPYC 9335 32-Core Processor", "vendor": "AuthenticAMD", "sockets": 2,
                    "logical": 128},
            "memory": {"total_kib": ok(527765504)}, "gpus": [gpu(address) for address in gpus], "ports": [],
            "pcie": {"aspm_policy": ok("default"), "nvswitches": []}, "numa": {"nodes": []},
            "nvidia": {"smi": {"gpus": []}, "parameters": ok({}), "flavour": "open"},
            "kernel": {"release": ok("6.8.12-9-pve")},
            "identity": {"kind": "bare_metal", "technology": None,
                         "proxmox": {"installed": True, "version": ok("8.4.1")}},
        },
    }
