# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.text_file import parse_numbers, same_text
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysctl import SysctlKind

from hosts.faulty import FaultyHost

RATIO, BYTES = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"
BACKGROUND, BACKGROUND_BYTES = "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"


@pytest.fixture
def host(tree):
    tree.sysctl("kernel.random.boot_id", "boot-1")
    return FaultyHost(str(tree.root))


@pytest.fixture
def live(host, tree):
    """A host with a kernel behind its dirty pairs, which is what `live` says to the code."""
    host.exclusive(RATIO, BYTES)
    host.exclusive(BACKGROUND, BACKGROUND_BYTES, always=True)
    tree.folder("/run")
    host.live = True
    host.local = lambda path: str(tree.root) + path
    return host


def plant_dirty(tree, ratio=20, face=0, background=10, background_face=0):
    tree.sysctl("vm.dirty_ratio", ratio).sysctl("vm.dirty_bytes", face)
    tree.sysctl("vm.dirty_background_ratio", background).sysctl("vm.dirty_background_bytes", background_face)


def run(host, values, **options):
    return set_values(SysctlKind(host), host, values, [], **options)


def restore(host):
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), "boot-1")
    return run(host, plan.restore.get("sysctl", {}))


def outcomes(result):
    return {change["address"].partition(":")[2]: change["outcome"] for change in result["changes"]}


def values_of(host, *paths):
    return [host.read(path).value for path in paths]


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "numbers"), [
    ("60", [60]), ("-1", [-1]), ("4096\t131072\t6291456", [4096, 131072, 6291456]), (" 250  32000 ", [250, 32000]),
    ("0x3c", [60]), ("0", [0])])
def test_numbers_as_the_kernel_prints_and_takes_them(text, numbers):
    assert parse_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "cubic", "010", "1-5", "1,2", "1.5", "0b1", "1_000", "٣"])
def test_what_is_no_number_to_the_kernel(text):
    with pytest.raises(ValueError, match="number"):
        parse_numbers(text)


def test_tabs_and_blanks_mean_the_same_and_other_numbers_do_not():
    assert same_text("4096\t131072\t6291456", "4096 131072 6291456")
    assert same_text("60", "0x3c")
    assert not same_text("0512", "512")
    assert not same_text("4096 131072", "131072 4096")
    assert not same_text(None, "1")


# -- field cases -------------------------------------------------------------------------------------------------------


