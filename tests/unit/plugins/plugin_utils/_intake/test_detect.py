# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file is, by what it holds."""
from __future__ import annotations

import gzip
import io
import tarfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.detect import detect
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

from bug_report import bug_report


def archive(*names, mode="w:gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as members:
        for name in names:
            members.addfile(tarfile.TarInfo(name), io.BytesIO())
    return buffer.getvalue()


@pytest.mark.parametrize("data, kind", [
    (bug_report("470").encode(), "nvidia-bug-report"),
    (gzip.compress(bug_report("580").replace("\n", "\r\n").encode("utf-16")), "nvidia-bug-report"),
    (b"See below.\n\n" + bug_report("304").encode(), "nvidia-bug-report"),
    (b"\n==== general system info ====\n\n# hostname\npve1\n", "pvereport"),
    (b"$ lspci -vvv\n01:00.0 VGA compatible controller: NVIDIA Corporation X\n\tControl: I/O+\n", "lspci"),
    (b"[    0.000000] Linux version 6.8.0\n[    0.000001] x\n", "lspci"),
    ("août 25 19:38:03 host kernel: Linux version 5.18\n".encode(), "lspci"),
    (b"2026-01-26T12:53:36.700000-07:00 host kernel: Linux version 6.8.0\n", "lspci"),
    (archive("proc/cmdline", "recorded/recording.json"), "recording"),
    (archive("./sys/x", mode="w"), "recording"),
    (archive("sosreport-h-2024/proc/cmdline", mode="w:xz"), "sosreport"),
    (archive("any/sos_commands/pci/lspci", "any/proc/x", mode="w:bz2"), "sosreport"),
], ids=range(12))
def test_kinds(tmp_path, data, kind):
    path = tmp_path / "a name that says nothing"
    path.write_bytes(data)
    assert detect(path) == kind


@pytest.mark.parametrize("data, message", [
    (b"", "it is empty"), (b"PK\x03\x04rest", "it is a zip archive: unpack it"),
    (b"Dear all,\nmy GPU is slow\n", "begins 'Dear all,'"), (archive("photo.jpg"), "holds photo.jpg"),
    (b"\x1f\x8b\x08\x00damaged", "it is empty, or nothing of it can be unpacked"),
], ids=range(5))
def test_what_is_none_is_refused_and_told_what_was_wanted(tmp_path, data, message):
    path = tmp_path / "x.log"
    path.write_bytes(data)
    with pytest.raises(Refused, match=message) as refused:
        detect(path)
    assert "Wanted nvidia-bug-report.log or .log.gz" in str(refused.value)
