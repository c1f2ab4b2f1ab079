# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout.batches import look_again, sizes


@pytest.mark.parametrize(("asked", "hosts", "expected"), [
    ([1, 2, "5%", "10%"], 200, [1, 2, 10, 20]),
    ([1, 2, "5%", "10%"], 1000, [1, 2, 25, 25]),        # never above 25
    ([1, 2, "5%", "10%"], 8, [1, 2, 1, 1]),             # a percentage is one host at least
    ([1, 2, "5%", "10%"], 0, [1, 2, 1, 1]),
    (100, 300, [25]), ("100%", 10, [10]), ("5", 10, [5]),
    ("1,2,50%", 10, [1, 2, 5]), ('[1, "20%"]', 10, [1, 2]),
])
def test_sizes(asked, hosts, expected):
    assert sizes(asked, hosts) == expected


@pytest.mark.parametrize("asked", [0, -1, "0%", "many", [], "", [1, "x"], True, None, "[1, 2", 1.5])
def test_what_would_be_all_hosts_at_once_is_an_error(asked):
    with pytest.raises(ValueError, match="gpuhost_serial"):
        sizes(asked, 10)


def test_every_host_so_far_is_looked_at_again():
    assert look_again([["a"], ["b", "c"], ["d"]], {"a", "b", "d"}, 100, {}) == ["d", "a", "b"]


def test_with_many_hosts_the_newest_the_first_and_those_not_seen_for_longest():
    batches = [["a"], ["b"], ["c0", "c1"], ["d0", "d1"], ["e0", "e1"]]
    everybody = {host for batch in batches for host in batch}
    assert look_again(batches, everybody, 6, {"c0": 4, "c1": 3, "d0": 4}) == ["e0", "e1", "a", "b", "d1", "c1"]


def test_never_more_than_asked_for():
    assert look_again([["a", "b", "c"]], {"a", "b", "c"}, 2, {}) == ["a", "b"]
    assert look_again([["a"]], {"a"}, 0, {}) == []
