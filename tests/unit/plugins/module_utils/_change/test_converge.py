# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core that writes, tried with sysctls on a planted host whose kernel misbehaves on request."""
from __future__ import annotations

import errno

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import Journal, JournalError, read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysctl import SysctlKind

from hosts.faulty import FaultyHost

SWAPPINESS = "/proc/sys/vm/swappiness"
BALANCING = "/proc/sys/kernel/numa_balancing"
MAP_COUNT = "/proc/sys/vm/max_map_count"


@pytest.fixture
def host(tree):
    tree.sysctl("kernel.random.boot_id", "boot-1").sysctl("kernel.numa_balancing", 1).sysctl("vm.swappiness", 60)
    tree.sysctl("vm.max_map_count", 65530).sysctl("net.core.rmem_max", 212992)
    return FaultyHost(str(tree.root))


def run(host, values, **options):
    return set_values(SysctlKind(host), host, values, options.pop("names", []), run_id=options.pop("run_id", "r1"),
                      **options)


def outcomes(result):
    return {change["address"]: change["outcome"] for change in result["changes"]}


def change_of(result, address):
    return next(change for change in result["changes"] if change["address"] == address)


def test_a_change_is_written_once_and_read_back(host):
    result = run(host, {"vm.swappiness": 10})
    assert result["changed"] is True
    assert host.writes == [(SWAPPINESS, b"10\n")]
    assert change_of(result, "sysctl:vm.swappiness") == {
        "address": "sysctl:vm.swappiness", "before": "60", "wanted": "10", "after": "10", "outcome": "changed",
        "reason": None, "error": None, "certainty": None, "inexact": []}
    assert result["snapshot"] == {"vm.swappiness": "60"}
    assert result["readings"] == [{"address": "sysctl:vm.swappiness", "status": "ok", "value": "10", "detail": None}]


def test_a_second_run_writes_nothing_and_opens_no_journal(host, tree):
    run(host, {"vm.swappiness": 10, "net.core.rmem_max": {"at_least": 16777216}})
    journal = tree.path("/run/gpuhost/journal.jsonl")
    before = journal.read_bytes()
    journal.unlink()
    tree.path("/run/gpuhost/lock").unlink()
    host.writes.clear()
    result = run(host, {"vm.swappiness": 10, "net.core.rmem_max": {"at_least": 16777216}})
    assert (result["changed"], host.writes, set(outcomes(result).values())) == (False, [], {"unchanged"})
    assert before
    assert sorted(path.name for path in tree.path("/run/gpuhost").iterdir()) == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL, errno.EBUSY, errno.EIO,
                                    errno.ENOENT, errno.ENODEV, errno.ENOSPC, errno.ERANGE, errno.EAGAIN, 524])
def test_every_error_of_a_write_is_a_refusal_with_its_name(host, number):
    host.faults[SWAPPINESS] = number
    result = run(host, {"kernel.numa_balancing": 0, "vm.swappiness": 10, "vm.max_map_count": 1048576})
    assert outcomes(result) == {"sysctl:kernel.numa_balancing": "changed", "sysctl:vm.swappiness": "refused",
                                "sysctl:vm.max_map_count": "changed"}
    refused = change_of(result, "sysctl:vm.swappiness")
    name = "ENOTSUPP" if number == 524 else errno.errorcode[number]
    assert refused["error"].startswith(name)
    assert (refused["before"], refused["after"]) == ("60", "60")
    assert [path for path, _data in host.writes].count(SWAPPINESS) == 1
    assert f"sysctl:vm.swappiness: refused: wanted 10, found 60: {name}" in result["msg"]


@pytest.mark.parametrize(("number", "status"), [(errno.EACCES, "denied"), (errno.EIO, "unparsable"),
                                                (errno.EROFS, "read_only")])
def test_what_cannot_be_read_is_not_written(host, number, status):
    host.read_faults[SWAPPINESS] = number
    result = run(host, {"vm.swappiness": 10})
    assert outcomes(result) == {"sysctl:vm.swappiness": "refused"}
    assert result["readings"][0]["status"] == status
    assert host.writes == []


def test_a_write_that_is_ignored_is_refused(host):
    host.ignore(MAP_COUNT)
    result = run(host, {"vm.max_map_count": 1048576})
    assert (outcomes(result), result["changed"]) == ({"sysctl:vm.max_map_count": "refused"}, False)
    assert "was ignored" in result["changes"][0]["reason"]
    assert host.writes == [(MAP_COUNT, b"1048576\n")]


