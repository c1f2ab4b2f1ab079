# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The values of a recorded run to be persisted: those that it changed and read back."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._tunables.guest_affinity import how_to_keep
from ...module_utils._tunables.kinds import KINDS
from .._records import host_folder
from .._records.host_folder import HostFolder, RecordError

Values = dict[str, dict[str, Any]]


def find_run(folder: HostFolder, run_id: str | None) -> tuple[str, Values]:
    """A run and its values: the given run, else the last completed one that changed something, if possible something
    that can be persisted.

    RecordError: there is none, it changed nothing, or a device regressed.
    """
    if run_id:
        return run_id, _values_of(folder, run_id)
    changed = {name: changed_values(_outcome(folder, name)) for name in reversed(folder.runs())
               if (folder.run(name) / host_folder.OUTCOME).exists()}
    for values_of in (lambda values: lasting(values)[0], lambda values: values):
        name = next((name for name, values in changed.items() if values_of(values)), None)
        if name is not None:
            return name, _values_of(folder, name)
    raise RecordError(f"there is no record of a run that changed something in {folder.path}: run tune_runtime.yml "
                      "first, name a run with gpuhost_run_id, or values with gpuhost_values")


def changed_values(outcome: Mapping[str, Any]) -> Values:
    """The values that a run changed, as read back, by kind and name; not what the kernel changed as a side effect."""
    values: Values = {}
    for change in outcome["changes"]:
        if change["outcome"] == "changed" and change["wanted"] is not None:
            kind, _colon, name = change["address"].partition(":")
            values.setdefault(kind, {})[name] = change["after"]
    return values


def lasting(values: Values) -> tuple[Values, list[str]]:
    """The values that can be persisted, and one sentence for each of the others."""
    left = [f"guest_affinity:{name}: {how_to_keep(name, str(value['set'] if isinstance(value, Mapping) else value))}"
            for name, value in values.get("guest_affinity", {}).items()]
    return {kind: named for kind, named in values.items() if KINDS[kind].lasts}, left


def _values_of(folder: HostFolder, run_id: str) -> Values:
    outcome = _outcome(folder, run_id)
    if outcome["harm"]:
        raise RecordError(f"run {run_id} was undone, a device was worse off behind it: nothing of it is made to last")
    values = changed_values(outcome)
    if not values:
        raise RecordError(f"run {run_id} changed nothing: there is nothing of it that could be made to last")
    return values


def _outcome(folder: HostFolder, run_id: str) -> dict[str, Any]:
    document = host_folder.read_document(folder.run(run_id) / host_folder.OUTCOME, host_folder.SCHEMA_OUTCOME)
    if document is None:
        raise RecordError(f"there is no record of the end of run {run_id} in {folder.path}: it only predicted, was "
                          "killed, or was run from elsewhere")
    return document
