# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which GPUs of a host may be measured, and why the others are not.

A measurement is the heaviest load that a link gets, and a GPU that hangs under it can take its host down. What cannot
be determined is taken to be unsafe.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._derive.guests.ha import managed
from .._derive.reading import value
from .._render.text import count
from .expected import Pair

P2P_RISK, XID, HA = "p2p_risk", "xid", "ha"
# Refusals that a user may override after reading the reason.
DESPITE = (P2P_RISK, XID, HA)
_VARIABLE = "gpuhost_bandwidth_override"
# The variable that makes a play continue without the refused hosts.
_LEAVE_OUT = {P2P_RISK: "_pairs", XID: "", HA: ""}
_NVIDIA = "10de"


class Refused(ValueError):
    """Nothing on this host is measured; the message says why and what to do."""


class Scope(NamedTuple):
    """`gpus` are the facts of the GPUs to measure. `not_measured` is `[{subject, reason}]`."""

    gpus: list[dict[str, Any]]
    not_measured: list[dict[str, str]]


def choose(facts: Mapping[str, Any], devices: Sequence[str], container: str | None) -> Scope:
    """Select the GPUs that the driver serves and nothing else uses.

    `gpus` is empty if there is none. Refused: the user named a device that is not one of them.
    """
    gpus, left_out = [], []
    for gpu in (gpu for gpu in facts["gpus"] if gpu["vendor"] == _NVIDIA):
        reason = _why_not(gpu, container)
        if reason is None and (not devices or gpu["bdf"] in devices):
            gpus.append(gpu)
        elif gpu["bdf"] in devices:
            raise Refused(f"{gpu['bdf']} cannot be measured: {reason}")
        else:
            left_out.append({"subject": gpu["bdf"], "reason": reason or "not in the list of devices"})
    unknown = [bdf for bdf in devices if bdf not in {gpu["bdf"] for gpu in gpus}]
    if unknown:
        there = ", ".join(gpu["bdf"] for gpu in facts["gpus"]) or "none"
        raise Refused(f"{', '.join(unknown)}: no NVIDIA GPU of this host has this address. Its GPUs: {there}")
    return Scope(gpus, left_out)


def _why_not(gpu: Mapping[str, Any], container: str | None) -> str | None:
    if gpu["derived"]["left_alone"]:
        return gpu["derived"]["left_alone"]
    if gpu["driver"] != "nvidia":
        return f"its driver is {gpu['driver'] or 'none'}, and the nvidia driver is needed"
    if gpu["derived"]["unusable"]:
        return f"it is not usable: it is {gpu['derived']['unusable'].partition(';')[0]}"
    if gpu["virtual_functions"]:
        return "it has virtual functions, whose guests share its link"
    # The facts do not show which GPUs Docker and Podman containers have: the driver's library inside them does.
    if container is not None and ":" not in container and container not in gpu["containers"]:
        return f"container {container} does not have it"
    return None


def require_safe(facts: Mapping[str, Any], despite: Sequence[str]) -> None:
    """Raise Refused if the driver or the host must not be put under load.

    A reason without a name in DESPITE cannot be overridden: the state of the host has to change first.
    """
    hung = facts["nvidia"]["hung"]
    if hung["status"] != "ok":
        raise Refused("whether a GPU hung since boot is not known: /run/gpuhost/hung.json: "
                      f"{hung['status'].replace('_', ' ')}")
    gone = [gpu["bdf"] for gpu in facts["gpus"] if gpu["vendor"] == _NVIDIA and gpu["state"] == "gone"]
    for reason in (facts["derived"]["container"], facts["derived"]["hung"], facts["derived"]["library_mismatch"],
                   gone and f"{', '.join(gone)} reads all ones: any call of the driver may hang"):
        if reason:
            raise Refused(reason)
    for name, reason in ((XID, _hardware_errors(facts)), (HA, _kept_guests(facts))):
        if reason and name not in despite:
            raise Refused(f"{reason}. {_opened_by(name)}")


def pairs_risk(pairs: Mapping[tuple[str, str], Pair], despite: Sequence[str]) -> str | None:
    """Why none of these GPUs may access another one; None if they may."""
    if P2P_RISK in despite:
        return None
    at_risk = [pair for pair in pairs.values() if pair.at_risk]
    if at_risk:
        ports = sorted({bdf for pair in at_risk for bdf in pair.redirect})
        return (f"the IOMMU translates and {', '.join(ports)} redirect{'s' if len(ports) == 1 else ''} (check "
                f"iommu_acs): transfers between GPUs may hang the host. {_opened_by(P2P_RISK)}")
    if any(pair.at_risk is None for pair in pairs.values()):
        return ("whether the IOMMU translates and a port redirects is not known (check iommu_acs); if so, transfers "
                f"between GPUs may hang the host. {_opened_by(P2P_RISK)}")
    return None


def _opened_by(name: str) -> str:
    return (f"To measure anyway: {_VARIABLE}: [{name}]; to skip it: gpuhost_bandwidth{_LEAVE_OUT[name]}: "
            "false")


def _hardware_errors(facts: Mapping[str, Any]) -> str | None:
    status = facts["nvidia"]["xids"]["status"]
    if status != "ok":
        return f"whether the driver reported an error of a GPU since boot is not known (kernel log: {status})"
    errors = [f"{device['bdf']}: {sentence}" for device in facts["derived"]["xids"] for sentence in device["broken"]]
    if not errors:
        return None
    return f"the driver reported errors of a GPU since boot (check nvidia_xid): {'; '.join(errors)}"


def _kept_guests(facts: Mapping[str, Any]) -> str | None:
    """A host that hangs is fenced, and its guests start on another node, which may not have their GPUs."""
    guests = facts["guests"]
    for reading, what in ((guests["status"], "guests"), (guests["ha"], "guests managed by HA")):
        if reading["status"] not in ("ok", "absent"):
            return f"whether this node has {what} cannot be told ({reading['status'].replace('_', ' ')})"
    subjects = [f"{kind}:{guest['id']}" for kind, key in (("lxc", "containers"), ("vm", "vms"))
                for guest in value(guests[key]) or []]
    kept = [subject for subject in subjects if managed(facts, subject)]
    if not kept:
        return None
    return (f"Proxmox VE HA manages {count(len(kept), 'guest')} of this node ({', '.join(kept)}): if a GPU hangs the "
            "host, the cluster fences it")
