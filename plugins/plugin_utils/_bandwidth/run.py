# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One bandwidth measurement of one host, on the controller: from facts to the module's arguments, from its answer to
records."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._pci.address import kernel_address, parse_address
from .._derive.derive import derive
from .._derive.reading import value
from .._records import host_folder
from .._records.measured import add_measured
from .._render.text import count, one_line
from . import again, record
from . import scope as scope_module
from .expected import Pair, of_pairs

# Options for which the module has its own defaults.
_OPTIONAL = ("sizes", "container", "timeout", "library")
_FORWARDED = ("sysroot", "tool", "allow_busy", "concurrent")
_CONTAINER = re.compile(r"[0-9]{1,9}|(?:docker|podman):[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_SHOWN = 12


def _address(device: str) -> str:
    """The kernel's form of the address that the user gave."""
    try:
        parse_address(device)
    except ValueError as error:
        raise ValueError(f"gpuhost_bandwidth_devices: {error}") from error
    return kernel_address(device) or device


def place_of(container: str | None) -> str:
    """`host`, `lxc:101` or `docker:vllm`: the place of the measurement, as recorded."""
    if not container:
        return "host"
    return container if ":" in container else f"lxc:{container}"


class Measurement:
    """One measurement; `arguments` are those of the action `bandwidth`."""

    def __init__(self, host: str, arguments: Mapping[str, Any]) -> None:
        self.host = host
        self.arguments = arguments
        self.folder = host_folder.HostFolder(arguments["report_dir"], host)
        self.run_id = host_folder.check_run_id(arguments["run_id"]) if arguments["run_id"] else host_folder.new_run_id()
        if not 1 <= arguments["slow_below"] <= 100:
            raise ValueError(f"gpuhost_bandwidth_slow_below: {arguments['slow_below']}, wanted 1 to 100 percent")
        if arguments["container"] is not None and not _CONTAINER.fullmatch(arguments["container"]):
            raise ValueError(f"gpuhost_bandwidth_container: {arguments['container']!r}, wanted the number of a "
                             "container, such as 101, or docker: or podman: and its name")
        self.named = [_address(device) for device in arguments["devices"]]
        self.facts: dict[str, Any] = {}
        self.record: dict[str, Any] = {}
        self.answer: Mapping[str, Any] | None = None
        self.expected: dict[tuple[str, str], Pair] = {}
        self.nothing_to_do: str | None = None

    @property
    def path(self) -> pathlib.Path:
        return self.folder.run(self.run_id) / record.RECORD

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Decide from the host's facts what to measure. Raises Refused, a ValueError, if nothing may be measured."""
        self.facts = derive(facts)
        scope = scope_module.choose(self.facts, self.named, self.arguments["container"])
        if not scope.gpus:
            reasons = [f"{one['subject']}: {one['reason']}" for one in scope.not_measured]
            self.nothing_to_do = "; ".join(reasons) or "no NVIDIA GPU on this host"
            return
        scope_module.require_safe(self.facts, self.arguments["despite"])
        self.devices = [gpu["bdf"] for gpu in scope.gpus]
        self.expected = of_pairs(scope.gpus, self.facts)
        self.not_measured = scope.not_measured
        self.with_pairs = self._with_pairs()

    def _with_pairs(self) -> bool:
        if len(self.devices) < 2:
            return False
        reason = scope_module.pairs_risk(self.expected, self.arguments["despite"]) if self.arguments["pairs"] else (
            "not requested (gpuhost_bandwidth_pairs)")
        if reason:
            self.not_measured = [*self.not_measured, {"subject": "transfers between GPUs", "reason": reason}]
        return reason is None

    def module_arguments(self, steps: Sequence[str] = ()) -> dict[str, Any]:
        """The options of gpu_bandwidth; `steps` are the names of the steps to measure, by default all."""
        given = {name: self.arguments[name] for name in _OPTIONAL if self.arguments[name]}
        return {**{name: self.arguments[name] for name in _FORWARDED}, **given, "devices": self.devices,
                "pairs": self.with_pairs, "run_id": self.run_id, **({"steps": list(steps)} if steps else {})}

    def take(self, answer: Mapping[str, Any]) -> list[str]:
        """Make the record from the module's answer; return the names of the steps to measure again."""
        self.answer = answer
        self.record = self._make(answer, self.expected)
        return [] if self.record["stopped"] else again.slow_names(self.record)

    def take_again(self, second: Mapping[str, Any]) -> None:
        """Merge the second measurement of slow steps: only what is slow twice counts as slow."""
        first = self.record
        merged = again.merge(self.answer, second, again.slow_names(first))
        self.record = again.tell(self._make(merged, self.expected), first)

    def _make(self, answer: Mapping[str, Any], expected: Mapping[tuple[str, str], Pair]) -> dict[str, Any]:
        return record.make_record(answer, self.facts, expected, head=self._head(), not_measured=self.not_measured,
                                  percent=self.arguments["slow_below"])

    def keep(self) -> list[str]:
        """Write the record and the evidence for checks; return the reasons for which the task fails."""
        self._write()
        add_measured(self.folder.path, "bandwidth", self.run_id, self.record["measured_at"], self.record["boot_id"],
                     record.entries(self.record))
        return record.harm(self.record)

    def lost(self, message: str) -> None:
        """Record that the connection to the host was lost during the measurement."""
        container = self.arguments["container"]
        nothing = {"where": place_of(container), "tool": self.arguments["tool"], "sizes": [], "gpus": [], "pairs": [],
                   "not_measured": []}
        stopped = f"the connection to the host was lost during the measurement: {one_line(message)}"
        self.record = self._make({**(self.answer or nothing), "stopped": stopped}, self.expected)
        self._write()

    def _head(self) -> dict[str, Any]:
        return {"host": self.host, "run_id": self.run_id, "boot_id": value(self.facts["identity"]["boot_id"]),
                "measured_at": self.facts["collected_at"],
                "driver_version": value(self.facts["nvidia"]["driver_version"])}

    def _write(self) -> None:
        host_folder.write_json(self.path, self.record)
        host_folder.write_json(self.folder.path / record.RECORD, self.record)

    def outcome(self) -> dict[str, Any]:
        """The part of the record that the task registers."""
        every = record.every(self.record)
        return {"summary": record.tally(self.record), "not_measured": self.record["not_measured"],
                "slow": [f"{record.name_of(one)}: {one['said']}" for one in every
                         if one["verdict"] == record.SLOW]}

    def lines(self) -> list[str]:
        """Lines for a terminal: the counts, then what is slow, wrong or left out."""
        counts = ", ".join(f"{number} {verdict.replace('_', ' ')}"
                           for verdict, number in record.tally(self.record).items())
        what = f"{count(len(self.record['gpus']), 'GPU')}, {count(len(self.record['pairs']), 'ordered pair')}"
        groups = len(self.record.get("concurrent", []))
        what += f", {count(groups, 'group')} of concurrent copies" if groups else ""
        notable = [f"{record.name_of(one)}: {one['verdict'].replace('_', ' ')}: {one['said']}"
                   for one in record.every(self.record) if one["verdict"] != record.HEALTHY]
        more = [f"and {len(notable) - _SHOWN} more"] if len(notable) > _SHOWN else []
        left_out = [f"not measured: {one['subject']}: {one['reason']}" for one in self.record["not_measured"]]
        return [f"{self.host}: {what}: {counts or 'nothing measured'}",
                *(f"  {line}" for line in [*notable[:_SHOWN], *more, *left_out])]