def test_a_clamped_value_is_refused_and_the_old_one_brought_back(host):
    host.clamp(MAP_COUNT, 100000)
    result = run(host, {"vm.max_map_count": 1048576})
    change = result["changes"][0]
    assert (change["outcome"], change["after"], result["changed"]) == ("refused", "65530", False)
    assert change["reason"] == "the write of 1048576 did not stick: read back 100000"
    assert host.writes == [(MAP_COUNT, b"1048576\n"), (MAP_COUNT, b"65530\n")]


def test_a_clamped_value_that_cannot_be_brought_back_says_so_and_counts_as_changed(host):
    host.effects[MAP_COUNT] = lambda data: host.put(MAP_COUNT, "100000")
    result = run(host, {"vm.max_map_count": 1048576})
    change = result["changes"][0]
    assert (change["outcome"], change["after"], result["changed"]) == ("refused", "100000", True)
    assert "65530 could not be restored" in change["reason"]
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), "boot-1")
    assert plan.restore["sysctl"]["vm.max_map_count"]["set"] == "65530"


def test_a_kernel_that_rounds_up_satisfies_at_least(host):
    host.effects["/proc/sys/net/core/rmem_max"] = lambda data: host.put("/proc/sys/net/core/rmem_max",
                                                                        str(int(data) + 192))
    result = run(host, {"net.core.rmem_max": {"at_least": 16777216}})
    assert (result["changes"][0]["outcome"], result["changes"][0]["after"]) == ("changed", "16777408")


@pytest.mark.parametrize("now", ["16777216", "33554432"])
def test_at_least_never_lowers(host, tree, now):
    tree.sysctl("net.core.rmem_max", now)
    result = run(host, {"net.core.rmem_max": {"at_least": 16777216}})
    assert (outcomes(result), host.writes) == ({"sysctl:net.core.rmem_max": "unchanged"}, [])
    assert host.read("/proc/sys/net/core/rmem_max").value == now


def test_at_least_of_several_numbers_is_refused(host, tree):
    tree.sysctl("net.ipv4.tcp_rmem", "4096\t131072\t6291456")
    result = run(host, {"net.ipv4.tcp_rmem": {"at_least": 4096}})
    assert "a single number" in result["changes"][0]["reason"]


# -- check mode --------------------------------------------------------------------------------------------------------


def test_check_mode_predicts_and_touches_nothing(host, tree):
    values = {"vm.swappiness": 10, "kernel.numa_balancing": 1, "vm.max_map_count": 1048576}
    predicted = run(host, values, check_mode=True)
    assert (host.writes, tree.path("/run").exists()) == ([], False)
    assert predicted["changed"] is True
    assert outcomes(predicted) == {"sysctl:vm.swappiness": "would_change", "sysctl:kernel.numa_balancing": "unchanged",
                                   "sysctl:vm.max_map_count": "would_change"}
    done = run(host, values)
    assert predicted["diff"] == done["diff"] == {
        "before": "sysctl:vm.swappiness = 60\nsysctl:vm.max_map_count = 65530\n",
        "after": "sysctl:vm.swappiness = 10\nsysctl:vm.max_map_count = 1048576\n"}
    assert predicted["snapshot"] == done["snapshot"]


def test_check_mode_says_what_only_the_kernel_can_tell(host, tree):
    tree.sysctl("kernel.panic_on_warn", 0)
    result = run(host, {"vm.swappiness": 10, "kernel.panic_on_warn": 1}, check_mode=True)
    assert [change["certainty"] for change in result["changes"]] == ["certain", "kernel_decides"]


# -- guards ------------------------------------------------------------------------------------------------------------


def test_a_guard_holds_back_a_write_over_a_foreign_value(host):
    result = run(host, {"vm.swappiness": {"set": "35", "only_from": "1"}})
    assert (outcomes(result), host.writes) == ({"sysctl:vm.swappiness": "refused"}, [])
    assert result["changes"][0]["reason"] == "changed by something else: found 60, expected 1"


def test_a_guarded_value_that_is_there_already_is_unchanged(host):
    assert outcomes(run(host, {"vm.swappiness": {"set": "60", "only_from": "1"}})) == {
        "sysctl:vm.swappiness": "unchanged"}