def test_a01_spaces_for_tabs_are_no_change_and_the_raw_text_is_kept(tree, host):
    """A-01."""
    tree.sysctl("net.ipv4.tcp_rmem", "4096\t131072\t6291456").sysctl("kernel.sem", "250\t32000\t100\t128")
    values = {"net.ipv4.tcp_rmem": "4096 131072 6291456", "kernel.sem": "250 32000 100 128"}
    for check_mode in (True, False):
        result = run(host, values, check_mode=check_mode)
        assert (result["changed"], host.writes) == (False, [])
    assert result["snapshot"] == {"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "kernel.sem": "250\t32000\t100\t128"}
    run(host, {"net.ipv4.tcp_rmem": "4096 65536 16777216"})
    restore(host)
    assert tree.path("/proc/sys/net/ipv4/tcp_rmem").read_bytes() == b"4096\t131072\t6291456\n"


def test_a02_each_of_several_keys_has_its_own_whole_value(tree, host):
    """A-02."""
    tree.sysctl("net.ipv4.tcp_rmem", "4096\t131072\t6291456").sysctl("net.ipv4.tcp_wmem", "4096\t16384\t4194304")
    tree.sysctl("net.ipv4.tcp_sack", 0).sysctl("vm.swappiness", 60)
    result = run(host, {"net.ipv4.tcp_rmem": "4096 65536 16777216", "net.ipv4.tcp_wmem": "4096 65536 16777217",
                        "net.ipv4.tcp_sack": 1, "vm.swappiness": 15})
    assert [(change["address"], change["before"], change["after"]) for change in result["changes"]] == [
        ("sysctl:net.ipv4.tcp_rmem", "4096\t131072\t6291456", "4096 65536 16777216"),
        ("sysctl:net.ipv4.tcp_wmem", "4096\t16384\t4194304", "4096 65536 16777217"),
        ("sysctl:net.ipv4.tcp_sack", "0", "1"), ("sysctl:vm.swappiness", "60", "15")]


def test_a05_a_read_only_file_is_refused_by_its_mode_and_the_others_are_done(tree, host):
    """A-05."""
    tree.sysctl("kernel.nmi_watchdog", 1).sysctl("vm.swappiness", 60)
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    values = {"kernel.nmi_watchdog": 0, "vm.swappiness": 10}
    predicted, done = run(host, values, check_mode=True), run(host, values)
    assert outcomes(predicted) == {"kernel.nmi_watchdog": "refused", "vm.swappiness": "would_change"}
    assert outcomes(done) == {"kernel.nmi_watchdog": "refused", "vm.swappiness": "changed"}
    for result in (predicted, done):
        assert result["changes"][0]["error"] == "EACCES (Permission denied)"
        assert result["changes"][0]["reason"] == "EACCES (Permission denied): the file mode is 0444"


def test_a_read_only_file_with_the_right_value_is_fine(tree, host):
    """A virtual machine has nmi_watchdog 0 with mode 0444."""
    tree.sysctl("kernel.nmi_watchdog", 0)
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    assert outcomes(run(host, {"kernel.nmi_watchdog": 0})) == {"kernel.nmi_watchdog": "unchanged"}


def test_a06_a_key_that_moved_is_absent_says_where_and_harms_no_other(tree, host):
    """A-06."""
    tree.sysctl("vm.swappiness", 60)
    result = run(host, {"kernel.sched_migration_cost_ns": 50000, "vm.swappiness": 10})
    assert outcomes(result) == {"kernel.sched_migration_cost_ns": "refused", "vm.swappiness": "changed"}
    assert "5.13" in result["changes"][0]["reason"]
    assert "debug/sched/migration_cost_ns" in result["changes"][0]["reason"]
    assert result["readings"][0]["status"] == "absent"
    assert outcomes(restore(host)) == {"vm.swappiness": "changed"}


def test_a08_dirty_bytes_come_back_and_zero_is_never_written(tree, live):
    """A-08."""
    plant_dirty(tree, ratio=0, face=268435456)
    result = run(live, {"vm.dirty_ratio": 10})
    assert values_of(live, RATIO, BYTES) == ["10", "0"]
    assert outcomes(result) == {"vm.dirty_ratio": "changed", "vm.dirty_bytes": "changed"}
    assert result["snapshot"] == {"vm.dirty_ratio": "0", "vm.dirty_bytes": "268435456"}
    restore(live)
    assert values_of(live, RATIO, BYTES) == ["0", "268435456"]
    assert (BYTES, b"0\n") not in live.writes
    assert live.writes == [(RATIO, b"10\n"), (BYTES, b"268435456\n")]


def test_a08_without_a_kernel_the_files_come_back_too(tree, host):
    """A-08."""
    plant_dirty(tree, ratio=0, face=268435456)
    run(host, {"vm.dirty_ratio": 10})
    restore(host)
    assert values_of(host, RATIO, BYTES) == ["0", "268435456"]


def test_a08_both_faces_not_zero_are_rejected(tree, host):
    """A-08."""
    plant_dirty(tree)
    with pytest.raises(ValueError, match="ratio/bytes alias pair"):
        run(host, {"vm.dirty_ratio": 10, "vm.dirty_bytes": 268435456})
    assert host.writes == []


def test_a10_back_to_what_was_running_not_to_a_default(tree, host):
    """A-10."""
    tree.sysctl("vm.swappiness", 35).file("/etc/sysctl.conf", "vm.swappiness = 60")
    run(host, {"vm.swappiness": 1})
    restore(host)
    assert host.read("/proc/sys/vm/swappiness").value == "35"


def test_a10_a_hand_change_is_reported_and_left_unless_forced(tree, host):
    """A-10."""
    tree.sysctl("vm.swappiness", 35)
    run(host, {"vm.swappiness": 1})
    host.put("/proc/sys/vm/swappiness", "20")
    result = restore(host)
    assert result["changes"][0]["reason"] == "changed by something else: found 20, expected 1"
    assert host.read("/proc/sys/vm/swappiness").value == "20"
    run(host, {"vm.swappiness": {"set": "35", "restores": True}})
    assert host.read("/proc/sys/vm/swappiness").value == "35"
    assert restore(host)["changes"] == []


def test_a11_an_aborted_run_leaves_a_record_of_exactly_what_it_changed(tree, host):
    """A-11."""
    keys = [f"vm.k{number}" for number in range(9)]
    for key in keys:
        tree.sysctl(key, 1)

    class Aborted(BaseException):
        pass

    def abort(data):
        raise Aborted

    host.effects["/proc/sys/vm/k3"] = abort
    with pytest.raises(Aborted):
        run(host, dict.fromkeys(keys, 2))
    assert values_of(host, *(f"/proc/sys/vm/k{number}" for number in range(9))) == ["2"] * 3 + ["1"] * 6
    writes = baseline.pair_lines(read_journal(host).value)
    assert [write.address for write in writes if write.outcome == "changed"] == [
        "sysctl:vm.k0", "sysctl:vm.k1", "sysctl:vm.k2"]
    del host.effects["/proc/sys/vm/k3"]
    assert outcomes(restore(host)) == {"vm.k3": "unchanged", "vm.k2": "changed", "vm.k1": "changed", "vm.k0": "changed"}


def test_a12_equal_values_are_not_written(tree, host):
    """A-12."""
    tree.sysctl("vm.swappiness", 10).sysctl("kernel.numa_balancing", 0)
    result = run(host, {"vm.swappiness": 10, "kernel.numa_balancing": "0"})
    assert (host.writes, result["changed"]) == ([], False)


@pytest.mark.parametrize("key", ["kernel.random.uuid", "fs.file-nr", "kernel.random.entropy_avail",
                                 "kernel.ns_last_pid", "net.ipv4.tcp_fastopen_key",
                                 "net.ipv6.conf.default.stable_secret", "net.core.netdev_rss_key",
                                 "kernel.example_password"])
def test_a14_volatile_keys_are_refused_by_name(tree, host, key):
    """A-14."""
    tree.file("/proc/sys/" + key.replace(".", "/"), "1")
    read = set_values(SysctlKind(host), host, {}, [key])
    assert (read["readings"][0]["status"], read["snapshot"]) == ("denied", {})
    assert "never read" in read["readings"][0]["detail"]
    assert outcomes(run(host, {key: 1})) == {key: "refused"}


def test_a14_two_snapshots_without_a_change_are_equal(tree, host):
    """A-14."""
    plant_dirty(tree)
    tree.sysctl("vm.swappiness", 60)
    first, second = (set_values(SysctlKind(host), host, {}, ["vm.swappiness", "vm.dirty_ratio"]) for _turn in range(2))
    assert first["snapshot"] == second["snapshot"] == {"vm.swappiness": "60", "vm.dirty_ratio": "20",
                                                       "vm.dirty_bytes": "0"}


def test_a16_restore_twice_has_nothing_to_do(tree, host):
    """A-16."""
    tree.sysctl("vm.swappiness", 60)
    run(host, {"vm.swappiness": 10})
    restore(host)
    host.writes.clear()
    for _turn in range(2):
        result = restore(host)
        assert (result["changed"], result["changes"], host.writes) == (False, [], [])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_a18_a_read_only_mount_counts_for_the_files_below_it_only(tree, host):
    """A-18."""
    tree.sysctl("kernel.numa_balancing", 1).sysctl("vm.swappiness", 60).sysctl("net.core.somaxconn", 4096)
    mounted = tree.path("/proc/sys/kernel")
    if os.system(f"mount -t tmpfs none {mounted} 2>/dev/null") != 0:
        pytest.skip("mount is not allowed here")
    try:
        tree.sysctl("kernel.numa_balancing", 1).sysctl("kernel.random.boot_id", "boot-1")
        assert os.system(f"mount -o remount,ro {mounted}") == 0
        values = {"kernel.numa_balancing": 0, "vm.swappiness": 10, "net.core.somaxconn": 8192}
        predicted, done = run(host, values, check_mode=True), run(host, values)
    finally:
        os.system(f"umount {mounted}")
    assert outcomes(predicted) == {"kernel.numa_balancing": "refused", "vm.swappiness": "would_change",
                                   "net.core.somaxconn": "would_change"}
    assert outcomes(done) == {"kernel.numa_balancing": "refused", "vm.swappiness": "changed",
                              "net.core.somaxconn": "changed"}
    assert done["changes"][0]["error"] == "EROFS (Read-only file system)"


def test_a20_the_mode_comes_back_not_one(tree, host):
    """A-20."""
    tree.sysctl("kernel.numa_balancing", 2)
    run(host, {"kernel.numa_balancing": 0})
    restore(host)
    assert host.read("/proc/sys/kernel/numa_balancing").value == "2"


# -- pairs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "wanted"), [
    ((20, 0), {"vm.dirty_ratio": 10}), ((20, 0), {"vm.dirty_bytes": 1 << 28}), ((0, 1 << 28), {"vm.dirty_ratio": 10}),
    ((0, 1 << 28), {"vm.dirty_bytes": 1 << 29}), ((0, 0), {"vm.dirty_ratio": 10}),
    ((0, 0), {"vm.dirty_bytes": 1 << 28}),
    ((20, 0), {"vm.dirty_ratio": 10, "vm.dirty_bytes": 0}), ((0, 1 << 28), {"vm.dirty_ratio": 5, "vm.dirty_bytes": 0}),
    ((1, 0), {"vm.dirty_bytes": 1 << 28})])
