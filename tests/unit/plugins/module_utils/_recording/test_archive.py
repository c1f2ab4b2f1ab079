# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording answers as the host did: planted hosts are recorded, unpacked and read again."""
from __future__ import annotations

import io
import json
import os
import tarfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.archive import TooLarge, make_archive
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.notes import inside, stays_inside
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.recorder import Recorder

from hosts.config_space import gpu_space
from hosts.faulty import FaultyHost
from hosts.kernel import plant_kernel
from hosts.others import container, virtual_machine, workstation
from hosts.pci import DEVICES
from hosts.sick import sick
from hosts.story_before import story_before
from hosts.tree import Tree
from verdicts import judged, line

LIMIT = 64 << 20


class FaultyRecorder(Recorder, FaultyHost):
    """Records a planted host on which some reads fail."""


def small_story(tree):
    story_before(tree, cores=1, vms={"200": "name: desk\nhostpci0: 0000:41:00.0\n"})


def facts_of(host):
    facts = collect(host, ["sysctl:vm.laptop_mode", "sysfs:/sys/kernel/mm/ksm/run"])
    return {name: fact for name, fact in facts.items() if name not in ("collected_at", "privileged")}


def members(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: (member, tar.extractfile(member).read() if member.isreg() else None) for member in tar}


def unpacked(archive, folder):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder)
    return Host(str(folder))


def recorded(host, **options):
    return make_archive(host.notes, {"privileged": True}, limit=LIMIT, **options)


