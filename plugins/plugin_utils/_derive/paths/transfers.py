# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""`derived.p2p`: the outcome of transfers between the GPUs of a host, if there can be any."""
from __future__ import annotations

from typing import Any

from ..gpus.owners import serves
from ..reading import known, lost
from .p2p import peer_to_peer
from .peer_ability import Ability, ability

_TOO_FEW = "fewer than two active GPUs with peer-to-peer support on the nvidia driver of this host"
_NVLINK = "the GPUs are connected by NVLink: transfers between them are not affected by IOMMU or ACS"


def transfers(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of peer_to_peer() for the GPUs that reach others, with `outcome`, `perhaps` and `none` added.

    `outcome` is a reading of the state. If it is not known whether GPUs reach each other, and an obstacle would matter
    if they do, `why` is the reason and says what to run.
    """
    able, perhaps, reason = of_ability(facts, gpus)
    found = peer_to_peer(able, facts)
    state, every = known(found["state"]), found
    if len(perhaps) > max(len(able), 1) and found["state"] in ("direct", None) and not found["nvlink"]:
        every = peer_to_peer(perhaps, facts)
        state = known(every["state"]) if every["state"] in ("direct", None) else lost("unknown", reason)
    return {**found, "outcome": state, "perhaps": len(perhaps), "none": _none(found, every, reason)}


def of_ability(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> tuple[list[dict], list[dict], str | None]:
    """The GPUs that reach others, those that do or may, and the first reason why an NVIDIA GPU does not."""
    answers: list[tuple[dict, Ability]] = [(gpu, ability(gpu, facts["nvidia"], serves(gpu))) for gpu in gpus]
    reasons = [answer.reason for _gpu, answer in answers if answer.reason]
    return ([gpu for gpu, answer in answers if answer.able],
            [gpu for gpu, answer in answers if answer.able is not False], next(iter(reasons), None))


def _none(found: dict[str, Any], every: dict[str, Any], reason: str | None) -> str | None:
    """Why transfers between GPUs are not checked; None if they are."""
    if found["nvlink"] and found["wanted"]:
        return _NVLINK
    return None if every["wanted"] else reason or _TOO_FEW
