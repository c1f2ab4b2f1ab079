# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The state of each persisted value: in effect, overruled, file edited or missing, tunable absent, failed."""
from __future__ import annotations

from typing import Any

from ...module_utils._boot_order.setting import agrees
from .reading import value

APPLIED, DEVICE_ABSENT = "applied", "device_absent"
OVERRULED, EDITED, MISSING, FAILED = "overruled", "edited", "missing", "failed"
STATES = (FAILED, OVERRULED, EDITED, MISSING, DEVICE_ABSENT, APPLIED)
FINE = frozenset((APPLIED, DEVICE_ABSENT))

LEDGER = "/var/lib/gpuhost/persisted.json"
SYSCTLS = "/etc/sysctl.d/90-gpuhost.conf"
UNIT = "gpuhost-boot.service"
_NOT_THERE = {"absent": "this host does not have it now", "gone": "the device reads all ones",
              "passed_through": "the device belongs to a guest", "asleep": "the device is suspended and was not woken"}


def persisted_lines(section: dict[str, Any]) -> list[dict[str, Any]]:
    """`[{address, state, wanted, found, reason, by}]`: one entry per value, then one per file that was modified.

    `section` is the facts' `persisted`. `by` is `path, line n` of what overrules the value, None if not known. The
    address of a file is its path. Empty if nothing is persisted.
    """
    ledger = section["ledger"]
    if ledger["status"] == "absent":
        return []
    if ledger["status"] != "ok":
        return [_file_line(LEDGER, FAILED, "it cannot be read" if ledger["status"] == "denied" else
                           "it is not what persist.yml wrote, so nothing is known of what is persisted")]
    lines = [_judge(item, section) for item in section["values"]]
    lines += [_of_file(file) for file in section["files"] if file["state"] != "intact"]
    if ledger["value"]["unfinished"]:
        lines.append(_file_line(LEDGER, FAILED, "a run of persist.yml was killed: run it again, it ends what began"))
    return lines


def older_version(section: dict[str, Any]) -> str | None:
    """A sentence if an older version of the collection wrote the files, else None."""
    ledger = value(section["ledger"])
    if ledger is None or _numbers(ledger["version"]) >= _numbers(ledger["collection"]):
        return None
    return (f"persisted by version {ledger['version']}, older than this collection ({ledger['collection']}): "
            "run persist.yml again to replace the files")


def persisted_values(section: dict[str, Any]) -> dict[str, Any]:
    """The persisted values by their addresses."""
    return {item["address"]: item["wanted"] for item in section["values"]}


def describe(line: dict[str, Any]) -> str:
    """`sysctl:vm.swappiness: overruled: wanted 10, found 60: /etc/sysctl.d/99-a.conf, line 2, sets it ...`."""
    found = "" if line["wanted"] is None else f": wanted {_shown(line['wanted'])}, found {_shown(line['found'])}"
    reason = f": {line['reason']}" if line["reason"] else ""
    return f"{line['address']}: {line['state']}{found}{reason}"


def _shown(wanted: Any) -> str:
    if isinstance(wanted, dict):
        return f"at least {wanted['at_least']}" if "at_least" in wanted else str(wanted)
    return "nothing" if wanted is None else str(wanted)


def _judge(item: dict[str, Any], section: dict[str, Any]) -> dict[str, Any]:
    found = value(item["now"])
    winner = next((one for one in item["competitors"] or () if one["wins"]), None)
    line = {"address": item["address"], "state": APPLIED, "wanted": item["wanted"], "found": found, "reason": None,
            "by": None}
    if found is not None and agrees(str(found), item["wanted"]):
        return line if winner is None else {
            **line, "state": OVERRULED, "by": _place(winner),
            "reason": f"it is in effect now, and at the next boot {_sets(winner)}"}
    state, reason, by = _why_not(item, section, winner)
    return {**line, "state": state, "reason": reason, "by": by}


def _why_not(item: dict[str, Any], section: dict[str, Any],
             winner: dict[str, Any] | None) -> tuple[str, str, str | None]:
    """State, reason and `by` of a value that is not in effect."""
    status = item["now"]["status"]
    if status in _NOT_THERE:
        return DEVICE_ABSENT, _NOT_THERE[status], None
    if status != "ok":
        return FAILED, f"it cannot be read: {status}", None
    kind = item["address"].partition(":")[0]
    lost = _lost_file(kind, section)
    if lost is not None:
        return lost
    if kind != "sysctl":
        own = _own_words(item, section)
        if own is not None:
            return FAILED, own, None
    if winner is not None:
        return OVERRULED, _sets(winner), _place(winner)
    if kind == "sysctl" and section["rebooted"] and value(item["now"]) == item["baseline"]:
        return FAILED, "it has the value of before: see journalctl -b -u systemd-sysctl", None
    if item["competitors"] is None:
        return OVERRULED, "somebody set it since: verify.yml looks for who", None
    return OVERRULED, "somebody set it since: a manual change, or a program that no file of the host names", None


def _lost_file(kind: str, section: dict[str, Any]) -> tuple[str, str, None] | None:
    for file in section["files"]:
        if file["state"] in (EDITED, MISSING) and (file["path"] == SYSCTLS) == (kind == "sysctl"):
            return file["state"], f"{file['path']} is {file['state']}", None
    return None


def _own_words(item: dict[str, Any], section: dict[str, Any]) -> str | None:
    """The message of gpuhost-boot if it could not set a value in this boot; None if it did or did not have to run."""
    boot = value(section["boot"])
    if boot is None or not section["this_boot"]:
        return f"{UNIT} has not run since boot: see systemctl status {UNIT}" if section["rebooted"] else None
    if boot["error"]:
        return f"{UNIT}: {boot['error']}"
    done = item["set"]
    if done is None:
        return f"{UNIT} has not come to it: see journalctl -b -u {UNIT}" if section["rebooted"] else None
    return f"{UNIT}: {done['reason']}" if done["outcome"] in ("refused", "reverted", "skipped") else None


def _sets(winner: dict[str, Any]) -> str:
    what = "sets it" if winner["value"] is None else f"sets {winner['value']}"
    return f"{_place(winner)}{', ' if winner['line'] else ' '}{what}: {winner['why']}"


def _place(winner: dict[str, Any]) -> str:
    return f"{winner['path']}, line {winner['line']}" if winner["line"] else winner["path"]


def _of_file(file: dict[str, Any]) -> dict[str, Any]:
    texts = {"edited": (EDITED, "somebody changed it since it was written"),
             "missing": (MISSING, "somebody removed it since it was written"),
             "unreadable": (FAILED, "it cannot be read")}
    return _file_line(file["path"], *texts[file["state"]])


def _file_line(path: str, state: str, reason: str) -> dict[str, Any]:
    return {"address": path, "state": state, "wanted": None, "found": None, "reason": reason, "by": None}


def _numbers(version: str) -> tuple[int, ...]:
    """`1.10.2` as (1, 10, 2); a pre-release suffix is ignored."""
    return tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdigit())
