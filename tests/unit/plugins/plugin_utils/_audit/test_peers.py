# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.peers import note_peer, read_peers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import HostFolder, write_json

import neutral_facts as neutral
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
    own = HostFolder(str(folder.path.parent), host)
    write_json(own.path / "audit.json", {"facts": facts})
    note_peer(own, facts)


def peers(folder, facts=None):
    return {name: peer["collected_at"] for name, peer in read_peers(folder, facts or node("pve1")).items()}


def test_the_other_nodes_of_the_cluster(folder):
    record(folder, "first", node("pve1"))
    record(folder, "second", node("pve2"))
    record(folder, "stranger", node("pve2", nodes=["pve2", "pve9"]))
    record(folder, "third", node("pve3", nodes=CLUSTER))
    assert peers(folder) == {"pve2": "2026-11-29T18:30:00Z"}


def test_what_is_asked_of_a_node_is_kept_as_it_was(folder):
    facts = node("pve2")
    record(folder, "second", facts)
    peer = read_peers(folder, node("pve1"))["pve2"]
    assert peer["gpus"] == [{"bdf": gpu["bdf"], "vendor": gpu["vendor"], "device": gpu["device"]}
                            for gpu in facts["gpus"]]
    assert peer["nvidia"] == {name: facts["nvidia"][name] for name in ("majors", "nodes", "driver_version")}


def test_of_two_audits_of_one_node_the_later_counts(folder):
    record(folder, "a", node("pve2"))
    record(folder, "b", node("pve2", collected_at="2026-11-29T19:00:00Z"))
    assert peers(folder) == {"pve2": "2026-11-29T19:00:00Z"}


def test_a_record_that_was_replaced_is_asked_itself(folder):
    record(folder, "second", node("pve2"))
    write_json(folder.path.parent / "second" / "audit.json",
               {"facts": node("pve2", collected_at="2026-11-29T20:00:00Z")})
    assert peers(folder) == {"pve2": "2026-11-29T20:00:00Z"}


@pytest.mark.parametrize("text", [
    None, "", "[]", "{}", '{"facts": null}', '{"facts": {"guests": {}}}', '{"facts": []}'])
def test_records_that_are_gone_or_none_of_ours(folder, text):
    record(folder, "second", node("pve2"))
    path = folder.path.parent / "second" / "audit.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    assert peers(folder) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"host": "../second"}', '{"host": "second", "of": [0, 0]}'])
def test_notes_that_are_none_of_ours(folder, text):
    record(folder, "second", node("pve2"))
    note, = folder.path.parent.glob(".clusters/*/*.json")
    note.write_text(text)
    assert peers(folder) == ({"pve2": "2026-11-29T18:30:00Z"} if "of" in text else {})


def test_a_host_that_has_become_another_node_is_no_peer(folder):
    record(folder, "second", node("pve2"))
    record(folder, "second", node("pve5", nodes=["pve4", "pve5"]))
    assert peers(folder) == {}


def test_what_a_node_is_called_names_no_file(folder):
    odd = ["../../../up", "pve1"]
    record(folder, "second", node("../../../up", nodes=odd))
    assert peers(folder, node("pve1", nodes=odd)) == {"../../../up": "2026-11-29T18:30:00Z"}
    assert sorted(path.name for path in folder.path.parent.iterdir()) == [".clusters", "second"]


def test_a_host_in_no_cluster_leaves_no_note(folder):
    record(folder, "alone", neutral.workstation())
    record(folder, "node", node("pve1", nodes=["pve1"]))
    assert not (folder.path.parent / ".clusters").exists()


def test_nobody_looks_where_no_guest_is_moved(folder):
    record(folder, "second", node("pve2"))
    unmanaged = node("pve1")
    unmanaged["guests"]["ha"] = ok([])
    assert peers(folder, unmanaged) == {}
    assert peers(folder, neutral.workstation()) == {}


def test_files_read_grow_with_the_cluster_not_with_the_fleet(folder, monkeypatch):
    """Twenty clusters of three: each audit reads two small files, and no audit.json of another host."""
    clusters = [[f"c{number}-{place}" for place in "abc"] for number in range(20)]
    for nodes in clusters:
        for name in nodes:
            record(folder, f"host-{name}", node(name, nodes=nodes))
    opened = []
    of_path = pathlib.Path.read_text

    def read_noted(path, *given, **more):
        opened.append(path)
        return of_path(path, *given, **more)

    monkeypatch.setattr(pathlib.Path, "read_text", read_noted)
    for nodes in clusters:
        for name in nodes:
            assert set(peers(folder, node(name, nodes=nodes))) == set(nodes) - {name}
    assert len(opened) == 20 * 3 * 2
    assert {path.name for path in opened} & {"audit.json"} == set()


def test_a_node_without_a_name_leaves_nothing(folder, tmp_path):
    record(folder, "first", node(None, nodes=CLUSTER))
    assert not (tmp_path / ".clusters").exists()