def test_a_guard_that_fits_lets_it_through(host):
    assert outcomes(run(host, {"vm.swappiness": {"set": "35", "only_from": "60"}})) == {
        "sysctl:vm.swappiness": "changed"}


def test_a_value_that_was_there_before_is_tried_whatever_is_known_about_it(host, tree):
    """A kernel with a wider range than ours said 300 before a run changed it."""
    tree.sysctl("vm.swappiness", 300)
    run(host, {"vm.swappiness": 10})
    assert outcomes(run(host, {"vm.swappiness": 300})) == {"sysctl:vm.swappiness": "refused"}
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), "boot-1")
    assert outcomes(run(host, plan.restore["sysctl"])) == {"sysctl:vm.swappiness": "changed"}


def test_an_identity_that_does_not_fit_holds_back_a_write(host):
    result = run(host, {"vm.swappiness": {"set": "35", "identity": "10de:2bb5"}})
    assert "another device" in result["changes"][0]["reason"]
    assert host.writes == []


# -- on_refusal --------------------------------------------------------------------------------------------------------


def test_undo_takes_back_what_the_call_changed_in_reverse_order(host):
    host.faults[MAP_COUNT] = errno.EPERM
    result = run(host, {"kernel.numa_balancing": 0, "vm.swappiness": 10, "vm.max_map_count": 1048576,
                        "net.core.rmem_max": 16777216}, on_refusal="undo")
    assert outcomes(result) == {"sysctl:kernel.numa_balancing": "reverted", "sysctl:vm.swappiness": "reverted",
                                "sysctl:vm.max_map_count": "refused", "sysctl:net.core.rmem_max": "skipped"}
    assert host.writes == [(BALANCING, b"0\n"), (SWAPPINESS, b"10\n"), (MAP_COUNT, b"1048576\n"),
                           (SWAPPINESS, b"60\n"), (BALANCING, b"1\n")]
    assert result["changed"] is False
    assert "rolled back: sysctl:vm.max_map_count was refused" in result["msg"]
    assert baseline.list_baselines(baseline.pair_lines(read_journal(host).value), "boot-1") == []


def test_undo_writes_nothing_where_a_refusal_is_known_before(host):
    result = run(host, {"vm.swappiness": 10, "kernel.numa_balancing": 9}, on_refusal="undo")
    assert outcomes(result) == {"sysctl:vm.swappiness": "skipped", "sysctl:kernel.numa_balancing": "refused"}
    assert host.writes == []


def test_undo_that_fails_says_what_is_left(host):
    host.faults[MAP_COUNT] = errno.EPERM
    taken = iter([lambda data: host.put(SWAPPINESS, "10"), lambda data: None])

    def take(data):
        next(taken)(data)

    host.effects[SWAPPINESS] = take
    result = run(host, {"vm.swappiness": 10, "vm.max_map_count": 1}, on_refusal="undo")
    left = change_of(result, "sysctl:vm.swappiness")
    assert (left["outcome"], left["after"], result["changed"]) == ("changed", "10", True)
    assert "60 could not be restored" in left["reason"]


def test_undo_without_a_journal_leaves_the_change_and_says_so(host, monkeypatch):
    """The journal filled up after the first write: without a record nothing is written, the way back neither."""
    real = Journal.start

    def start(journal, lines):
        lines = list(lines)
        if lines[0]["restores"]:
            raise JournalError("no space left")
        real(journal, lines)

    monkeypatch.setattr(Journal, "start", start)
    host.faults[MAP_COUNT] = errno.EPERM
    result = run(host, {"vm.swappiness": 10, "vm.max_map_count": 1}, on_refusal="undo")
    change = change_of(result, "sysctl:vm.swappiness")
    assert (change["outcome"], change["reason"], result["changed"]) == ("changed", "not undone: no space left", True)
    assert host.read(SWAPPINESS).value == "10"


# -- the journal -------------------------------------------------------------------------------------------------------


def test_record_first(host):
    """At the moment of the write the journal already says what is about to happen."""
    seen = []
    host.effects[SWAPPINESS] = lambda data: seen.extend(read_journal(host).value) or host.put(SWAPPINESS, "10")
    run(host, {"vm.swappiness": 10})
    assert [(line["event"], line["address"], line["before"], line["wanted"], line["run"]) for line in seen] == [
        ("start", "sysctl:vm.swappiness", "60", "10", "r1")]


