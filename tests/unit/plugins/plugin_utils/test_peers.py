# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import neutral_facts as neutral
import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._peers import read_peers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._record import HostFolder, write_json
from neutral_facts import ok

CLUSTER = ["pve1", "pve2"]


def node(name, nodes=None, collected_at="2026-11-29T18:30:00Z"):
    facts = neutral.epyc()
    facts["collected_at"] = collected_at
    facts["guests"].update({"node": name, "cluster_nodes": nodes or CLUSTER,
                            "ha": ok([{"guest": "lxc:101", "state": "started", "nodes": None, "strict": False}])})
    return facts


@pytest.fixture
def folder(tmp_path):
    return HostFolder(str(tmp_path), "first")


def record(folder, host, facts):
    write_json(folder.path.parent / host / "audit.json", {"facts": facts})


def peers(folder, facts=None):
    return {name: peer["collected_at"] for name, peer in read_peers(folder, facts or node("pve1")).items()}


def test_the_other_nodes_of_the_cluster(folder):
    record(folder, "first", node("pve1"))
    record(folder, "second", node("pve2"))
    record(folder, "stranger", node("pve2", nodes=["pve2", "pve9"]))
    record(folder, "third", node("pve3", nodes=CLUSTER))
    assert peers(folder) == {"pve2": "2026-11-29T18:30:00Z"}


def test_of_two_audits_of_one_node_the_newer_counts(folder):
    record(folder, "a", node("pve2", collected_at="2026-11-29T19:00:00Z"))
    record(folder, "b", node("pve2"))
    assert peers(folder) == {"pve2": "2026-11-29T19:00:00Z"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"facts": null}', '{"facts": {"guests": {}}}', '{"facts": []}'])
def test_files_that_are_none_of_ours(folder, text):
    path = folder.path.parent / "other" / "audit.json"
    path.parent.mkdir()
    path.write_text(text)
    assert peers(folder) == {}


def test_nobody_looks_where_no_guest_is_moved(folder):
    record(folder, "second", node("pve2"))
    unmanaged = node("pve1")
    unmanaged["guests"]["ha"] = ok([])
    assert peers(folder, unmanaged) == {}
    assert peers(folder, neutral.workstation()) == {}
