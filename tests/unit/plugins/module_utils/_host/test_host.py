# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import program as host_program
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.sysroot import OutsideSysroot


def test_text_loses_only_its_line_end(tree, host):
    tree.file("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456 \n")
    assert host.read("/proc/sys/net/ipv4/tcp_rmem") == ("ok", "4096\t131072\t6291456 ", None)


def test_a_sysroot_that_is_no_folder_is_said(tmp_path):
    with pytest.raises(ValueError, match="is not a directory on this host"):
        Host(str(tmp_path / "nowhere"))


def test_missing_file_is_absent(host):
    reading = host.read("/proc/sys/kernel/nope")
    assert (reading.status, reading.value) == ("absent", None)
    assert "ENOENT" in reading.detail


def test_folder_where_a_file_belongs_does_not_raise(tree, host):
    tree.folder("/sys/kernel/mm")
    assert host.read("/sys/kernel/mm").status == "unparsable"


def test_text_in_a_number_file_is_unparsable(tree, host):
    tree.file("/proc/sys/vm/swappiness", "sixty")
    reading = host.read_int("/proc/sys/vm/swappiness")
    assert reading.status == "unparsable"
    assert "sixty" in reading.detail


def test_a_fifo_does_not_hang(tree, host):
    os.mkfifo(tree.path("/etc-fifo"))
    assert host.read("/etc-fifo").value == ""


def test_attributes_of_one_folder(tree, host):
    tree.files("/sys/devices/cpufreq/policy0", {"scaling_governor": "performance", "boost": "1"})
    tree.link("/sys/bus/cpufreq", "../devices/cpufreq").folder("/sys/devices/cpufreq/policy0/stats")
    read = host.read_attributes("/sys/bus/cpufreq/policy0", ("scaling_governor", "boost", "bios_limit", "stats"))
    assert read["scaling_governor"] == ("ok", "performance", None)
    assert read["boost"] == ("ok", "1", None)
    assert (read["bios_limit"].status, read["stats"].status) == ("absent", "unparsable")


def test_attribute_that_is_a_link_stays_in_the_sysroot(tree, host):
    tree.file("/etc/inside", "planted").link("/sys/a/in", "/etc/inside").link("/sys/a/out", "/etc/passwd")
    tree.link("/sys/a/up", "../../../../etc/passwd").link("/sys/out", "../..")
    read = host.read_attributes("/sys/a", ("in", "out", "up"))
    assert read["in"].value == "planted"
    assert (read["out"].status, read["up"].status) == ("absent", "unparsable")
    assert host.read_attributes("/sys/out", ["passwd"])["passwd"].status == "unparsable"


def test_attributes_of_a_folder_that_is_missing(host):
    assert host.read_attributes("/sys/nope", ["a"])["a"].status == "absent"


def test_absolute_link_starts_at_the_sysroot(tree, host):
    tree.file("/etc/inside", "planted").link("/proc/link", "/etc/inside")
    assert host.read("/proc/link").value == "planted"


def test_absolute_link_does_not_reach_this_machine(tree, host):
    tree.link("/etc/secret", "/etc/passwd")
    assert host.read("/etc/secret").status == "absent"


def test_relative_link_through_linked_folders(tree, host):
    tree.file("/sys/devices/pci0000:00/0000:00:01.0/vendor", "0x10de")
    tree.link("/sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0")
    assert host.read("/sys/bus/pci/devices/0000:00:01.0/vendor").value == "0x10de"
    assert host.resolve("/sys/bus/pci/devices/0000:00:01.0") == "/sys/devices/pci0000:00/0000:00:01.0"


@pytest.mark.parametrize("target", ["../../etc/passwd", "../../../../../../etc/passwd"])
def test_climbing_above_the_sysroot_is_an_error(tree, host, target):
    tree.link("/proc/out", target)
    with pytest.raises(OutsideSysroot):
        host.resolve("/proc/out")
    reading = host.read("/proc/out")
    assert reading.status == "unparsable"
    assert "leads outside the sysroot" in reading.detail