def test_without_a_journal_nothing_is_written(host, tree):
    tree.file("/run/gpuhost", "in the way")
    result = run(host, {"vm.swappiness": 10})
    assert (outcomes(result), host.writes) == ({"sysctl:vm.swappiness": "refused"}, [])
    assert "no journal, so no write" in result["changes"][0]["reason"]


def test_a_journal_that_is_in_the_way_is_predicted(host, tree):
    tree.file("/run/gpuhost", "in the way")
    assert outcomes(run(host, {"vm.swappiness": 10}, check_mode=True)) == {"sysctl:vm.swappiness": "refused"}


def test_a_journal_that_fills_up_stops_the_writes(host, monkeypatch):
    real, lines = Journal.start, []

    def start(journal, new):
        lines.append(new)
        if len(lines) == 2:
            monkeypatch.setattr("os.fsync", full)
        real(journal, new)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Journal, "start", start)
    result = run(host, {"kernel.numa_balancing": 0, "vm.swappiness": 10, "vm.max_map_count": 1048576})
    assert outcomes(result) == {"sysctl:kernel.numa_balancing": "changed", "sysctl:vm.swappiness": "refused",
                                "sysctl:vm.max_map_count": "refused"}
    assert host.writes == [(BALANCING, b"0\n")]
    assert "ENOSPC" in result["msg"]


def test_a_held_lock_refuses_every_write_and_names_the_holder(host):
    with Journal(host, "the-other-run"):
        result = run(host, {"vm.swappiness": 10, "kernel.numa_balancing": 1}, lock_timeout=0.1)
    assert outcomes(result) == {"sysctl:vm.swappiness": "refused", "sysctl:kernel.numa_balancing": "unchanged"}
    assert "run the-other-run" in result["changes"][0]["reason"]
    assert host.writes == []


def test_the_before_is_read_again_once_the_lock_is_ours(host, monkeypatch):
    """Another run changed the value while this one waited."""
    real = Journal.__enter__

    def enter(journal):
        host.put(SWAPPINESS, "30")
        return real(journal)

    monkeypatch.setattr(Journal, "__enter__", enter)
    result = run(host, {"vm.swappiness": 10})
    assert result["changes"][0]["before"] == "30"
    assert read_journal(host).value[0]["before"] == "30"


def test_what_became_right_while_waiting_is_not_written(host, monkeypatch):
    real = Journal.__enter__

    def enter(journal):
        host.put(SWAPPINESS, "10")
        return real(journal)

    monkeypatch.setattr(Journal, "__enter__", enter)
    assert outcomes(run(host, {"vm.swappiness": 10})) == {"sysctl:vm.swappiness": "unchanged"}
    assert host.writes == []


def test_a_folder_without_the_marker_is_never_written(host, tree):
    tree.remove("/.gpuhost-sysroot")
    for check_mode in (True, False):
        result = run(host, {"vm.swappiness": 10}, check_mode=check_mode)
        assert outcomes(result) == {"sysctl:vm.swappiness": "refused"}
        assert ".gpuhost-sysroot" in result["changes"][0]["reason"]
    assert host.writes == []


# -- which names -------------------------------------------------------------------------------------------------------


def test_every_bad_value_is_named_before_anything_is_touched(host):
    with pytest.raises(ValueError, match="boolean") as caught:
        run(host, {"vm.swappiness": True, "../etc/passwd": 1, "kernel.numa_balancing": 0, "vm": 1})
    assert len(str(caught.value).splitlines()) == 3
    assert host.writes == []


def test_one_key_in_two_spellings_with_two_values_is_an_error(host):
    with pytest.raises(ValueError, match=r"both vm\.swappiness and vm/swappiness"):
        run(host, {"vm.swappiness": 10, "vm/swappiness": 20})
    assert outcomes(run(host, {"vm.swappiness": 10, "vm/swappiness": 10})) == {"sysctl:vm.swappiness": "changed"}


def test_without_values_it_only_reads(host):
    result = run(host, {}, names=["vm.swappiness", "vm.nope"])
    assert (result["changed"], result["changes"], result["msg"]) == (False, [], "")
    assert [(reading["address"], reading["status"], reading["value"]) for reading in result["readings"]] == [
        ("sysctl:vm.swappiness", "ok", "60"), ("sysctl:vm.nope", "absent", None)]
    assert result["snapshot"] == {"vm.swappiness": "60"}
    assert host.writes == []
