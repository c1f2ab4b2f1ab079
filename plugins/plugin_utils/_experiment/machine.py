# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""An experiment's access to a host (setters, journal, the user's benchmark), all through one callable."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._plan.drift import MODULES
from .settings import ConcurrentChange, ExperimentError, Settings
from .toggles import Toggle

# `(module, arguments, check)` -> the module's answer.
Ask = Callable[[str, dict[str, Any], bool], Mapping[str, Any]]

_NAMES = {"sysctl": "keys", "sysfs": "paths"}       # the option of each setter that only reads


class Machine:
    """One host during one experiment."""

    def __init__(self, ask: Ask, run_id: str, allow_busy: bool) -> None:
        self.ask = ask
        self.run_id = run_id
        self.allow_busy = allow_busy

    def learn(self, toggles: Iterable[Toggle]) -> Settings:
        """The settings that the toggles change, from the setters in check mode: nothing is written.

        ExperimentError: a value would not be set, or a toggle makes no difference.
        """
        settings = Settings()
        for toggle in toggles:
            for kind, values in toggle.values.items():
                settings.learn(toggle, kind, self._set(kind, values, check=True))
            if not settings.differ(toggle):
                raise ExperimentError(f"{toggle.name} would change nothing: {', '.join(toggle.addresses)} already has "
                                      "the wanted value")
        return settings

    def bring_about(self, settings: Settings, on: frozenset[str]) -> list[str]:
        """Apply the state in which these toggles are on; return addresses that something else changed meanwhile."""
        # Revert in the reverse of the order in which a tune makes changes.
        kinds = [kind for kind in MODULES if kind in settings.values(on)]
        found: list[str] = []
        for kind in kinds if not on else reversed(kinds):
            foreign, again = settings.take(self._set(kind, settings.values(on)[kind])["changes"])
            if again and settings.take(self._set(kind, settings.values(on)[kind])["changes"])[1]:
                raise ConcurrentChange(f"something else keeps changing {', '.join(foreign)}")
            found += foreign
        return found

    def way_back(self, settings: Settings | None) -> list[Mapping[str, Any]]:
        """Restore what this run changed according to the journal; return what could not be restored."""
        values = self.left_behind(self.run_id)
        left = []
        for kind in MODULES:
            if kind in values:
                changes = self._set(kind, values[kind])["changes"]
                left += [change for change in changes if change["outcome"] not in ("unchanged", "changed")
                         and change["wanted"] is not None]
                if settings is not None:
                    settings.seen(changes)
        return left

    def left_behind(self, run_id: str) -> dict[str, dict[str, Any]]:
        """The values that would restore what a run changed, from the journal of this boot."""
        return self._ask("gpuhost.tuning.journal_info", {"run_id": run_id})["restore_values"]

    def left_by_others(self, addresses: Iterable[str]) -> dict[str, list[str]]:
        """The addresses that earlier runs set and that were not restored, with the IDs of the runs."""
        wanted = set(addresses)
        return {one["address"]: one["runs"] for one in self._ask("gpuhost.tuning.journal_info", {})["baselines"]
                if one["address"] in wanted}

    def read(self, addresses: Iterable[str]) -> dict[str, Any]:
        """The current values of tunables; those that cannot be read are left out."""
        names: dict[str, list[str]] = {}
        for address in addresses:
            kind, _colon, name = address.partition(":")
            if kind in _NAMES:
                names.setdefault(kind, []).append(name)
        return {reading["address"]: reading["value"] for kind, named in names.items()
                for reading in self._ask(MODULES[kind], {_NAMES[kind]: named})["readings"]
                if reading["status"] == "ok"}

    def _set(self, kind: str, values: dict[str, Any], check: bool = False) -> Mapping[str, Any]:
        arguments = {"values": values, "run_id": self.run_id, "on_refusal": "report"}
        if kind == "pcie_maxreadreq":
            arguments["allow_busy"] = self.allow_busy
        return self._ask(MODULES[kind], arguments, check)

    def _ask(self, module: str, arguments: dict[str, Any], check: bool = False) -> Mapping[str, Any]:
        answer = self.ask(module, arguments, check)
        if answer.get("failed"):
            raise ExperimentError(f"{module}: {answer.get('msg') or 'failed without a message'}")
        return answer
