# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove parts of a planted host, as in an incomplete recording, and evaluate the findings."""
from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take

from hosts.tree import Tree
from verdicts import judged

WHY = "it was not collected"

# Paths that readers open, from whole folders to single files.
PARTS = (
    "/etc", "/etc/pve", "/proc", "/proc/1", "/proc/cmdline", "/proc/cpuinfo", "/proc/devices",
    "/proc/driver/nvidia", "/proc/driver/nvidia/gpus", "/proc/irq", "/proc/meminfo", "/proc/modules",
    "/proc/mounts", "/proc/net", "/proc/self", "/proc/spl", "/proc/swaps", "/proc/sys", "/proc/uptime",
    "/recorded/dev.json", "/recorded/earlier_boots.json", "/recorded/kmsg.txt", "/recorded/nvidia-smi.xml", "/run",
    "/sys/bus/pci", "/sys/bus/pci/devices", "/sys/class/dmi", "/sys/class/infiniband", "/sys/class/net",
    "/sys/devices/system/cpu", "/sys/devices/system/cpu/cpufreq", "/sys/devices/system/edac",
    "/sys/devices/system/node", "/sys/fs", "/sys/hypervisor", "/sys/kernel", "/sys/kernel/iommu_groups",
    "/sys/module", "/boot", "/dev", "/lib/modules", "/usr", "/var",
)


def findings(tree: Tree) -> dict[tuple[str, str | None], dict]:
    """The findings, with facts validated against their schema as on a controller."""
    return judged(take(json.loads(json.dumps(collect(Host(str(tree.root)), [])))))


@contextlib.contextmanager
def answering(tree: Tree, **answers: object) -> Iterator[None]:
    """The host with these answers in addition to its own."""
    file = tree.path("/recorded/answers.json")
    before = file.read_text() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**json.loads(before or "{}"), **answers}))
    try:
        yield
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_text(before)


@contextlib.contextmanager
def without(tree: Tree, part: str) -> Iterator[None]:
    """The host as a recording without `part` but otherwise complete."""
    here, away = tree.path(part), tree.root.parent / f"{tree.root.name}-taken-away"
    there = os.path.lexists(here)
    if there:
        os.rename(here, away)
    try:
        with answering(tree, open=WHY, closed=["/"], not_recorded={part: WHY}):
            yield
    finally:
        if there:
            os.rename(away, here)


def false_verdicts(whole: dict, found: dict) -> list[str]:
    """The findings of a part that neither equal those of the whole host nor are unknown for lack of a recording."""
    return [f"{check} of {subject or 'the host'}: {finding['verdict']} ({finding['reason']})"
            for (check, subject), finding in found.items()
            if not _is_as(whole.get((check, subject)), finding)]


def _is_as(whole: dict | None, found: dict) -> bool:
    if whole is not None and found["verdict"] == whole["verdict"]:
        return found["verdict"] not in ("pass", "fail") or found["actual"] == whole["actual"]
    return found["verdict"] == "unknown" and "not_recorded" in found
