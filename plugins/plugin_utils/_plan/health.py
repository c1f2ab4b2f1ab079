# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The health check of a tune: what must be as healthy afterwards as before.

A trigger is a regression of a device: the run is rolled back. A note is another change during the run (a guest stopped,
a major moved): it is only shown, because it may be a coincidence.
"""
from __future__ import annotations

from typing import Any

from .._checks.findings import value
from .._derive.faults.xid import is_harm


def observe(facts: dict[str, Any]) -> dict[str, Any]:
    """The observed state as plain JSON, for before.json."""
    nvidia, guests = facts["nvidia"], facts["guests"]
    gpus, ports = value(facts["gpus"], []), value(facts["ports"], [])
    return {
        "devices": {device["bdf"]: _health(device) for device in [*gpus, *ports]},
        "paths": {gpu["bdf"]: value(gpu["path"], []) for gpu in gpus},
        "xids": sorted({(xid["bdf"], xid["xid"]) for xid in value(nvidia["xids"], []) if is_harm(xid)}),
        "guests": sorted(f"{kind}:{guest['id']}" for kind, key in (("lxc", "containers"), ("vm", "vms"))
                         for guest in value(guests[key], []) if value(guest["running"])),
        "users": {gpu["bdf"]: sorted(f"{user['command']} ({user['pid']})" for user in value(gpu["users"], []))
                  for gpu in gpus},
        "nodes": {node["path"]: f"{node['major']}:{node['minor']}" for node in value(nvidia["nodes"], [])},
        "majors": sorted({f"{major['name']} {major['major']}" for major in value(nvidia["majors"], [])}),
    }


def _health(device: dict[str, Any]) -> dict[str, Any]:
    link = (value(device["pcie"]) or {}).get("link") or {}
    errors = value(device["aer"]) or {}
    return {"state": value(device["state"]), "driver": value(device["driver"]), "width": link.get("width"),
            "fatal": errors.get("fatal"), "nonfatal": errors.get("nonfatal")}


def triggers(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Regressions: `[{device, what, gpus}]`, with the GPUs at or below the device."""
    found = [(bdf, _harm(was, after["devices"].get(bdf))) for bdf, was in before["devices"].items()]
    known = {tuple(xid) for xid in before["xids"]}
    found += [(bdf, f"the driver reported Xid {xid}") for bdf, xid in map(tuple, after["xids"])
              if (bdf, xid) not in known]
    return [{"device": bdf, "what": harm, "gpus": _gpus_at(bdf, before["paths"])} for bdf, harm in found if harm]


def _gpus_at(device: str, paths: dict[str, list[str]]) -> list[str]:
    # An Xid line names a GPU without its function.
    return [gpu for gpu, path in paths.items() if device in path or gpu.rpartition(".")[0] == device.rpartition(".")[0]
            or gpu.rpartition(".")[0] == device]


def _harm(was: dict[str, Any], now: dict[str, Any] | None) -> str | None:
    if now is None:
        return "the device is gone"
    if now["state"] == "gone" and was["state"] != "gone":
        return "the device reads all ones"
    if was["driver"] and now["driver"] != was["driver"]:
        return f"its driver was {was['driver']} and is {now['driver'] or 'none'}"
    if (now["width"] or 0) < (was["width"] or 0) and now["state"] == "ok":
        return f"its link had {was['width']} lanes and has {now['width'] or 0}"
    for severity in ("fatal", "nonfatal"):
        if (now[severity] or 0) > (was[severity] or 0):
            return f"its {severity} AER count rose from {was[severity] or 0} to {now[severity]}"
    return None


def notes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Other differences, one sentence each."""
    message = [f"{guest} stopped running" for guest in before["guests"] if guest not in after["guests"]]
    message += [f"{guest} started" for guest in after["guests"] if guest not in before["guests"]]
    for bdf, users in before["users"].items():
        now = after["users"].get(bdf, [])
        message += [f"{user} no longer uses {bdf}" for user in users if user not in now]
    return message + moved(before, after)


def moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Device nodes and majors that changed, one sentence each."""
    message = [f"device node {path} was {numbers} and is {after['nodes'].get(path, 'gone')}"
               for path, numbers in before["nodes"].items() if after["nodes"].get(path) != numbers]
    return message + [f"character device {major} is gone" for major in before["majors"] if major not in after["majors"]]
