# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/unpack.py: what comes out of a recording, and that a hostile archive leaves nothing behind."""
from __future__ import annotations

import gzip
import importlib.util
import io
import os
import tarfile

import pytest

from checkout import REPOSITORY

SPEC = importlib.util.spec_from_file_location("unpack", REPOSITORY / "tools" / "unpack.py")
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)


def file(name, data=b"x", **fields):
    return member(name, tarfile.REGTYPE, data, **fields)


def link(name, text):
    return member(name, tarfile.SYMTYPE, linkname=text)


def member(name, kind, data=b"", **fields):
    made = tarfile.TarInfo(name)
    made.type, made.size = kind, len(data)
    for field, value in fields.items():
        setattr(made, field, value)
    return made, data


@pytest.fixture
def pack(tmp_path):
    def make(*members):
        path = tmp_path / "recording.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for made, data in members:
                archive.addfile(made, io.BytesIO(data))
        return path

    return make


def test_files_folders_and_links_come_out(pack, tmp_path):
    archive = pack(member("sys", tarfile.DIRTYPE, mode=0o555), file("./sys/a/b", b"1\n", mode=0o444, mtime=1700000000),
                   file("proc/secret", mode=0o200), file("etc/run", mode=0o6755), link("sys/c", "a/b"),
                   link("sys/a/up", "../../proc/secret"), link("proc/self", "77"))
    folder = tmp_path / "new" / "host"
    assert tool.unpack(archive, folder) == 7
    assert (folder / "sys/c").read_bytes() == b"1\n"
    assert os.readlink(folder / "sys/a/up") == "../../proc/secret"
    modes = {name: (folder / name).stat().st_mode & 0o7777 for name in ("sys/a/b", "proc/secret", "etc/run")}
    assert modes == {"sys/a/b": 0o444, "proc/secret": 0o600, "etc/run": 0o755}
    assert (folder / "sys/a/b").stat().st_mtime == 1700000000
    assert not (folder / ".gpuhost-sysroot").exists()
    assert os.listdir(tmp_path / "new") == ["host"]


def test_the_marker_comes_on_request(pack, tmp_path):
    assert tool.main(["--writable", str(pack(file("proc/x"))), str(tmp_path / "host")]) is None
    assert (tmp_path / "host" / ".gpuhost-sysroot").exists()


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "proc/big",
          "GNU.sparse.realsize": str(1 << 50)}
HOSTILE = {
    "absolute name": ([file("/etc/passwd")], "is not a name inside"),
    "climbing name": ([file("sys/../../x")], "is not a name inside"),
    "no name": ([file(".")], "neither a file"),
    "long name": ([file("a/" * 2500 + "b")], "is not a name inside"),
    "absolute link": ([link("proc/fd", "/etc/passwd")], "leads out"),
    "climbing link": ([link("proc/fd", "../../x")], "leads out"),
    "link that climbs late": ([link("a/b/c", "d/../../../../x")], "leads out"),
    "links that climb together": ([link("a/b/root", "../.."), link("w", "a/b/root/..")], "leads out"),
    "empty link": ([link("proc/fd", "")], "leads out"),
    "file below a link": ([link("proc", "sys"), file("proc/x")], "below one"),
    "link below a link": ([link("proc", "sys"), link("proc/x", "y")], "below one"),
    "file in place of a link": ([link("proc", "sys"), file("proc")], "is a link already"),
    "link in place of a file": ([file("proc"), link("proc", "sys")], "twice"),
    "link above another": ([link("a/b", "c"), link("a", "sys")], "File exists"),
    "the same file twice": ([file("proc/x"), file("proc/x")], "File exists"),
    "file in place of a folder": ([member("proc", tarfile.DIRTYPE), file("proc")], "File exists"),
    "folder in place of a file": ([file("proc"), member("proc", tarfile.DIRTYPE)], "File exists"),
    "hard link": ([file("a"), member("b", tarfile.LNKTYPE, linkname="a")], "neither a file"),
    "device": ([member("dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3)], "neither a file"),
    "block device": ([member("dev/sda", tarfile.BLKTYPE, devmajor=8)], "neither a file"),
    "pipe": ([member("dev/log", tarfile.FIFOTYPE)], "neither a file"),
    "endless time": ([file("a", pax_headers={"mtime": "inf"})], "it is not a gzipped tar"),
    "time that is none": ([file("a", pax_headers={"mtime": "nan"})], "it is not a gzipped tar"),
    "sparse file": ([file("proc/big", b"1\n0\n512\n".ljust(512, b"\0"), pax_headers=SPARSE)], "neither a file"),
}


@pytest.mark.parametrize("members, reason", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_leaves_nothing(pack, tmp_path, members, reason):
    archive = pack(file("good"), *members)
    before = sorted(tmp_path.iterdir())
    message = tool.main([str(archive), str(tmp_path / "host")])
    assert message.startswith(f"{archive}: ")
    assert reason in message
    assert sorted(tmp_path.iterdir()) == before


def test_a_small_archive_of_very_many_zeros(pack, tmp_path, monkeypatch):
    monkeypatch.setattr(tool.archive, "STREAM_LIMIT", 1 << 20)
    archive = pack(file("big", bytes(2 << 20)))
    assert archive.stat().st_size < 10000
    assert "unpacks to more than 1048576 bytes" in tool.main([str(archive), str(tmp_path / "host")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recording.tar.gz"]


def test_a_head_of_very_many_zeros(tmp_path, monkeypatch):
    """The size in a head is believed by nobody: reading ends at the limit."""
    monkeypatch.setattr(tool.archive, "STREAM_LIMIT", 1 << 20)
    head = tarfile.TarInfo("x")
    head.type, head.size = tarfile.XHDTYPE, 1 << 40
    archive = tmp_path / "head.tar.gz"
    archive.write_bytes(gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + bytes(2 << 20)))
    assert "unpacks to more than" in tool.main([str(archive), str(tmp_path / "host")])


def test_too_many_members(pack, tmp_path, monkeypatch):
    monkeypatch.setattr(tool.archive, "MEMBER_LIMIT", 3)
    archive = pack(*(file(f"proc/{number}") for number in range(4)))
    assert "more than 3 members" in tool.main([str(archive), str(tmp_path / "host")])


@pytest.mark.parametrize("data", [b"", b"hello", gzip.compress(b"hello" * 400), gzip.compress(bytes(4096))[:20],
                                  b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 50],
                         ids=["empty", "text", "no_tar", "cut", "noise"])
def test_what_is_no_archive(tmp_path, data):
    archive = tmp_path / "recording.tar.gz"
    archive.write_bytes(data)
    assert "it is not a gzipped tar" in tool.main([str(archive), str(tmp_path / "host")])
    assert not (tmp_path / "host").exists()


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to("nowhere")])
def test_a_folder_that_is_there_is_left_alone(pack, tmp_path, make):
    make(tmp_path / "host")
    assert "is there already" in tool.main([str(pack(file("proc/x"))), str(tmp_path / "host")])


@pytest.mark.parametrize("words", [[], ["one"], ["one", "two", "three"], ["--force", "one", "two"]])
def test_how_it_is_called(words):
    assert tool.main(words).startswith("tools/unpack.py [--writable] ARCHIVE FOLDER")
