# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run was made under the conditions of the first."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.conditions import (
    may_discard,
    newcomer,
    rebooted,
)


def run(users=(), boot="one"):
    listed = None if users is None else [
        {"pid": pid, "command": command, "container": container} for pid, command, container in users]
    return {"conditions": {"before": {"users": listed, "boot_id": boot}, "after": {}}}


@pytest.mark.parametrize(("now", "first", "message"), [
    ([(7, "vllm", "lxc:101")], [(5, "vllm", "lxc:101")], None),       # restarted
    ([], [(5, "vllm", None)], None),
    ([(5, "vllm", None), (6, "python3", None)], [(5, "vllm", None)], "since the first run python3 started to use a "
                                                                     "GPU"),
    ([(5, "vllm", None), (6, "vllm", None)], [(5, "vllm", None)], "since the first run vllm started to use a GPU"),
    ([(5, "vllm", "lxc:102")], [(5, "vllm", "lxc:101")], "since the first run vllm in lxc:102 started to use a GPU"),
    (None, [(5, "vllm", None)], None),
    ([(5, "vllm", None)], None, None),
])
def test_somebody_new(now, first, message):
    assert newcomer(run(now), run(first), False) == message
    assert newcomer(run(now), run(first), True) is None     # the user said who may, and that is judged elsewhere


@pytest.mark.parametrize(("now", "first", "anew"), [
    ("one", "one", False), ("two", "one", True), (None, "one", False), ("one", None, False)])
def test_another_boot(now, first, anew):
    assert rebooted(run(boot=now), run(boot=first)) is anew


def test_conditions_that_were_not_read():
    assert newcomer({"conditions": None}, {"conditions": None}, False) is None
    assert not rebooted({"conditions": None}, run())


@pytest.mark.parametrize(("runs", "most"), [(2, 3), (12, 3), (16, 4), (96, 24)])
def test_how_many_may_not_count(runs, most):
    assert may_discard(runs) == most
