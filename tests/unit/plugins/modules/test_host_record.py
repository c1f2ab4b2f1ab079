# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile

import pytest

from hosts.story_before import story_before


@pytest.fixture
def root(tree):
    return str(story_before(tree, cores=1).root)


def tar_of(answer):
    return tarfile.open(fileobj=io.BytesIO(base64.b64decode(answer["archive"])))


def members(answer):
    with tar_of(answer) as tar:
        return {member.name: tar.extractfile(member).read() if member.isreg() else None for member in tar}


def test_an_archive_of_a_host(call, root):
    answer = call("host_record", {"sysroot": root, "tunables": ["sysctl:vm.swappiness"]})
    assert answer["changed"] is False
    assert answer["sha256"] == hashlib.sha256(base64.b64decode(answer["archive"])).hexdigest()
    found = members(answer)
    assert found["proc/sys/vm/swappiness"] == b"60\n"
    about = json.loads(found["recorded/recording.json"])
    assert (about["schema"], about["anonymised"]) == ("gpuhost.recording/1", False)
    # All but what the recording says of itself.
    assert answer["files"] == sum(not member.isdir() for member in tar_of(answer)) - 2


def test_stand_ins_on_request(call, root):
    found = members(call("host_record", {"sysroot": root, "anonymise": True}))
    assert found["proc/sys/kernel/hostname"] == b"anonymous-host1\n"
    assert "etc/pve/nodes/anonymous-host1/lxc/101.conf" in found


def test_too_much_is_said(call, root):
    answer = call("host_record", {"sysroot": root, "max_bytes": 1000})
    assert answer["failed"]
    assert "1000 are allowed; the largest files are" in answer["msg"]


def test_no_such_folder(call, tmp_path):
    assert "is not a directory" in call("host_record", {"sysroot": str(tmp_path / "nowhere")})["msg"]
