# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This boot out of ring and journal, each line once, and earlier boots apart."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.kernel_log import (
    parse_journal,
    put_together,
    split_boots,
)


def journal(*texts, day="Nov 29", stamp=""):
    return [f"{day} 18:30:{at:02d} host kernel: {stamp}{text}" for at, text in enumerate(texts)]


WHOLE = ["[    0.000000] Linux version 6.8", "[    5.000000] NVRM: loading", "[   99.000000] NVRM: Xid 31"]


def test_a_whole_ring_is_all_of_this_boot():
    log = put_together(WHOLE, {0: journal("NVRM: loading", "NVRM: Xid 31")}, [])
    assert (log.this.splitlines(), log.earlier, log.notes) == (WHOLE, [], [])


def test_a_flood_that_has_pushed_out_its_cause():
    ring = [f"[ 7000.{at:06d}] NVRM: Xid 45" for at in range(3)]
    log = put_together(ring, {0: journal("NVRM: loading", "NVRM: Xid 62", *["NVRM: Xid 45"] * 5)}, [])
    assert log.this.splitlines() == ["NVRM: loading", "NVRM: Xid 62", "NVRM: Xid 45", "NVRM: Xid 45", *ring]
    assert log.notes == ["dmesg no longer holds the start of this boot: 4 lines of NVIDIA's driver are taken from the "
                         "journal"]


def test_without_a_journal_it_is_said_that_the_start_is_lost():
    log = put_together(["[ 7000.000000] x"], {}, [])
    assert log.notes == ["dmesg no longer holds the start of this boot, and no journal has the lines before it"]


def test_a_ring_that_may_not_be_read():
    log = put_together([], {0: journal("NVRM: Xid 79")}, [])
    assert (log.this, log.notes) == ("NVRM: Xid 79\n", [
        "dmesg printed nothing: 1 lines of NVIDIA's driver are taken from the journal"])


def test_earlier_boots_newest_first():
    log = put_together(WHOLE, {0: [], -1: journal("b", day="Nov 28"), -2: journal("a", day="Nov 27")}, [])
    assert [(one["boot"], one["text"]) for one in log.earlier] == [
        (-1, "Nov 28 18:30:00 kernel: b\n"), (-2, "Nov 27 18:30:00 kernel: a\n")]


def test_log_files_repeat_the_journals_and_reach_further_back():
    old = journal("NVRM: loading NVIDIA UNIX", "NVRM: Xid 8", day="Nov 20")
    last = journal("NVRM: loading NVIDIA UNIX", "NVRM: Xid 13", day="Nov 28")
    this = journal("NVRM: loading", "NVRM: Xid 31")
    log = put_together(WHOLE, {0: this, -1: last}, [*old, *last, *this])
    assert [(one["boot"], one["text"].count("Xid")) for one in log.earlier] == [(-1, 1), (-2, 1)]
    assert "Nov 20" in log.earlier[1]["text"]


def test_a_log_file_that_dates_in_another_way_repeats_the_journal_all_the_same():
    journals = {0: journal("NVRM: loading NVIDIA UNIX", "NVRM: Xid 31", day="Jan 26"),
                -1: journal("NVRM: loading NVIDIA UNIX", "NVRM: Xid 13", day="Jan 25")}
    files = [f"2026-01-{day}T18:30:{at}.718126-07:00 host kernel: {text}"
             for day, at, text in (("24", "00", "NVRM: loading NVIDIA UNIX"), ("24", "01", "NVRM: Xid 13"),
                                   ("25", "02", "NVRM: loading NVIDIA UNIX"), ("25", "03", "NVRM: Xid 13"),
                                   ("26", "01", "NVRM: loading NVIDIA UNIX"), ("26", "02", "NVRM: Xid 31"))]
    log = put_together(WHOLE, journals, files)
    assert [(one["boot"], one["text"].count("Xid")) for one in log.earlier] == [(-1, 1), (-2, 1)]
    assert "2026-01-24" in log.earlier[1]["text"]


def test_boots_of_a_log_file_are_told_apart_by_the_clock_of_the_kernel():
    lines = [*journal("first", day="Nov 1", stamp="[  900.000001] "),
             *journal("second", day="Nov 2", stamp="[    1.5] ")]
    log = put_together(WHOLE, {}, lines)
    assert [one["text"] for one in log.earlier] == ["Nov 2 18:30:00 kernel: second\n", "Nov 1 18:30:00 kernel: first\n"]


def test_this_boot_in_a_log_file_is_not_an_earlier_one():
    log = put_together(WHOLE, {}, journal("NVRM: loading", "NVRM: Xid 31", stamp="[    5.000000] "))
    assert log.earlier == []


def test_dates_of_many_languages():
    texts = ("Nov  9 18:30:00 h kernel: x", "feb 08 07:49:13 h kernel: x", "9\u6708 23 13:06:01 h kernel: x",
             "2026-01-26T12:53:36.718126-07:00 h kernel: x", "2026-01-26T12:53:36Z h kernel: [    1.000000] x")
    assert [line.text for line in parse_journal(texts)] == ["x"] * 5
    assert parse_journal(["Nov  9 18:30:00 h systemd[1]: kernel: x"]) == []


def test_the_further_lines_of_a_message():
    """journalctl indents them below the first one; those below a program's message are the program's."""
    head, indent = "Nov 29 18:30:00 host", " " * 35
    found = parse_journal([f"{head} kernel: NVRM: first, but", f"{indent}NVRM: second.", f"{indent}NVRM: third",
                           f"{head} Xorg[1]: another", f"{indent}of the program", f"{head} kernel: last"])
    assert [line.text for line in found] == ["NVRM: first, but", "NVRM: second.", "NVRM: third", "last"]
    assert {line.when for line in found} == {"Nov 29 18:30:00"}


def test_the_further_lines_are_in_ring_and_journal_once():
    ring = ["[ 7000.000000] NVRM: first, but", f"{' ' * 15}NVRM: second"]
    again = ["Nov 29 18:30:00 host kernel: NVRM: first, but", f"{' ' * 29}NVRM: second"]
    log = put_together(ring, {0: [*journal("NVRM: earlier"), *again]}, [])
    assert log.this.splitlines() == ["NVRM: earlier", *ring]


def test_boots_of_a_pasted_journal():
    """One begins with the kernel's version and with what was printed in the same second before it."""
    first = journal("Linux version 6.8.0", "NVRM: Xid 79", day="Nov 28")
    second = ["Nov 29 09:00:00 host kernel: microcode: updated early",
              "Nov 29 09:00:00 host kernel: Linux version 6.8.0",
              "Nov 29 09:00:05 host kernel: NVRM: loading"]
    assert split_boots([*first, *second]) == {-1: first, 0: second}
    assert split_boots(second) == {0: second}
    assert split_boots(second[2:]) == {0: second[2:]}
    stamped = [line.replace("kernel: ", "kernel: [    0.000000] ") for line in second]
    assert split_boots([*first, *stamped]) == {-1: first, 0: stamped}
