# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.play_hosts import problem

KNOWN = {"all": ["h1", "h2"], "pve": ["h1"], "h2": ["h2"], "web": [], "h1,h2": ["h1", "h2"], "localhost": ["localhost"]}


def matching(patterns):
    return [name for pattern in patterns for name in KNOWN[pattern]]


@pytest.mark.parametrize("patterns, limit, sources, hosts, message", [
    (["all"], None, ["hosts.yml"], 2, None),
    (["all"], "h2", ["hosts.yml"], 2, None),
    (["all"], "h1,h2", [], 2, None),
    (["localhost"], None, [], 0, None),
    (["pve"], "@hosts.retry", [], 2, None),
    (["web"], None, ["hosts.yml"], 2, "no hosts: the inventory hosts.yml does not exist"),
    (["web"], None, ["h1,h2,"], 2, "no hosts: 'web' matches none of the 2 of the inventory; see gpuhost_hosts and -i"),
    (["web"], None, ["/dev/null"], 0, "no hosts: the inventory /dev/null has none; give one with -i FILE"),
    (["web"], None, [], 0, "no hosts: the inventory (none given) has none; give one with -i FILE"),
    (["pve"], "h2", [], 2, "no hosts: --limit 'h2' leaves none of 'pve'; see gpuhost_hosts and -l"),
])
def test_why_a_play_has_no_hosts(patterns, limit, sources, hosts, message):
    assert problem(patterns, limit, sources, hosts, matching) == message
