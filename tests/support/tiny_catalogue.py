# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A catalogue of four checks and a host with eight GPUs, small enough to evaluate by hand."""
from __future__ import annotations

import copy
from typing import Any

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import Check, build

MUST = {"title": "It is so", "topic": "pcie", "priority": "P2", "why": "because", "evidence": "vendor",
        "sources": ["the manual"], "takes_effect": "at_once", "expect": {"op": "equals", "value": 1, "type": "int"},
        "fix": {"class": "manual", "how": "do it"}}

WIDTH = {
    **MUST, "id": "width", "title": "The link of {it.bdf} has {recommended} lanes", "priority": "P0",
    "each": "host.gpus", "subject": "it.bdf", "applies": "it.vendor == '10de'",
    "otherwise": "{it.vendor} is not judged",
    "actual": "it.pcie.width", "expect": {"op": "at_least", "value": 16, "type": "int"},
    "fail": "it has {actual} of {recommended} lanes", "pass": "it has them all",
    "fix": {"class": "manual", "how": "reseat {it.bdf}"},
}
READ_REQUEST = {
    **MUST, "id": "read_request", "each": "host.gpus", "subject": "it.bdf", "otherwise": "no GPU",
    "actual": "it.pcie.read_request", "expect": {"op": "equals", "value": 4096, "type": "int"},
    "contested": {"by": ["a user"], "why": "no gain measured"},
    "plan_if": [{"if": "it.driver != 'vfio-pci'", "otherwise": "{it.bdf} is passed through"},
                {"if": "length(it.users) == `0`", "otherwise": "it is busy"}],
    "fix": {"class": "runtime", "tunable": "pcie_maxreadreq:{it.bdf}", "risk": "r", "undo": "u",
            "persist": "p {it.bdf}"},
}
SWAPPINESS = {
    **MUST, "id": "swappiness", "priority": "P1", "topic": "memory", "applies": "length(host.swap) > `0`",
    "otherwise": "the host has no swap", "actual": 'host.sysctl."vm.swappiness"',
    "expect": {"op": "equals", "value": "10", "type": "int"}, "evidence": "kernel_doc",
    "plan_if": "host.dedicated || host.guests == `0`",
    "fix": {"class": "runtime", "tunable": "sysctl:vm.swappiness", "risk": "r", "undo": "u"},
}
BUFFERS = {
    **MUST, "id": "buffers", "topic": "network", "evidence": "community", "actual": 'host.sysctl."net.core.rmem_max"',
    "expect": {"op": "at_least", "value": 16777216, "type": "int"},
    "absent": {"verdict": "not_applicable", "reason": "this kernel has no such limit"},
    "fix": {"class": "runtime", "tunable": "sysctl:net.core.rmem_max", "risk": "r", "undo": "u"},
}
PLAIN = Profile("plain", file="plain.yml")


def ok(value: Any) -> dict:
    return {"status": "ok", "value": value}


def lacking(status: str) -> dict:
    return {"status": status, "value": None}


def gpu(number: int) -> dict:
    return {"bdf": f"0000:{number:02x}:00.0", "vendor": "10de", "driver": "nvidia", "users": ok([]),
            "pcie": ok({"width": 16, "read_request": 4096})}


def host() -> dict:
    """Every value is as the checks require; `derived` is present, so nothing is derived."""
    return {"gpus": [gpu(number) for number in range(1, 9)], "swap": ok(["zram0"]), "guests": ok(0), "derived": {},
            "sysctl": {"vm.swappiness": ok("10"), "net.core.rmem_max": ok("16777216")}}


def checks(*given: dict) -> list[Check]:
    return [build(copy.deepcopy(one), "hand.yml") for one in given or (WIDTH, READ_REQUEST, SWAPPINESS, BUFFERS)]
