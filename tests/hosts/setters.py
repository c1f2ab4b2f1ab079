# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set values of all kinds on one planted host and restore them, like the roles; and capture the state of a host."""
from __future__ import annotations

import pathlib
from typing import Any

from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import pair_lines, plan_back
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.moment import BOOT_ID
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.maxreadreq import MaxReadRequestKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysctl import SysctlKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysfs import SysfsKind

KINDS = {"sysctl": SysctlKind, "sysfs": SysfsKind, "pcie_maxreadreq": MaxReadRequestKind}


def apply_values(host: Host, values: dict[str, dict[str, Any]], **options: Any) -> list[dict]:
    """Apply changes of all kinds in the order of a tune."""
    return [change for name, kind in KINDS.items() if values.get(name)
            for change in set_values(kind(host), host, values[name], [], **options)["changes"]]


def restore_values(host: Host, run_id: str | None = None) -> list[dict]:
    """Undo changes in the reverse order, like a restore."""
    plan = plan_back(pair_lines(read_journal(host).value or []), host.read(BOOT_ID).value, run_id)
    return [change for name in reversed(KINDS) if plan.restore.get(name)
            for change in set_values(KINDS[name](host), host, plan.restore[name], [])["changes"]]


def read_everything(host: Host, names: dict[str, list[str]]) -> dict[str, tuple]:
    """The readings of the named tunables, by address."""
    return {reading["address"]: (reading["status"], reading["value"]) for name, addresses in names.items()
            for reading in set_values(KINDS[name](host), host, {}, addresses)["readings"]}


def file_bytes(root: pathlib.Path, leave_out: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Every file below a planted host except the journal and files that end like one of `leave_out`."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
            if path.is_file() and not path.is_symlink() and "run/gpuhost" not in str(path)
            and not str(path).endswith(leave_out)}
