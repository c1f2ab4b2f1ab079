# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into a recorded host, what of it is known, and how it is written."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake import recorded_host as module
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.contradictions import contradictions
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.machine_kind import kind_of
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import (
    RecordedHost,
    Refused,
    clean_path,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.writer import write_host

from bug_report import GPU, smi_text


@pytest.mark.parametrize("path, clean", [
    ("/proc/./driver//nvidia/./version", "/proc/driver/nvidia/version"), ("/sys/../etc/x", None), ("proc/x", None),
    ("/", None), ("/a\0b", None), ("/" + "x" * 300, None), ("/a" * 60, None), ("/etc/a b", "/etc/a b")])
def test_paths(path, clean):
    assert clean_path(path) == clean


def test_the_first_that_tells_of_a_file_counts():
    host = RecordedHost()
    host.put("/proc/x", "one")
    host.put("/proc/./x", "two")
    assert host.files == {"/proc/x": b"one"}


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(module, "FILES_LIMIT", 10)
    host = RecordedHost()
    host.put("/proc/x", "12345")
    with pytest.raises(Refused, match="wanted a report of one machine"):
        host.put("/proc/y", "123456")


def test_a_file_in_the_place_of_a_folder_stops_nothing(tmp_path):
    host = RecordedHost()
    host.put("/sys/a", "file")
    host.put("/sys/a/b", "below it")
    host.link("/sys/a/c", "/sys/d")
    host.folder("/sys/e")
    host.put("/sys/e", "file")
    place = write_host(host, tmp_path / "host")
    assert (place / "sys/a").read_text() == "file"
    assert (place / "sys/e").is_dir()


def test_links_stay_inside(tmp_path):
    host = RecordedHost()
    host.link("/sys/bus/x", "/sys/devices/y")
    host.link("/sys/z", "/../../etc/passwd")
    place = write_host(host, tmp_path / "host")
    assert (place / "sys/bus/x").readlink().as_posix() == "../devices/y"
    assert not (place / "sys/z").is_symlink()


def test_answers_are_json_that_a_reader_takes(tmp_path):
    host = RecordedHost()
    host.open = "lacks it"
    host.list_whole("/sys/l")
    host.close("/sys/c")
    host.deny("/etc/secret")
    host.leave_out("/proc/n", "why")
    place = write_host(host, tmp_path / "host")
    assert json.loads((place / "recorded/answers.json").read_text()) == {
        "failures": {"/etc/secret": 13}, "links": {}, "open": "lacks it", "closed": ["/sys/c"], "listed": ["/sys/l"],
        "not_recorded": {"/proc/n": "why"}}


def test_two_sources_of_one_host():
    first, second = RecordedHost(), RecordedHost()
    first.put("/proc/a", "1")
    first.leave_out("/proc/b", "not in the first")
    first.link("/sys/bus/pci/devices/x", "/sys/devices/x")
    second.put("/proc/a", "2")
    second.put("/proc/b", "3")
    second.put("/sys/bus/pci/devices/x/vendor", "4")
    second.note("said")
    first.fill(second)
    assert first.files == {"/proc/a": b"1", "/proc/b": b"3", "/sys/devices/x/vendor": b"4"}
    assert (first.not_recorded, first.notes) == ({}, ["said"])


def contradicting(vbios="95.02.18.80.87", driver="535.1", kernel="6.8.0", logged="6.8.0"):
    host = RecordedHost()
    host.put(f"/proc/driver/nvidia/gpus/{GPU}/information", f"Video BIOS: \t {vbios}\n")
    host.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue\n")
    host.put("/recorded/nvidia-smi.txt", smi_text("535", "535.1"))
    host.put("/proc/sys/kernel/osrelease", f"{kernel}\n")
    host.put("/recorded/kmsg.txt", f"[    0.0] Linux version {logged} (x)\n")
    host.list_whole("/sys/bus/pci/devices")
    host.link(f"/sys/bus/pci/devices/{GPU}", f"/sys/devices/{GPU}")
    return host


def test_what_agrees_is_no_contradiction():
    assert contradictions(contradicting()) == []
    assert contradictions(contradicting(vbios="95.02.18.80.87".upper())) == []
    assert contradictions(RecordedHost()) == []


@pytest.mark.parametrize("differs, said", [
    ({"vbios": "1.2"}, f"{GPU} has the VBIOS 1.2 by its driver, 95.02.18.80.87 by nvidia-smi"),
    ({"driver": "530.9"}, "/proc/driver/nvidia/version says driver 530.9, nvidia-smi 535.1"),
    ({"logged": "6.5.0"}, "uname says that kernel 6.8.0 runs, the kernel log begins with 6.5.0")])
def test_contradictions_are_named(differs, said):
    assert contradictions(contradicting(**differs)) == [said]


def test_a_gpu_that_lspci_does_not_have():
    host = contradicting()
    host.links.clear()
    assert contradictions(host) == [f"nvidia-smi has a GPU at {GPU}, where lspci has no device"]


def device(vendor, class_="0600", subsystem=None, config=b"", detail=("x",)):
    return {"vendor": vendor, "class": class_, "subsystem": subsystem, "config": config, "detail": list(detail)}


@pytest.mark.parametrize("devices, kind", [
    ([device("1022"), device("10de", "0302")], "bare_metal"), ([device("8086"), device("1af4", "0100")], "vm"),
    ([device("8086", subsystem=("1af4", "1100"))], "vm"), ([device("15ad", "0300")], "vm"),
    ([device("10de", "0302")], None), ([device("8086", detail=())], None), ([], None)])
def test_a_virtual_machine_by_its_devices(devices, kind):
    told = kind_of({f"0000:00:{number:02x}.0": one for number, one in enumerate(devices)})
    assert (told and told["kind"]) == kind