@pytest.mark.parametrize("names", [("vm.dirty_ratio", "vm.dirty_bytes"),
                                   ("vm.dirty_background_ratio", "vm.dirty_background_bytes")])
def test_every_pair_comes_back(tree, live, before, wanted, names):
    plant_dirty(tree)
    ratio, face = names
    tree.sysctl(ratio, before[0]).sysctl(face, before[1])
    wanted = {(ratio if key.endswith("ratio") else face): value for key, value in wanted.items()}
    done = run(live, wanted)
    assert "refused" not in outcomes(done).values(), done["msg"]
    for key, value in wanted.items():
        assert live.read("/proc/sys/" + key.replace(".", "/")).value == str(value)
    back = restore(live)
    assert "refused" not in outcomes(back).values(), back["msg"]
    paths = ["/proc/sys/" + key.replace(".", "/") for key in names]
    assert values_of(live, *paths) == [str(value) for value in before]
    assert all(data != b"0\n" for path, data in live.writes if path.endswith("bytes"))


def test_both_zero_needs_another_ratio_first(tree, live):
    plant_dirty(tree, ratio=0, face=0)
    run(live, {"vm.dirty_bytes": 1 << 28})
    live.writes.clear()
    restore(live)
    assert live.writes == [(RATIO, b"1\n"), (RATIO, b"0\n")]
    assert values_of(live, RATIO, BYTES) == ["0", "0"]


