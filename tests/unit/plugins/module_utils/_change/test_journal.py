# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import re
import stat
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import pair_lines, plan_back
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import (
    Journal,
    JournalError,
    check_run_id,
    new_run_id,
    read_journal,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal_lines import parse_lines
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from hypothesis import given
from hypothesis import strategies as st

START = {"address": "sysctl:vm.swappiness", "before": "60", "wanted": "10", "identity": None, "restores": False}
END = {"address": "sysctl:vm.swappiness", "after": "10", "outcome": "changed"}


@pytest.fixture
def journal(tree, host):
    tree.sysctl("kernel.random.boot_id", "boot-1")
    return Journal(host, "run-1", lock_timeout=0.2)


def write_once(journal):
    with journal:
        journal.start([START])
        journal.end([END])


def test_a_write_has_a_line_before_and_after(journal, host):
    write_once(journal)
    start, end = read_journal(host).value
    assert start.pop("at") <= end.pop("at")
    assert start == {"event": "start", "run": "run-1", "boot": "boot-1", "pid": os.getpid(), **START}
    assert end == {"event": "end", "run": "run-1", "boot": "boot-1", "pid": os.getpid(), **END}


def test_folder_and_files_are_ours_alone(journal, tree):
    write_once(journal)
    modes = {name: stat.S_IMODE(tree.path(f"/run/gpuhost/{name}").stat().st_mode)
             for name in ("", "journal.jsonl", "lock")}
    assert modes == {"": 0o700, "journal.jsonl": 0o600, "lock": 0o600}


def test_the_journal_only_grows(journal, tree, host):
    write_once(journal)
    first = tree.path("/run/gpuhost/journal.jsonl").read_bytes()
    write_once(Journal(host, "run-2"))
    both = tree.path("/run/gpuhost/journal.jsonl").read_bytes()
    assert both.startswith(first)
    assert [line["run"] for line in read_journal(host).value] == ["run-1", "run-1", "run-2", "run-2"]


def test_a_torn_last_line_is_left_out_and_spoils_nothing(journal, tree, host):
    write_once(journal)
    path = tree.path("/run/gpuhost/journal.jsonl")
    path.write_bytes(path.read_bytes() + b'{"event": "start", "address": "sysctl:vm.sw')
    write_once(Journal(host, "run-2"))
    assert [(line["run"], line["event"]) for line in read_journal(host).value] == [
        ("run-1", "start"), ("run-1", "end"), ("run-2", "start"), ("run-2", "end")]


GOOD = {"event": "end", "address": "sysctl:vm.swappiness"}


@pytest.mark.parametrize(("line", "reason"), [
    (b"[]", "not the start or the end"), (b"17", "not the start"), (b"null", "not the start"),
    (b"{}", "not the start"), (b'{"event": "start"}', "None is not the address of a tunable"),
    (b"\xff\xfe\x00", "not JSON"), (b'{"event": "end", "addr', "not JSON"), (b"[" * 100_000, "nested too deep"),
    (b'{"event": "end", "address": ' + b"1" * 5000 + b"}", "digits"),
    (b'{"event": "x", "address": "sysctl:a.b"}', "not the start"),
    (b'{"event": ["start"], "address": "sysctl:a.b"}', "not the start"),
    (b'{"event": "end", "address": ["sysctl:a.b"]}', "is not the address"),
    (b'{"event": "end", "address": "shell:rm"}', "'shell:rm' is not the address"),
    (b'{"event": "end", "address": "sysctl:../../etc/shadow"}', "is not a sysctl key"),
    (b'{"event": "end", "address": "pcie_maxreadreq:2460.0"}', "2460.0"),
    (b'{"event": "end", "address": "sysctl:vm.swappiness", "run": 7}', "run is no text"),
    (b'{"event": "end", "address": "sysctl:vm.swappiness", "after": {"a": 1}}', "neither a number nor text"),
    (b'{"event": "start", "address": "sysctl:vm.swappiness", "wanted": "1"}', "lacks the previous value"),
    (b'{"event": "start", "address": "sysctl:vm.swappiness", "before": "1", "together": "x"}', "not a list of "
                                                                                               "addresses"),
])
def test_a_line_that_cannot_be_used_is_told_and_the_others_are_used(line, reason):
    good = json.dumps(GOOD).encode()
    records, unusable = parse_lines(good + b"\n" + line + b"\n" + good + b"\n")
    assert records == [GOOD, GOOD]
    assert [one["line"] for one in unusable] == [2]
    assert reason in unusable[0]["reason"]


def test_of_many_lines_that_cannot_be_used_the_first_are_told():
    _records, unusable = parse_lines(b"x\n" * 1000)
    assert len(unusable) == 101
    assert unusable[-1] == {"line": 101, "reason": "and 900 lines after it"}


@given(st.lists(st.binary(max_size=80) | st.builds(
    lambda line, at, byte: line[:at] + bytes([byte]) + line[at + 1:],
    st.sampled_from([json.dumps(one).encode() for one in ({**START, "event": "start"}, {**END, "event": "end"})]),
    st.integers(0, 120), st.integers(0, 255)), max_size=6))
def test_whatever_its_bytes_a_way_back_is_planned(lines):
    records, _unusable = parse_lines(b"\n".join(lines))
    plan_back(pair_lines(records), "boot-1")
    plan_back(pair_lines(records), None, "run-1")


def test_without_the_id_of_the_boot_nothing_is_written(tree, journal):
    tree.remove("/proc/sys/kernel/random/boot_id")
    assert "has no boot id" in journal.obstacle()
    with pytest.raises(JournalError, match="has no boot id"):
        write_once(journal)
    assert not tree.path("/run").exists()


def test_a_read_only_run_is_told_beforehand(tree, journal):
    run = tree.folder("/run").path("/run")
    if os.system(f"mount -t tmpfs -o ro none {run} 2>/dev/null") != 0:
        pytest.skip("mount is not allowed here")
    try:
        assert "EROFS" in journal.obstacle()
    finally:
        os.system(f"umount {run}")


@pytest.mark.parametrize("name", ["journal.jsonl", "lock"])
def test_a_file_that_is_not_ours_is_told_beforehand(tree, journal, name):
    tree.folder("/run/gpuhost").path("/run/gpuhost").chmod(0o700)
    tree.file(f"/run/gpuhost/{name}", "").path(f"/run/gpuhost/{name}").chmod(0o666)
    assert "0666" in journal.obstacle()


def test_no_journal_is_absent(host):
    assert read_journal(host).status == "absent"


def test_a_second_writer_hears_who_holds_it_and_since_when(journal, host):
    with journal:
        before = time.monotonic()
        with pytest.raises(JournalError) as caught, Journal(host, "run-2", lock_timeout=0.3):
            pass
        waited = time.monotonic() - before
    message = str(caught.value)
    time_pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.search(rf"run run-1 \(pid {os.getpid()}\) has held the lock since {time_pattern}", message)
    assert 0.3 <= waited < 2


def test_a_second_writer_gets_it_when_the_first_lets_go(journal, host):
    child = os.fork()
    if child == 0:
        with journal:
            time.sleep(0.4)
        os._exit(0)
    time.sleep(0.1)
    write_once(Journal(host, "run-2", lock_timeout=5))
    assert os.waitpid(child, 0)[1] == 0
    assert [line["run"] for line in read_journal(host).value] == ["run-2", "run-2"]


def test_a_killed_writer_leaves_no_lock(journal, host):
    child = os.fork()
    if child == 0:
        journal.__enter__()
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    write_once(Journal(host, "run-2", lock_timeout=0))
    assert len(read_journal(host).value) == 2


@pytest.mark.parametrize("name", ["journal.jsonl", "lock"])
def test_a_link_in_the_place_of_a_file_is_not_followed(tree, host, journal, name):
    tree.file("/etc/victim", "mine")
    tree.folder("/run/gpuhost").link(f"/run/gpuhost/{name}", str(tree.path("/etc/victim")))
    tree.path("/run/gpuhost").chmod(0o700)
    with pytest.raises(JournalError, match="no journal, so no write"):
        write_once(journal)
    assert tree.path("/etc/victim").read_text() == "mine\n"


def test_a_second_name_of_another_file_is_not_written(tree, journal):
    tree.file("/etc/victim", "mine", mode=0o600)
    tree.folder("/run/gpuhost")
    os.link(tree.path("/etc/victim"), tree.path("/run/gpuhost/journal.jsonl"))
    tree.path("/run/gpuhost").chmod(0o700)
    with pytest.raises(JournalError, match="not a regular file"):
        write_once(journal)
    assert tree.path("/etc/victim").read_text() == "mine\n"


def test_a_link_in_the_place_of_the_folder_is_not_followed(tree, host, journal):
    tree.folder("/tmp/elsewhere").folder("/run").link("/run/gpuhost", str(tree.path("/tmp/elsewhere")))
    assert "no journal, so no write" in journal.obstacle()
    with pytest.raises(JournalError):
        write_once(journal)
    assert read_journal(host).status == "denied"
    assert list(tree.path("/tmp/elsewhere").iterdir()) == []


def test_a_folder_that_others_may_write_is_refused(tree, journal):
    tree.folder("/run/gpuhost")
    tree.path("/run/gpuhost").chmod(0o777)
    assert "0777" in journal.obstacle()
    with pytest.raises(JournalError, match="0777"):
        write_once(journal)


def test_a_fifo_does_not_hang(tree, host, journal):
    tree.folder("/run/gpuhost")
    tree.path("/run/gpuhost").chmod(0o700)
    os.mkfifo(tree.path("/run/gpuhost/journal.jsonl"), 0o600)
    with pytest.raises(JournalError):
        write_once(journal)
    assert read_journal(host).status == "denied"


def test_a_folder_without_the_marker_gets_no_journal(tree, journal):
    tree.remove("/.gpuhost-sysroot")
    assert ".gpuhost-sysroot" in journal.obstacle()
    with pytest.raises(JournalError, match="EROFS"):
        write_once(journal)
    assert not tree.path("/run").exists()


def test_looking_for_an_obstacle_creates_nothing(tree, journal):
    assert journal.obstacle() is None
    assert not tree.path("/run").exists()


def test_run_ids():
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", new_run_id())
    assert check_run_id("20261129T183000Z-4f2a") == "20261129T183000Z-4f2a"
    for bad in ("", "a/b", "../x", "x" * 65, "a b", "-x", "a\n"):
        with pytest.raises(ValueError, match="run_id"):
            check_run_id(bad)


def test_the_boot_is_that_of_the_write(tree, host, journal):
    write_once(journal)
    tree.sysctl("kernel.random.boot_id", "boot-2")
    write_once(Journal(Host(str(tree.root)), "run-2"))
    assert [line["boot"] for line in read_journal(host).value] == ["boot-1", "boot-1", "boot-2", "boot-2"]
