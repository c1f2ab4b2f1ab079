# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""gpuhost-boot: apply the persisted values at boot with the setters of this collection, and report the outcome.

systemd starts it once at boot, and again when a driver is bound to a GPU. A value that is already set is not written.
"""
from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

from .._change.moment import BOOT_ID, utc_now
from .._change.setter import set_values
from .._change.tunable import REFUSED, Kind
from .._host.host import Host
from .._host.reading import ABSENT
from .._kinds.kmod import ModuleKind
from .._kinds.maxreadreq import MaxReadRequestKind
from .._kinds.sysfs import SysfsKind
from .._one_file.version import VERSION
from .._pci.sysfs import read_driver
from .outcome import describe_error, merge, read_outcome, write_outcome
from .plan import BadPlan, Values, read_plan

NAME = "gpuhost-boot"
FAILED = 1
_MAKE: dict[str, type[Kind]] = {"sysfs": SysfsKind, "module": ModuleKind, "pcie_maxreadreq": MaxReadRequestKind}
_PATIENCE = 10.0            # seconds to wait for a missing file or device to appear
_PAUSE = 1.0
_LOCK_TIMEOUT = 60.0


class Passed(NamedTuple):
    """The outcome of the plan so far."""

    changes: list[dict[str, Any]]
    absent: set[str]            # addresses that this host does not have, or not yet

    def failed(self) -> list[dict[str, Any]]:
        return [change for change in self.changes
                if change["outcome"] == REFUSED and change["address"] not in self.absent]

    def followed_by(self, later: Passed) -> Passed:
        """Merge with a later pass over some or all of the values."""
        seen = {change["address"] for change in later.changes}
        return Passed([*(change for change in self.changes if change["address"] not in seen),
                       *merge(self.changes, later.changes)], (self.absent - seen) | later.absent)


def main(words: list[str] | None = None) -> int:
    """Run the command; return the exit status: 1 if a value that exists on this host could not be set."""
    parser = argparse.ArgumentParser(prog=NAME, description="Set what gpuhost.tuning made last on this host.")
    parser.add_argument("--sysroot", default="/", metavar="FOLDER", help="a folder that mirrors a machine")
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}")
    host = Host(parser.parse_args(words).sysroot)
    started, boot_id = utc_now(), host.read(BOOT_ID).value or ""
    run_id = f"boot-{boot_id[:8]}"
    earlier = read_outcome(host).value
    try:
        passed, error = settle(host, read_plan(host), run_id, _PATIENCE if host.live else 0), None
    except BadPlan as problem:
        passed, error = Passed([], set()), str(problem)
    document = {"boot_id": boot_id, "run_id": run_id, "started_at": started, "finished_at": utc_now(), "error": error,
                "changes": merge(_of_this_boot(earlier, boot_id), passed.changes)}
    try:
        write_outcome(host, document)
    except OSError as problem:
        error = error or describe_error(problem)
    _tell(passed, error)
    return FAILED if error or passed.failed() else 0


def settle(host: Host, values: Values, run_id: str, patience: float) -> Passed:
    """Repeat the plan until nothing is missing or `patience` seconds have passed, and no driver was bound meanwhile.

    systemd does not start the service again for a driver that is bound while it runs.
    """
    end = time.monotonic() + patience
    passed, due = Passed([], set()), values
    while True:
        drivers = _drivers(host, values)
        passed = passed.followed_by(go_over(host, due, run_id))
        if drivers != _drivers(host, values):
            due = values
        elif passed.absent and time.monotonic() < end:
            due = {kind: named for kind, named in values.items() if any(f"{kind}:{name}" in passed.absent
                                                                        for name in named)}
        else:
            return passed
        time.sleep(_PAUSE)


def go_over(host: Host, values: Values, run_id: str) -> Passed:
    """Make one pass over the plan, kind by kind. Raises BadPlan for a value that no setter accepts."""
    passed = Passed([], set())
    for kind, named in values.items():
        try:
            done = set_values(_MAKE[kind](host), host, named, [], run_id=run_id, lock_timeout=_LOCK_TIMEOUT)
        except ValueError as problem:
            raise BadPlan(str(problem)) from None
        passed.changes.extend(done["changes"])
        passed.absent.update(one["address"] for one in done["readings"] if one["status"] == ABSENT)
    return passed


def _of_this_boot(earlier: dict[str, Any] | None, boot_id: str) -> list[dict[str, Any]]:
    """Return the changes that an earlier start of the service made in this boot."""
    return earlier["changes"] if earlier and earlier.get("boot_id") == boot_id else []


def _drivers(host: Host, values: Values) -> dict[str, str | None]:
    return {bdf: read_driver(host, bdf) for bdf in values.get("pcie_maxreadreq", {})}


def _tell(passed: Passed, error: str | None) -> None:
    """Print the outcome to the service's log."""
    for change in passed.changes:
        reason = f": {change['reason']}" if change["reason"] else ""
        sys.stdout.write(f"{change['address']}: {change['outcome']}: {change['before']} -> {change['after']}{reason}\n")
    if error:
        sys.stderr.write(f"{error}\n")