def test_an_equal_background_ratio_is_not_written_over_its_bytes(tree, live):
    plant_dirty(tree, background=0, background_face=1 << 26)
    run(live, {"vm.dirty_background_ratio": 0})
    assert values_of(live, BACKGROUND_BYTES) == [str(1 << 26)]


def test_a_pair_is_all_or_nothing(tree, live):
    """Somebody set the bytes since: then the ratio is not brought back either."""
    plant_dirty(tree, ratio=20)
    run(live, {"vm.dirty_bytes": 1 << 28})
    live.put(BYTES, str(1 << 30))
    result = restore(live)
    assert outcomes(result) == {"vm.dirty_ratio": "skipped", "vm.dirty_bytes": "refused"}
    assert values_of(live, RATIO, BYTES) == ["0", str(1 << 30)]


def test_zero_bytes_alone_is_refused_with_the_way_to_say_it(tree, live):
    plant_dirty(tree, ratio=0, face=1 << 28)
    result = run(live, {"vm.dirty_bytes": 0})
    assert "sysctl:vm.dirty_ratio applies: set that one" in result["changes"][0]["reason"]
    assert live.writes == []


def test_a_snapshot_with_both_faces_can_be_applied(tree, live):
    plant_dirty(tree, ratio=20)
    snapshot = run(live, {"vm.dirty_bytes": 1 << 28})["snapshot"]
    assert snapshot == {"vm.dirty_ratio": "20", "vm.dirty_bytes": "0"}
    run(live, snapshot)
    assert values_of(live, RATIO, BYTES) == ["20", "0"]