def test_dots_in_a_path_climb_no_further_than_the_sysroot(host):
    with pytest.raises(OutsideSysroot):
        host.resolve("/../etc/passwd")


def test_looping_links_end(tree, host):
    tree.link("/proc/a", "b").link("/proc/b", "a")
    assert host.read("/proc/a").status == "unparsable"


def test_link_name_is_the_last_component(tree, host):
    tree.link("/sys/bus/pci/devices/0000:01:00.0/driver", "../../../bus/pci/drivers/nvidia")
    assert host.link_name("/sys/bus/pci/devices/0000:01:00.0/driver") == "nvidia"
    assert host.link_name("/sys/bus/pci/devices/0000:01:00.0/iommu_group") is None


def test_glob_follows_links_and_sorts(tree, host):
    tree.file("/sys/devices/cpu1/online", "1").file("/sys/devices/cpu0/online", "1").folder("/sys/devices/cpufreq")
    assert host.glob("/sys/devices/cpu[0-9]*/online") == ["/sys/devices/cpu0/online", "/sys/devices/cpu1/online"]


def test_write_replaces_the_whole_text(tree, host):
    tree.file("/proc/sys/vm/swappiness", "100")
    host.write("/proc/sys/vm/swappiness", "5")
    assert tree.path("/proc/sys/vm/swappiness").read_text() == "5"


def test_write_at_moves_two_bytes_only(tree, host):
    tree.file("/config", bytes(range(256)))
    host.write_at("/config", 0x68, b"\xaa\xbb")
    assert tree.path("/config").read_bytes() == bytes(range(0x68)) + b"\xaa\xbb" + bytes(range(0x6A, 256))


def test_read_at_reads_a_part_and_stops_at_the_end(tree, host):
    tree.file("/config", bytes(range(64)))
    assert host.read_at("/config", 0x34, 4) == bytes([0x34, 0x35, 0x36, 0x37])
    assert host.read_at("/config", 62, 16) == bytes([62, 63])
    assert host.read_at("/config", 0x100, 4) == b""
    with pytest.raises(FileNotFoundError):
        host.read_at("/config2", 0, 4)


def test_write_creates_nothing(tree, host):
    with pytest.raises(FileNotFoundError):
        host.write("/proc/sys/kernel/nope", "1")
    assert not tree.path("/proc/sys/kernel/nope").exists()


def test_no_marker_no_write(tree, host):
    tree.file("/proc/sys/vm/swappiness", "60")
    tree.path("/.gpuhost-sysroot").unlink()
    with pytest.raises(OSError) as caught:
        host.write("/proc/sys/vm/swappiness", "10")
    assert caught.value.errno == errno.EROFS
    assert ".gpuhost-sysroot" in str(caught.value)
    assert tree.path("/proc/sys/vm/swappiness").read_text() == "60\n"


def test_recorded_device_nodes(tree, host):
    tree.device("/dev/nvidia0", 195, 0).device("/dev/nvidia-caps/nvidia-cap1", 236, 1)
    assert host.device_nodes("/dev").value == {"/dev/nvidia0": {"type": "c", "major": 195, "minor": 0, "mode": "0666"}}
    assert host.device_node("/dev/nvidia-caps/nvidia-cap1")["major"] == 236
    assert host.device_node("/dev/nvidia1") is None


def test_live_device_node_is_seen():
    assert Host().device_node("/dev/null")["major"] == 1
    assert Host().device_node("/etc/hostname") is None


def test_recorded_program_is_read_and_never_run(tree, host):
    tree.program("nvidia-smi.xml", "<x/>")
    assert host.run(["nvidia-smi", "-q", "-x"], 1, recorded="nvidia-smi.xml").value == "<x/>"
    assert host.run(["false"], 1).status == "absent"