@pytest.mark.parametrize("plant", [small_story, sick, workstation, virtual_machine, container],
                         ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("anonymise", [False, True])
def test_facts_and_findings_of_a_recording_are_those_of_the_host(tmp_path, plant, anonymise):
    plant(Tree(tmp_path / "host"))
    host = Recorder(str(tmp_path / "host"))
    first = facts_of(host)
    again = facts_of(unpacked(recorded(host, anonymise=anonymise), tmp_path / "unpacked"))
    if not anonymise:
        assert again == first
    message = [{pair: line(finding) for pair, finding in judged({**facts, "collected_at": ""}).items()}
               for facts in (first, again)]
    assert message[0] == message[1]
    assert message[0]


def test_this_machine_is_recorded(tmp_path):
    """Read only; what changes by itself between two reads is left out by comparing with what was noted."""
    host = Recorder("/")
    first = facts_of(host)
    assert facts_of(unpacked(recorded(host), tmp_path)) == first


def test_what_was_read_and_nothing_else(tree):
    plant_kernel(tree)
    tree.file("/etc/shadow", "root:secret").file("/proc/sys/vm/laptop_mode", 0, mode=0o444)
    tree.link("/etc/os-release", "../usr/lib/os-release").file("/usr/lib/os-release", "ID=debian")
    host = Recorder(str(tree.root))
    assert host.read("/etc/os-release").value == "ID=debian"
    assert host.exists("/proc/sys/vm/laptop_mode")
    assert not host.exists("/proc/nothing")
    found = members(recorded(host))
    assert sorted(name for name, (member, _data) in found.items() if not member.isdir()) == [
        "etc/os-release", "proc/sys/vm/laptop_mode", "recorded/answers.json",
        "recorded/recording.json", "usr/lib/os-release"]
    assert found["usr/lib/os-release"][1] == b"ID=debian\n"
    assert found["etc/os-release"][0].linkname == "../usr/lib/os-release"
    # Its content was never asked for, whether it may be written was.
    assert (found["proc/sys/vm/laptop_mode"][0].mode, found["proc/sys/vm/laptop_mode"][1]) == (0o444, b"")
    assert json.loads(found["recorded/recording.json"][1]) == {
        "schema": "gpuhost.recording/1", "anonymised": False, "privileged": True}


def test_the_marker_is_in_it_only_on_request(tree):
    host = Recorder(str(tree.root))
    host.read("/proc/cmdline")
    assert ".gpuhost-sysroot" not in members(recorded(host))
    assert ".gpuhost-sysroot" in members(recorded(host, writable=True))


def test_registers_lie_where_they_were_read(tree, tmp_path):
    space = gpu_space().bytes()
    tree.file(f"{DEVICES}/0000:01:00.0/config", space)
    host = Recorder(str(tree.root))
    path = f"{DEVICES}/0000:01:00.0/config"
    assert host.read_bytes(path, 256) == space[:256]
    assert host.read_at(path, 0x100, 4) == space[0x100:0x104]
    assert host.read_at(path, 0x108, 2) == space[0x108:0x10A]
    data = members(recorded(host))[path.lstrip("/")][1]
    assert data == space[:0x104] + b"\0\0\0\0" + space[0x108:0x10A]


def test_a_shorter_answer_replaces_a_longer_one(tree):
    host = Recorder(str(tree.root))
    tree.file("/proc/loadavg", "1000")
    host.read("/proc/loadavg")
    tree.file("/proc/loadavg", "7")
    host.read("/proc/loadavg")
    assert members(recorded(host))["proc/loadavg"][1] == b"7\n"


def test_reads_that_failed_fail_again(tree, tmp_path):
    tree.file("/sys/a/value", 1).file("/proc/1/environ", "x").folder("/proc/5/fd").file("/sys/b/one", 1)
    host = FaultyRecorder(str(tree.root))
    host.read_faults = {"/sys/a/value": 5, "/proc/1/environ": 13}
    host.read("/sys/a/value"), host.read("/proc/1/environ")
    host.notes.fail("/proc/5/fd", OSError(13, "denied"))
    host.notes.fail("/sys/b/one", OSError(524, "ENOTSUPP"))
    again = unpacked(recorded(host), tmp_path / "again")
    assert again.read("/sys/a/value") == ("unparsable", None, "EIO (Input/output error)")
    assert again.read("/proc/1/environ").status == "denied"
    assert again.read_links("/proc/5/fd").status == again.read_list("/proc/5/fd").status == "denied"
    assert again.read_attributes("/sys/b", ["one"])["one"].detail == "ENOTSUPP (errno 524, operation is not supported)"
    assert again.contains("/sys/a/value", b"1").status == "unparsable"


def test_the_time_of_a_file_is_kept(tree, tmp_path):
    os.utime(tree.file("/boot/initrd.img-6.8.12-9-pve", "x").path("/boot/initrd.img-6.8.12-9-pve"), (0, 1750000000))
    host = Recorder(str(tree.root))
    assert host.modified("/boot/initrd.img-6.8.12-9-pve") == "2025-06-15T15:06:40Z"
    again = unpacked(recorded(host), tmp_path / "again")
    assert again.modified("/boot/initrd.img-6.8.12-9-pve") == "2025-06-15T15:06:40Z"


def test_links_keep_their_text_and_lead_inside(tree, tmp_path):
    tree.link("/proc/7/fd/3", "/dev/nvidia0").link("/proc/7/fd/4", "socket:[99]").file("/dev/nvidia0", "")
    tree.link("/etc/pve/local", "/etc/pve/nodes/pve1").file("/etc/pve/nodes/pve1/lxc/1.conf", "arch: amd64")
    host = Recorder(str(tree.root))
    assert host.read_links("/proc/7/fd").value == {"3": "/dev/nvidia0", "4": "socket:[99]"}
    assert host.read("/etc/pve/local/lxc/1.conf").ok
    archive = recorded(host)
    found = members(archive)
    assert {name: member.linkname for name, (member, _data) in found.items() if member.issym()} == {
        "proc/7/fd/3": "../../../dev/nvidia0", "proc/7/fd/4": "socket:[99]", "etc/pve/local": "nodes/pve1"}
    assert json.loads(found["recorded/answers.json"][1])["links"] == {"/proc/7/fd/3": "/dev/nvidia0"}
    again = unpacked(archive, tmp_path / "again")
    assert again.read_links("/proc/7/fd").value == {"3": "/dev/nvidia0", "4": "socket:[99]"}
    assert again.read_link("/proc/7/fd/3").value == "/dev/nvidia0"
    assert again.read("/etc/pve/local/lxc/1.conf").value == "arch: amd64"


@pytest.mark.parametrize("path, text, plain", [
    ("/a/b/c", "../d", True), ("/a/b/c", "d/e", True), ("/a/b/c", "../../x", True), ("/a/b/c", "../../../x", False),
    ("/a/b/c", "/x", False), ("/a/b/c", "d/../e", False), ("/c", "x", True), ("/c", "../x", False),
])
def test_links_that_stay_inside(path, text, plain):
    assert stays_inside(os.path.dirname(path), text) is plain
    assert stays_inside(os.path.dirname(path), inside(path, text))


def test_a_link_above_the_root_stays_at_the_root():
    assert inside("/a/b", "../../../etc/x") == "../etc/x"
    assert inside("/a/b/c", "d/../../e") == "../e"


def test_of_a_file_that_is_searched_the_find_is_kept(tree):
    tree.file("/proc/kallsyms", "0 t one\n0 t two\n0 t three\n")
    host = Recorder(str(tree.root))
    assert host.contains("/proc/kallsyms", b"two").value is True
    assert host.contains("/proc/kallsyms", b"four").value is False
    assert members(recorded(host))["proc/kallsyms"][1] == b"two\n"


def test_too_much_names_the_largest(tree):
    host = Recorder(str(tree.file("/proc/big", "x" * 999).file("/proc/small", "y").root))
    host.read("/proc/big"), host.read("/proc/small")
    with pytest.raises(TooLarge, match=r"1002 bytes were read, 900 are allowed; the largest files are /proc/big"):
        make_archive(host.notes, {}, limit=900)


# Whoever adds a way to look at a host teaches the recorder, or knows that it is made of the others.
RECORDED = {"below", "contains", "device_node", "keep", "local", "read_at", "read_bytes", "read_link", "read_links",
            "read_list", "run"}
MADE_OF_THESE = {"device_nodes", "exists", "glob", "is_dir", "link_name", "list", "mode", "modified", "owner", "read",
                 "read_attributes", "read_int", "recorded"}
BELOW = {"fail_as_recorded", "link_text", "open", "read_answers", "require_recorded", "require_writable", "resolve",
         "why_cut", "why_missing", "why_not_whole"}
OTHERS = {"hear", "tell", "write", "write_at"}


def test_the_recorder_knows_every_way_to_look_at_a_host():
    public = {name for name in dir(Host) if not name.startswith("_")}
    assert public - OTHERS == RECORDED | MADE_OF_THESE | BELOW
    assert {name for name in RECORDED if name in vars(Recorder)} == RECORDED


def test_what_a_child_process_saw_of_a_container_is_in_it(tree, tmp_path):
    small_story(tree)
    folder = "/usr/lib/x86_64-linux-gnu"
    tree.link(f"/proc/5102/root{folder}/libcuda.so.1", "/etc/alternatives/cuda")
    tree.link("/proc/5102/root/etc/alternatives/cuda", f"{folder}/libcuda.so.550.54.14")
    tree.file(f"/proc/5102/root{folder}/libcuda.so.550.54.14", "ELF")
    host = Recorder(str(tree.root))
    first = facts_of(host)
    assert "550.54.14" in json.dumps(first["nvidia"]["container_libraries"])
    archive = recorded(host)
    found = members(archive)
    assert found[f"proc/5102/root{folder}/libcuda.so.550.54.14"][1] == b""
    assert found[f"proc/5102/root{folder}/libcuda.so.1"][0].linkname == "../../../etc/alternatives/cuda"
    assert facts_of(unpacked(archive, tmp_path / "again")) == first


def test_notes_of_a_child_process_are_taken_over(tree, tmp_path):
    tree.file("/proc/9/cgroup", b"0::/lxc/101\n\xff")
    child = Recorder(str(tree.root))
    child.read("/proc/9/cgroup")
    told = json.loads(json.dumps(child.tell()))
    assert child.notes.data == {}
    parent = Recorder(str(tree.root))
    parent.hear(told)
    assert members(recorded(parent))["proc/9/cgroup"][1] == b"0::/lxc/101\n\xff"