def test_check_mode_foresees_what_the_kernel_clears(tree, live):
    plant_dirty(tree, ratio=0, face=1 << 28)
    result = run(live, {"vm.dirty_ratio": 10}, check_mode=True)
    assert result["diff"] == run(live, {"vm.dirty_ratio": 10})["diff"]


def test_overcommit_is_a_pair_too(tree, host):
    tree.sysctl("vm.overcommit_ratio", 0).sysctl("vm.overcommit_kbytes", 1048576)
    assert set(run(host, {"vm.overcommit_ratio": 50})["snapshot"]) == {"vm.overcommit_ratio", "vm.overcommit_kbytes"}
    with pytest.raises(ValueError, match="ratio/bytes alias pair"):
        run(host, {"vm.overcommit_ratio": 50, "vm.overcommit_kbytes": 5})


def test_watchdog_is_written_before_nmi_watchdog(tree, host):
    for key in ("watchdog", "soft_watchdog", "nmi_watchdog"):
        tree.sysctl(f"kernel.{key}", 0)
    run(host, {"kernel.nmi_watchdog": 1, "kernel.watchdog": 1})
    assert [path for path, _data in host.writes] == ["/proc/sys/kernel/watchdog", "/proc/sys/kernel/nmi_watchdog"]


def test_what_a_watchdog_takes_along_comes_back_too(tree, host):
    for key in ("watchdog", "soft_watchdog", "nmi_watchdog"):
        tree.sysctl(f"kernel.{key}", 1)

    def write_watchdog(data):
        for key in ("watchdog", "soft_watchdog", "nmi_watchdog"):
            host.put(f"/proc/sys/kernel/{key}", str(int(data)))

    host.effects["/proc/sys/kernel/watchdog"] = write_watchdog
    result = run(host, {"kernel.watchdog": 0})
    assert outcomes(result) == {"kernel.watchdog": "changed", "kernel.soft_watchdog": "changed",
                                "kernel.nmi_watchdog": "changed"}
    restore(host)
    assert values_of(host, *(f"/proc/sys/kernel/{key}" for key in ("watchdog", "soft_watchdog", "nmi_watchdog"))) == [
        "1", "1", "1"]


# -- rules and predictions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [
    "kernel.modules_disabled", "kernel.kexec_load_disabled", "kernel.kexec_load_limit_panic",
    "kernel.unprivileged_bpf_disabled", "kernel.yama.ptrace_scope", "kernel.cad_pid", "kernel.modprobe",
    "kernel.poweroff_cmd", "kernel.core_pattern", "kernel.usermodehelper.bset", "kernel.random.boot_id",
    "kernel.ftrace_dump_on_oops", "fs.binfmt_misc.register"])