def test_live_program_that_fails_says_so():
    reading = Host().run(["ls", "/nonexistent-folder"], 10)
    assert reading.status == "unparsable"
    assert "status 2" in reading.detail


def test_live_program_that_hangs_is_ended_with_its_children():
    reading = Host().run(["sh", "-c", "sleep 300 & sleep 300"], 0.3)
    assert reading.status == "unparsable"
    assert reading.detail.startswith("timeout")


def test_missing_program_is_absent():
    assert Host().run(["no-such-program-here"], 1).status == "absent"


def test_live_program_that_cannot_start_says_so(tmp_path, monkeypatch):
    program = tmp_path / "broken-program"
    program.write_bytes(b"\x7fELF of no machine")
    program.chmod(0o755)
    monkeypatch.setattr(host_program, "PATH", str(tmp_path))
    reading = Host().run(["broken-program"], 1)
    assert reading.status == "unparsable"
    assert "could not be started" in reading.detail


def test_two_lines_of_complaint_are_kept(tmp_path, monkeypatch):
    program = tmp_path / "complainer"
    program.write_text("#!/bin/sh\necho first >&2\necho second >&2\necho third >&2\nexit 18\n")
    program.chmod(0o755)
    monkeypatch.setattr(host_program, "PATH", str(tmp_path))
    assert Host().run(["complainer"], 10).detail == "complainer ended with status 18: first; second"


def test_links_of_a_folder(tree, host):
    tree.link("/proc/7/fd/0", "/dev/null").link("/proc/7/fd/9", "socket:[4711]").file("/proc/7/fd/x", "no link")
    assert host.read_links("/proc/7/fd").value == {"0": "/dev/null", "9": "socket:[4711]"}
    assert host.read_links("/proc/8/fd").status == "absent"


@pytest.mark.parametrize("before", [0, (1 << 18) - 9, (1 << 18) - 1, 1 << 18])
def test_text_is_found_across_blocks(tree, host, before):
    tree.file("/proc/kallsyms", b"x" * before + b" T ib_register_client\n" + b"y" * 1000)
    assert host.contains("/proc/kallsyms", b" ib_register_client\n").value is True
    assert host.contains("/proc/kallsyms", b" ib_register_peer_memory_client").value is False


def test_text_of_a_missing_file_is_absent(tree, host):
    assert host.contains("/proc/kallsyms", b"x").status == "absent"
    assert host.contains("/proc", b"x").status in ("absent", "unparsable")


# -- what a recorded host answers --------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", ["{", "[]", '{"failures": 1, "links": {}}', '{"failures": {}, "links": [1]}',
                                  '{"open": "x", "closed": 1}', '{"cut": [1]}', '{"not_recorded": "x"}', "[" * 100000])
def test_answers_that_are_none_are_said(tree, text):
    tree.file("/recorded/answers.json", text)
    with pytest.raises(ValueError, match=r"recorded/answers\.json is not a valid part of a recording"):
        Host(str(tree.root))


def test_answers_of_a_wrong_kind_are_left_out(tree):
    tree.file("/recorded/answers.json", '{"failures": {"/a": "x", "/b": [1], "/recorded/smi.txt": ["ok", "y"], "/c": '
              'null, "/e": 13}, "links": {"/d": 1}}').files("/", {"a": 1, "b": 1, "c": 1, "e": 1})
    host = Host(str(tree.root))
    assert [host.read(path).status for path in ("/a", "/b", "/c", "/e")] == ["ok", "ok", "ok", "denied"]
    assert host.run(["smi"], 1).status == "absent"


def test_a_program_fails_as_it_was_recorded(tree):
    tree.file("/recorded/answers.json",
              '{"failures": {"/recorded/nvidia-smi.xml": ["unparsable", "timeout: too long"]}, "links": {}}')
    host = Host(str(tree.root))
    assert host.run(["nvidia-smi"], 1, "nvidia-smi.xml") == ("unparsable", None, "timeout: too long")
