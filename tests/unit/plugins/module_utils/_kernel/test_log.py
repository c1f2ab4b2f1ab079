# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel import log
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.log import (
    parse_dmesg,
    parse_record,
    parse_text,
    read_boots,
    read_lines,
    read_records,
)

RECORDS = """\
5,0,0,-;Linux version 6.8.12-9-pve (build@proxmox) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC
6,214,1902113,-;pci 0000:01:00.0: [10de:2bb5] type 00 class 0x030200 PCIe Endpoint
 SUBSYSTEM=pci
 DEVICE=+pci:0000:01:00.0
4,2219,81234567,-,caller=T612;NVRM: Xid (PCI:0000:41:00): 79, pid=4121, name=python3, GPU has fallen off the bus.
"""


def test_records_of_the_log_device():
    assert parse_text(RECORDS) == [
        {"seconds": 0.0, "text": "Linux version 6.8.12-9-pve (build@proxmox) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP "
                                 "PREEMPT_DYNAMIC"},
        {"seconds": 1.902113, "text": "pci 0000:01:00.0: [10de:2bb5] type 00 class 0x030200 PCIe Endpoint"},
        {"seconds": 81.234567, "text": "NVRM: Xid (PCI:0000:41:00): 79, pid=4121, name=python3, GPU has fallen off "
                                       "the bus."},
    ]


def test_a_record_may_hold_semicolons():
    assert parse_record("6,1,5,-;a;b;c")["text"] == "a;b;c"


def test_escaped_bytes_become_text_again():
    record = parse_record(r"6,1,5,-;name\x5cpath two\x0alines \xc3\xa9 \xff")
    assert record["text"] == "name\\path two\nlines é �"


@pytest.mark.parametrize("line", [
    "", "6,1;text", " SUBSYSTEM=pci", "6,1,x,-;text", f"6,1,{'9' * 5000},-;text",
    "[    1.0] 6,1,5,-;text"])
def test_other_text_is_no_record(line):
    assert parse_record(line) is None


@pytest.mark.parametrize(("line", "seconds", "text"), [
    ("[    0.762642] Unknown kernel command line parameters", 0.762642, "Unknown kernel command line parameters"),
    ("[12345.678901] NVRM: loading", 12345.678901, "NVRM: loading"),
    ("<6>[    0.000000]   Intel GenuineIntel", 0.0, "  Intel GenuineIntel"),
    ("[    1.902113] [    T1] pci 0000:01:00.0: BAR 1", 1.902113, "pci 0000:01:00.0: BAR 1"),
    ("[    1.902113][   C12] nvidia", 1.902113, "nvidia"),
    ("[Sun Nov 29 18:30:00 2026] NVRM: loading", None, "NVRM: loading"),
    ("[Sun Nov  1 08:30:00 2026] NVRM: loading", None, "NVRM: loading"),
    ("nvidia_peermem: Unknown symbol (err -22)", None, "nvidia_peermem: Unknown symbol (err -22)"),
    ("[drm] Initialized nvidia-drm", None, "[drm] Initialized nvidia-drm"),
    ("[    0.5]", 0.5, ""),
    (f"[{'9' * 400}.0] text", None, f"[{'9' * 400}.0] text"),
])
def test_lines_of_dmesg(line, seconds, text):
    assert parse_dmesg(line) == {"seconds": seconds, "text": text}


def test_indented_text_without_records_is_kept_and_empty_lines_are_not():
    assert [line["text"] for line in parse_text("first\n\n  second\n")] == ["first", "  second"]


def test_recorded_host(tree, host):
    tree.kernel_log(RECORDS)
    reading = read_lines(host)
    assert reading.status == "ok"
    assert len(reading.value) == 3


def test_recorded_host_without_a_log(host):
    assert read_lines(host).status == "absent"


class Device:
    """Answers of a log device to read(2): bytes, or an errno to raise."""

    def __init__(self, monkeypatch, *answers):
        self.answers = list(answers)
        monkeypatch.setattr(log.os, "read", self.read)

    def read(self, _handle, _size):
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer


