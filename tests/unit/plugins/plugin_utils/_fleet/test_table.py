# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet import table
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import gate
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout as rollout_state

RUN = "20261129T183000Z-4f2a"


def rollout_table(folder, states, batches, every=False, **document):
    rollout = rollout_state.start(str(folder), RUN, list(states), check=False)
    rollout.document.update(batches=[{"hosts": hosts, "passed": passed} for hosts, passed in batches], **document)
    for host, (state, reasons, more) in states.items():
        if state != "waiting":
            rollout_state.note(str(folder), RUN, host, state, reasons=reasons, **more)
    return table.rollout_table(rollout, gate.decide(rollout, set(states)), every)


def test_who_has_which_state(tmp_path):
    assert rollout_table(tmp_path, {
        "pve1": ("changed", [], {"changed": {"sysctl:vm.swappiness": "10", "sysctl:vm.dirty_ratio": "5"}}),
        "pve2": ("refused", ["the cluster has no quorum", "task vzdump is running"], {}),
        "pve10": ("waiting", [], {}),
    }, [(["pve1"], True), (["pve2"], False)], stopped="The rollout stops") == [
        "", f"Rollout {RUN}: stopped after batch 2",
        "host   batch  state",
        "pve1   1      changed  2 changes",
        "pve2   2      refused  the cluster has no quorum and 1 more",
        "pve10  -      waiting",
        "1 changed, 1 refused, 1 waiting"]


@pytest.mark.parametrize(("batches", "message"), [
    ([(["a"], True), (["b"], True)], "completed all 2 hosts"),
    ([(["a"], True)], "ended after batch 1"),
    ([(["a"], None)], "ended in batch 1, before its gate"),
])
def testhow_it_ended(tmp_path, batches, message):
    states = {"a": ("unchanged", [], {}), "b": ("unchanged", [], {}) if len(batches) > 1 else ("waiting", [], {})}
    assert rollout_table(tmp_path, states, batches)[1] == f"Rollout {RUN}: {message}"


def test_of_many_hosts_those_that_need_somebody(tmp_path):
    states = {f"h{number:02}": ("unchanged", [], {}) for number in range(50)} | {"odd": ("failed", ["why\x1b[2J"], {})}
    batches = [(list(states), False)]
    assert [line.split()[0] for line in rollout_table(tmp_path, states, batches)[2:]] == ["host", "odd", "50"]
    assert r"failed  why\x1b[2J" in rollout_table(tmp_path, states, batches)[3]
    assert len(rollout_table(tmp_path, states, batches, every=True)) == 3 + 51 + 1


def summary(unknown=0, **failing):
    things = {"P0": 0, "P1": 0, "P2": 0, "info": 0, **failing}
    return {"things": things, "places": {name: number * 8 for name, number in things.items()},
            "verdicts": {"unknown": unknown}}


def test_the_audit_of_a_fleet_worst_first():
    assert table.audit_table({
        "calm": summary(), "some": summary(P1=1, P2=12), "broken": summary(1, P0=2),
        "dead": "unreachable: timed out"}) == [
        "", "host    P0  P1  P2  info  places  unknown",
        "dead    -   -   -   -     -       -        unreachable: timed out",
        "broken  2   0   0   0     16      1",
        "some    0   1   12  0     104     0",
        "calm    0   0   0   0     0       0",
        "4 hosts, 1 with nothing to improve, 1 without a result"]


def test_a_line_has_an_end():
    reason = "unreachable: Failed to connect to the host via ssh: " + " ".join(f"word{number}" for number in range(60))
    long = table.audit_table({"a": reason, "b": summary()})
    assert max(map(len, long)) <= 100
    # It goes on below its line; no word is lost.
    assert " ".join(" ".join(long[2:-2]).split()) == f"a - - - - - - {reason}"
