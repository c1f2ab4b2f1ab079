# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sixty secrets in twenty places of one host, and what only looks like one."""
from __future__ import annotations

import io
import json
import tarfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.archive import make_archive
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.recorder import Recorder

from hosts.secretive import LOOK_ALIKES, SECRETS, secretive
from hosts.tree import Tree

ASKED = ["sysctl:net.ipv4.tcp_fastopen_key", "sysctl:net/ipv6/conf/eth0.100/stable_secret", "sysctl:vm.laptop_mode"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    tree = secretive(Tree(tmp_path_factory.mktemp("secretive")))
    tree.file("/proc/sys/net/ipv4/tcp_fastopen_key", SECRETS[0])
    tree.file("/proc/sys/net/ipv6/conf/eth0.100/stable_secret", SECRETS[1])
    tree.sysctl("vm.laptop_mode", 0)
    return str(tree.root)


@pytest.fixture(scope="module")
def archive(root):
    recorder = Recorder(root)
    collect(recorder, ASKED)
    with tarfile.open(fileobj=io.BytesIO(make_archive(recorder.notes, {}, limit=64 << 20))) as tar:
        files = [tar.extractfile(member).read() for member in tar if member.isreg()]
        names = [f"{member.name} {member.linkname}" for member in tar]
    return "\n".join([*names, *(data.decode("utf-8", "replace") for data in files)])


def test_sixty_of_each():
    assert len(set(SECRETS)) == len(SECRETS) == len(set(LOOK_ALIKES)) == len(LOOK_ALIKES) == 60


def test_no_fact_holds_a_secret(root):
    facts = json.dumps(collect(Host(root), ASKED))
    assert [secret for secret in SECRETS if secret in facts] == []
    assert "masked" in facts


def test_sysctls_with_secrets_are_not_read(root):
    tunables = collect(Host(root), ASKED)["tunables"]
    assert {address: reading["status"] for address, reading in tunables.items()} == {
        ASKED[0]: "denied", ASKED[1]: "denied", ASKED[2]: "ok"}


def test_no_recording_holds_a_secret(archive):
    assert [secret for secret in SECRETS if secret in archive] == []


def test_what_looks_like_a_secret_is_in_the_recording(archive):
    assert [text for text in LOOK_ALIKES if text not in archive] == []


def test_what_facts_are_made_of_is_taken_before_it_is_masked(root):
    facts = collect(Host(root), [])
    assert {"name": "iommu.passthrough", "value": "1"} in facts["kernel"]["parameters"]
    assert {"name": "psk", "value": "masked"} in facts["kernel"]["parameters"]
    assert facts["guests"]["vms"]["value"][0]["hostpci"][0]["bdfs"] == ["0000:41:00.0"]
    assert facts["guests"]["vms"]["value"][0]["running"] is True