def test_one_way_keys_are_read_and_never_written(tree, host, key):
    tree.sysctl(key, 0)
    result = run(host, {key: 1})
    assert outcomes(result) == {key: "refused"}
    assert "never written" in result["changes"][0]["reason"]
    assert host.writes == []


@pytest.mark.parametrize("key", ["vm.drop_caches", "vm.compact_memory", "vm.stat_refresh", "net.ipv4.route.flush"])
def test_write_only_keys_are_not_even_read(tree, host, key):
    host.read_faults["/proc/sys/" + key.replace(".", "/")] = 13
    result = run(host, {key: 1})
    assert "never read" in result["changes"][0]["reason"]
    assert host.writes == []


@pytest.mark.parametrize(("key", "now", "wanted", "message"), [
    ("kernel.numa_balancing", "1", 5, "the kernel takes 0 to 4"),
    ("vm.swappiness", "60", 201, "the kernel takes 0 to 200"),
    ("vm.swappiness", "60", "-1", "the kernel takes 0 to 200"), ("vm.dirty_ratio", "20", 101, "0 to 100"),
    ("vm.dirty_bytes", "0", 4096, "the kernel takes 8192"), ("net.core.rmem_max", "212992", 1024, "2304"),
    ("net.core.rmem_max", "212992", 1 << 31, "2147483647"), ("vm.swappiness", "60", "sixty", "not a number"),
    ("vm.swappiness", "60", "010", "'010' is not a number"), ("vm.swappiness", "60", "60 99", "holds 1 number"),
    ("net.ipv4.ip_local_port_range", "32768\t60999", "1024 65535 1", "holds 2 numbers"),
    ("net.ipv4.tcp_rmem", "4096\t131072\t6291456", "4096", "holds 3 numbers")])
def test_values_that_the_kernel_would_refuse_or_cut_are_predicted(tree, host, key, now, wanted, message):
    tree.sysctl("vm.dirty_ratio", 20).sysctl(key, now)
    for check_mode in (True, False):
        change = run(host, {key: wanted}, check_mode=check_mode)["changes"][0]
        assert change["outcome"] == "refused"
        assert message in change["reason"]
    assert host.writes == []


def test_words_are_left_to_the_kernel(tree, host):
    tree.sysctl("net.ipv4.tcp_congestion_control", "cubic")
    result = run(host, {"net.ipv4.tcp_congestion_control": "bbr"}, check_mode=True)
    assert result["changes"][0]["certainty"] == "kernel_decides"
    assert outcomes(run(host, {"net.ipv4.tcp_congestion_control": "bbr"})) == {
        "net.ipv4.tcp_congestion_control": "changed"}


@pytest.mark.parametrize("key", ["../../etc/passwd", "/proc/sys/vm/swappiness", "vm", "vm..swappiness", "", "vm/../vm",
                                 "vm.swappiness\n"])
def test_keys_that_lead_elsewhere_are_rejected(host, key):
    with pytest.raises(ValueError, match=r"not a sysctl key|no folder"):
        run(host, {key: 1})


def test_interface_names_with_dots(tree, host):
    tree.file("/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "2")
    for key in ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"):
        result = run(host, {key: 2})
        assert outcomes(result) == {"net.ipv4.conf.eth0/100.rp_filter": "unchanged"}


def test_a_file_without_a_line_end_keeps_none(tree, host):
    tree.file("/proc/sys/vm/swappiness", b"60")
    run(host, {"vm.swappiness": 10})
    assert tree.path("/proc/sys/vm/swappiness").read_bytes() == b"10"
    restore(host)
    assert tree.path("/proc/sys/vm/swappiness").read_bytes() == b"60"
