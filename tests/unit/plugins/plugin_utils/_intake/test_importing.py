# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From files to hosts below the report folder."""
from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import tarfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.importing import import_files
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

from bug_report import CMDLINE, bug_report


@pytest.fixture
def post(tmp_path):
    """`post(name, text)` is the path of a file that somebody posted."""
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)
    return write


@pytest.fixture
def reports(tmp_path):
    return tmp_path / "reports"


def test_the_host_is_named_after_the_file(post, reports):
    path = post("nvidia-bug-report.log.gz", gzip.compress(bug_report("535").encode()))
    [host] = import_files([path], None, str(reports))
    assert host["name"] == "nvidia-bug-report"
    assert host["sysroot"] == str(reports / "nvidia-bug-report" / "imported")
    assert (host["kind"], host["collected_at"]) == ("nvidia-bug-report", "2024-05-06T05:08:10Z")
    assert (reports / "nvidia-bug-report/imported/proc/cmdline").read_text() == f"{CMDLINE}\n"
    source = json.loads((reports / "nvidia-bug-report/imported/recorded/source.json").read_text())
    assert source == {"kind": "nvidia-bug-report", "name": "nvidia-bug-report.log.gz", "script": "33500001",
                      "collected_at": "2024-05-06T05:08:10Z", "notes": []}


@pytest.mark.parametrize("file, name", [
    ("gpu 7 (old).log", "gpu-7-old"), ("x.tar.gz", "x"), (".log", "imported"), ("..log", "imported"),
    ("a.b.txt", "a.b")])
def test_names_are_fit_for_a_folder(post, reports, file, name):
    assert import_files([post(file, bug_report("470"))], None, str(reports))[0]["name"] == name


def test_a_name_of_the_users_choice(post, reports):
    assert import_files([post("x.log", bug_report("470"))], "gpu7", str(reports))[0]["name"] == "gpu7"
    with pytest.raises(Exception, match="cannot be used as a directory name"):
        import_files([post("x.log", bug_report("470"))], "../x", str(reports))


def test_only_its_owner_may_look_at_it(post, reports):
    [host] = import_files([post("x.log", bug_report("470"))], None, str(reports))
    assert os.stat(host["sysroot"]).st_mode & 0o777 == 0o700


def test_files_keep_the_modes_that_the_report_shows(post, reports):
    [host] = import_files([post("x.log", bug_report("470"))], None, str(reports))
    assert os.stat(f"{host['sysroot']}/proc/cmdline").st_mode & 0o777 == 0o444


def test_an_earlier_import_is_replaced_as_a_whole(post, reports):
    import_files([post("x.log", bug_report("535"))], None, str(reports))
    [host] = import_files([post("x.log", bug_report("304"))], None, str(reports))
    assert not os.path.exists(f"{host['sysroot']}/sys/kernel/mm/transparent_hugepage/enabled")
    assert sorted(os.listdir(reports / "x")) == ["imported"]


def test_two_files_of_one_host_complement_each_other(post, reports):
    bare = bug_report("304")
    pasted = ("Linux workbench 6.8.0-31-generic #31-Ubuntu SMP x86_64\n[    0.000000] Linux version 6.8.0\n"
              "available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 64000 MB\n")
    [host] = import_files([post("a.log", bare), post("b.txt", pasted)], None, str(reports))
    assert host["name"] == "a"
    assert (reports / "a/imported/sys/devices/system/node/node0/cpulist").read_text() == "0-3\n"


def test_files_of_two_hosts_are_two_hosts(post, reports):
    paths = [post("one/nvidia-bug-report.log", bug_report("470")),
             post("two/nvidia-bug-report.log", bug_report("470", hostname="other"))]
    hosts = import_files(paths, None, str(reports))
    assert [host["name"] for host in hosts] == ["nvidia-bug-report", "nvidia-bug-report-2"]
    with pytest.raises(Refused, match="the files tell of 2 hosts, and gpuhost_import_name names one"):
        import_files(paths, "gpu7", str(reports))


def test_the_reports_of_a_real_host_are_not_mixed_with_an_import(post, reports):
    (reports / "pve1").mkdir(parents=True)
    (reports / "pve1" / "audit.json").write_text("{}")
    with pytest.raises(Refused, match="holds the reports of a host that was not imported"):
        import_files([post("x.log", bug_report("470"))], "pve1", str(reports))


@pytest.mark.parametrize("paths, message", [
    ([], "no file to import"), (["/nonexistent/x.log"], "x.log: cannot be read: No such file"),
    (["/"], "/: cannot be read: Is a directory")])
def test_what_cannot_be_imported_is_named(reports, paths, message):
    with pytest.raises(Refused, match=message):
        import_files(paths, None, str(reports))


def test_a_refused_file_leaves_nothing(post, reports):
    with pytest.raises(Refused, match=r"x\.log: it holds two bug reports"):
        import_files([post("x.log", bug_report("470") * 2)], None, str(reports))
    assert not reports.exists()


def test_a_cut_file_is_taken_with_a_note(post, reports):
    data = gzip.compress(bug_report("535").encode())
    [host] = import_files([post("x.log.gz", data[:len(data) * 2 // 3])], None, str(reports))
    assert host["notes"][-1].endswith("what the report has behind that is missing")


def test_guests_of_pvereport_and_devices_of_a_bug_report_are_one_host(post, reports):
    report = ("\n==== general system info ====\n\n# hostname\nworkbench\n\n==== info about pci ====\n\n# lspci -nnk\n"
              "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation X [10de:2684] (rev a1)\n"
              "\tKernel driver in use: nvidia\n")
    for order in (("a.log", "b.txt"), ("b.txt", "a.log")):
        texts = {"a.log": bug_report("535"), "b.txt": report}
        [host] = import_files([post(name, texts[name]) for name in order], "both", str(reports))
        place = pathlib.Path(host["sysroot"], "sys/bus/pci/devices/0000:01:00.0")
        assert (place.is_symlink(), (place / "vendor").read_text()) == (True, "0x10de\n"), order


def recording(path, *, link=False):
    with tarfile.open(path, "w:gz") as members:
        for name, text in (("proc/cmdline", "x\n"), ("recorded/recording.json",
                                                     '{"recorded_at": "2026-11-29T18:30:00Z", "privileged": true}')):
            member = tarfile.TarInfo(name if not (link and name.startswith("recorded")) else "other/recording.json")
            member.size = len(text)
            members.addfile(member, io.BytesIO(text.encode()))
        if link:
            member = tarfile.TarInfo("recorded")
            member.type, member.linkname = tarfile.SYMTYPE, "other"
            members.addfile(member)
    return str(path)


def test_a_recording_is_taken_as_it_is(tmp_path, reports):
    [host] = import_files([recording(tmp_path / "node.tar.gz")], None, str(reports))
    assert (host["kind"], host["collected_at"]) == ("recording", "2026-11-29T18:30:00Z")
    source = json.loads((reports / "node/imported/recorded/source.json").read_text())
    assert (source["kind"], source["name"]) == ("recording", "node.tar.gz")


def test_nothing_is_written_through_a_link_of_a_recording(tmp_path, reports):
    [host] = import_files([recording(tmp_path / "node.tar.gz", link=True)], None, str(reports))
    assert host["collected_at"] is None
    assert not (reports / "node/imported/other/source.json").exists()