def test_reading_ends_where_nothing_is_newer(monkeypatch):
    Device(monkeypatch, b"6,1,5,-;one\n", b"6,2,6,-;two\n", errno.EAGAIN)
    assert read_records(os.devnull) == ["6,1,5,-;one\n", "6,2,6,-;two\n"]


def test_overwritten_records_leave_a_gap(monkeypatch):
    Device(monkeypatch, b"6,1,5,-;one\n", errno.EPIPE, b"6,9,6,-;nine\n", errno.EAGAIN)
    assert read_records(os.devnull) == ["6,1,5,-;one\n", "6,9,6,-;nine\n"]


def test_reading_is_bounded(monkeypatch):
    Device(monkeypatch, *[b"6,1,5,-;0123456789\n"] * 10)
    assert len(read_records(os.devnull, limit=50)) == 3


def test_reading_is_bounded_where_the_log_is_overwritten_all_the_time(monkeypatch):
    Device(monkeypatch, *[errno.EPIPE] * 5)
    assert read_records(os.devnull, limit=5) == []


def test_another_error_is_the_reading(monkeypatch):
    monkeypatch.setattr(Host, "device_node", lambda _self, _path: {"major": 1, "minor": 11})
    Device(monkeypatch, errno.EPERM)
    monkeypatch.setattr(log, "KMSG", os.devnull)
    assert read_lines(Host()).status == "denied"


def test_a_console_under_the_name_is_not_the_log(monkeypatch):
    monkeypatch.setattr(Host, "device_node", lambda _self, _path: {"major": 5, "minor": 1})
    reading = read_lines(Host())
    assert (reading.status, reading.detail) == ("absent", "/dev/kmsg is not the kernel's log device")


def test_this_machine_has_a_log_or_says_why_not():
    reading = read_lines(Host())
    if reading.ok:
        assert reading.value
        assert all(line["seconds"] >= 0 for line in reading.value)
    else:
        assert reading.status in ("denied", "absent")


def test_public_log_of_the_reference_host(field_files):
    lines = parse_text((field_files / "proc/rtxpro6000x8_esc8000a-e13p__dmesg.txt").read_text())
    unknown = [line for line in lines if line["text"].startswith("Unknown kernel command line parameters")]
    assert [line["seconds"] for line in unknown] == [0.762642]


def test_public_records(field_files):
    lines = parse_text((field_files / "proc/gpud__kmsg_peermem.log").read_text())
    assert lines[0] == {"seconds": 227.996636, "text": "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected "
                                                       "invalid context, skipping further processing"}


# -- several boots ----------------------------------------------------------------------------------------------------

def texts(*lines):
    return [line["text"] for line in lines]


@pytest.mark.parametrize("first, second", [
    ("[    0.000000] Linux version 6.8.12-9-pve (root@x)", "[    0.000000] Linux version 6.8.12-9-pve (root@x)"),
    ("Nov 28 10:00:00 pve1 kernel: Linux version 6.8.12-9-pve", "Nov 29 10:00:00 pve1 kernel: [    0.000000] Linux "
     "version 6.8.12-9-pve"),
    ("[    0.5] something", "-- Boot 5f0c1d8e7b1a4d539b7e0a4c2f9d6e11 --"),
    ("[    0.5] something", "-- Reboot --"),
])
def test_a_saved_log_of_two_boots_is_cut_where_the_last_one_begins(tree, host, first, second):
    tree.kernel_log("\n".join((first, "[  900.0] NVRM: old", second, "[  100.0] NVRM: new")))
    earlier, this = read_boots(host)
    assert (texts(*earlier.value)[1:], texts(*this.value)[1:]) == (["NVRM: old"], ["NVRM: new"])
    assert read_lines(host) == this


def test_a_log_that_lost_its_first_lines_is_of_this_boot(tree, host):
    tree.kernel_log("[  900.0] NVRM: one\n[  100.0] NVRM: another")
    earlier, this = read_boots(host)
    assert (earlier.value, texts(*this.value)) == ([], ["NVRM: one", "NVRM: another"])


def test_a_log_that_is_not_there_has_no_boots(host):
    assert [reading.status for reading in read_boots(host)] == ["absent", "absent"]
