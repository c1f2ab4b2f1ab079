# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which running guests of a proposal can be moved at once, and that a tune takes placement.json for it."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables.guest_affinity import is_at_memory
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.desired_state import desired_values
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.report import section

from placed_guests import SECOND, host, lxc, vm


@pytest.fixture(scope="module")
def facts():
    """GPUs 0 to 3 are at node 0, 4 to 7 at node 1; 200 and 102 alone have their memory at their GPU."""
    return host(vm(200, 8, 64, gpus=(0,), held=(64, 0)), vm(201, 8, 64, gpus=(4,), held=(64, 0)),
                lxc(101, 8, 16, gpus=(1,), held=(16, 0)), lxc(102, 8, 16, SECOND, gpus=(2,), held=(16, 0)),
                vm(203, 8, 64, gpus=(3,), running=False))


@pytest.fixture(scope="module")
def made(facts):
    return placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})


def test_guests_whose_memory_is_there_and_that_nobody_takes_back(made):
    changed = {guest["subject"]: guest["proposed"]["cpus"] for guest in made["guests"] if guest["changed"]}
    assert {"vm:200", "vm:201", "lxc:101", "lxc:102"} <= set(changed)
    assert made["values"] == {"guest_affinity": {name: changed[name] for name in ("lxc:102", "vm:200")}}


def test_the_file_is_one_of_values_and_the_report_says_so(made, facts):
    assert desired_values(made) == made["values"]
    assert any(note.startswith("lxc:102, vm:200 can be moved at once") for note in section(made, facts).notes)


@pytest.mark.parametrize(("memory", "nodes", "there"), [
    ({0: 8}, [0], True), ({0: 8}, [1], False), ({0: 8}, [0, 1], False), ({0: 9, 1: 1}, [0, 1], False),
    ({0: 5, 1: 5}, [0], False), ({0: 5, 1: 5}, [0, 1], True), ({0: 3, 1: 1}, [0, 1], True),
    ({0: 4, 1: 3, 2: 3}, [0], False), ({0: 4, 1: 3, 2: 3}, [1, 2], True), ({0: 4, 1: 3, 2: 3}, [], False),
])
def test_most_of_the_memory(memory, nodes, there):
    assert is_at_memory(memory, nodes) is there
