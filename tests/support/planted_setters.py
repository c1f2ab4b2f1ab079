# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run an experiment's setters in this process on a planted tree."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import (
    list_baselines,
    pair_lines,
    plan_back,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.moment import BOOT_ID
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysctl import SysctlKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysfs import SysfsKind
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.toggles import Toggle

RUN_ID = "20261129T183000Z-4f2a"
SETTERS = {"gpuhost.tuning.sysctl_snapshot": (SysctlKind, "keys"),
           "gpuhost.tuning.sysfs_attribute": (SysfsKind, "paths")}


class PlantedSetters:
    """Called in place of an experiment's modules. `calls` are the module names, each with whether in check mode."""

    def __init__(self, tree):
        self.host = Host(str(tree.root))
        self.calls = []

    def __call__(self, module, arguments, check):
        self.calls.append((module.rpartition(".")[2], check))
        if module == "gpuhost.tuning.workload":     # asks for the host's state
            seen = {"boot_id": self.host.read(BOOT_ID).value, "load1": None, "gpus": None, "users": None}
            return {"conditions": {"before": seen, "after": seen}}
        if module == "gpuhost.tuning.journal_info":
            writes, boot = pair_lines(read_journal(self.host).value or []), self.host.read(BOOT_ID).value
            return {"restore_values": plan_back(writes, boot, arguments.get("run_id")).restore,
                    "baselines": list_baselines(writes, boot)}
        kind, names = SETTERS[module]
        return set_values(kind(self.host), self.host, arguments.get("values", {}), arguments.get(names, []),
                          run_id=arguments.get("run_id"), check_mode=check, on_refusal="report")


def toggle(name, values, takes_effect="at_once"):
    """A toggle of one check, from `{address: wanted}`."""
    return Toggle(name, tuple({"address": address, "check": name, "subject": None, "takes_effect": takes_effect,
                               "wanted": wanted} for address, wanted in values.items()))
