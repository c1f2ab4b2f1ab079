# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import gate
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout as rollout_state

RUN = "20261129T183000Z-4f2a"
HOSTS = ["a", "b", "c", "d"]


@pytest.fixture
def rollout(tmp_path):
    made = rollout_state.start(str(tmp_path), RUN, HOSTS, check=False)
    made.document["batches"] = [{"hosts": ["a"], "passed": True}, {"hosts": ["b", "c"], "passed": None}]
    made.save()
    made.note("a", rollout_state.CHANGED, [])
    return made


def states(rollout, alive=tuple(HOSTS), **noted):
    for host, state in noted.items():
        rollout.note(host, state, [])
    return gate.decide(rollout, set(alive))


def test_all_fine(rollout):
    seen = states(rollout, b="changed", c="unchanged")
    assert gate.bad(seen) == []
    assert gate.verdict(rollout, seen, 0) is None


@pytest.mark.parametrize("state", ["refused", "harmed", "restored", "failed", "unreachable", "drifted", "changing"])
def test_a_host_that_counts(rollout, state):
    seen = states(rollout, b="changed", c=state)
    assert gate.bad(seen) == ["c"]
    assert gate.verdict(rollout, seen, 1) is None
    assert gate.verdict(rollout, seen, 0).splitlines()[0] == (
        "The rollout stops after batch 2: 1 host failed, gpuhost_max_failed allows 0; 1 host not touched.")


def test_hosts_of_earlier_batches_count_too(rollout):
    assert gate.bad(states(rollout, a="drifted", b="changed", c="failed")) == ["a", "c"]


def test_a_host_about_which_nothing_is_known(rollout):
    assert states(rollout, b="changed")["c"]["state"] == "ungated"
    lost = states(rollout, alive=["a", "b", "d"], b="changed")["c"]
    assert gate.describe(lost) == "failed: it failed before it was read"


def test_a_host_that_was_lost_in_the_middle(rollout):
    lost = states(rollout, alive=["a", "b", "d"], b="changed", c="changing")["c"]
    assert gate.describe(lost) == "changing: the connection was lost during changes"


def test_a_host_that_ansible_dropped_is_not_fine(rollout):
    """A rescue clears a failure of Ansible's own count; what was dropped stays dropped."""
    dropped = states(rollout, alive=["a", "c", "d"], b="changed", c="changed")["b"]
    assert gate.describe(dropped) == "failed: a task failed after its changes"


def test_in_check_mode_a_refusal_is_a_result(rollout):
    rollout.document["check"] = True
    seen = states(rollout, b="refused", c="would_change")
    assert gate.verdict(rollout, seen, 0) is None
    assert gate.verdict(rollout, states(rollout, b="unreachable"), 0)


def test_the_record_of_the_gate(rollout):
    seen = states(rollout, alive=["a", "b", "d"], b="changed", c="changing")
    gate.record(rollout, seen, gate.verdict(rollout, seen, 0))
    again = rollout_state.load(rollout.folder)
    assert again.document["batches"][-1]["passed"] is False
    assert again.states()["c"]["reasons"] == ["the connection was lost during changes"]
    with pytest.raises(ValueError, match="The rollout stops after batch 2"):
        gate.require_passed(again)


def test_a_batch_without_a_gate_is_not_passed(rollout):
    with pytest.raises(ValueError, match="no host of batch 2 is left"):
        gate.require_passed(rollout)
    rollout.document["batches"][-1]["passed"] = True
    gate.require_passed(rollout)


def test_a_message_has_an_end(tmp_path):
    many = [f"h{number:02}" for number in range(30)]
    made = rollout_state.start(str(tmp_path), RUN, many, check=False)
    made.document["batches"] = [{"hosts": many, "passed": None}]
    lines = gate.verdict(made, gate.decide(made, set(many)), 3).splitlines()
    assert lines[1] == "h00: ungated"
    assert lines[11] == "and 20 more"
