# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The gate of a rollout: the outcome of every host so far, and whether the next batch may start."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._render.text import count
from . import rollout as rollout_state

SHOWN = 10      # hosts in a message; all of them are in the record


def decide(rollout: rollout_state.Rollout, alive: set[str]) -> dict[str, dict[str, Any]]:
    """The state of every host: the recorded one, corrected by whether Ansible still counts the host as alive.

    Ansible drops hosts that failed or are unreachable, and a record cannot tell what happened after it was written.
    """
    return {host: _corrected(entry, host in alive) for host, entry in rollout.states().items()}


def _corrected(entry: dict[str, Any], alive: bool) -> dict[str, Any]:
    state, reasons = entry["state"], entry["reasons"]
    if state == rollout_state.UNGATED and not alive:
        state, reasons = rollout_state.FAILED, ["it failed before it was read"]
    elif state == rollout_state.CHANGING:
        reasons = ["it was not audited after its changes" if alive else "the connection was lost during changes"]
    elif state in rollout_state.DONE and not alive:
        state, reasons = rollout_state.FAILED, ["a task failed after its changes"]
    return {**entry, "state": state, "reasons": reasons}


def bad(states: Mapping[str, dict[str, Any]], check: bool = False) -> list[str]:
    """The hosts that count against the limit. In check mode a refusal is a result, not a failure."""
    allowed = rollout_state.FINE | ({rollout_state.REFUSED} if check else set())
    return [host for host, entry in states.items() if entry["state"] not in allowed]


def verdict(rollout: rollout_state.Rollout, states: Mapping[str, dict[str, Any]], most: int) -> str | None:
    """Why the rollout stops here; None if the next batch may start."""
    found = bad(states, rollout.document["check"])
    if len(found) <= most:
        return None
    shown = [f"{host}: {describe(states[host])}" for host in found[:SHOWN]]
    if len(found) > SHOWN:
        shown.append(f"and {len(found) - SHOWN} more")
    left = len(rollout.document["hosts"]) - len(rollout.reached)
    return "\n".join([
        f"The rollout stops after batch {len(rollout.batches)}: {count(len(found), 'host')} failed, "
        f"gpuhost_max_failed allows {most}; {count(left, 'host')} not touched.",
        *shown, "Fix these and run the same command again: hosts that are already right are not changed."])


def record(rollout: rollout_state.Rollout, states: Mapping[str, dict[str, Any]], stopped: str | None) -> None:
    """Record the decision of the gate, for the summary and for the next batch."""
    known = rollout.states()
    for host, entry in states.items():
        if entry != known[host]:
            rollout.note(host, entry["state"], entry["reasons"])
    rollout.document["batches"][-1]["passed"] = stopped is None
    if stopped or rollout.is_last:
        rollout.document.update(stopped=stopped, ended_at=rollout_state.now())
    rollout.save()


def require_passed(rollout: rollout_state.Rollout) -> None:
    """ValueError unless the gate after the last batch let the rollout continue.

    A batch that lost all its hosts has no gate. Ansible then ends the play, as after a gate that failed, but it counts
    a host twice that failed and then became unreachable, and may continue.
    """
    if not rollout.document["batches"][-1]["passed"]:
        raise ValueError(rollout.document["stopped"]
                         or f"The rollout stops: no host of batch {len(rollout.batches)} is left.")


def describe(entry: Mapping[str, Any]) -> str:
    """`refused: the cluster is not quorate`."""
    state = entry["state"].replace("_", " ")
    more = len(entry["reasons"]) - 1
    return state + (f": {entry['reasons'][0]}" if entry["reasons"] else "") + (f" and {more} more" if more > 0 else "")
