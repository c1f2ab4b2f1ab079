# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysfs import Attribute, SysfsKind

from hosts.cpu import CPU, CPUFREQ, plant_clocksource, plant_cpus, plant_frequency, plant_idle, policy_path
from hosts.faulty import FaultyHost
from hosts.memory import THP, plant_thp
from hosts.pci import device_path, plant_gpu, plant_root_port

ALL_GOVERNORS = f"{CPUFREQ}/policy*/scaling_governor"
ALL_PREFERENCES = f"{CPUFREQ}/policy*/energy_performance_preference"


@pytest.fixture
def host(tree):
    tree.sysctl("kernel.random.boot_id", "boot-1")
    return FaultyHost(str(tree.root))


def run(host, values, **options):
    return set_values(SysfsKind(host), host, values, options.pop("names", []), **options)


def restore(host):
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), "boot-1")
    return run(host, plan.restore.get("sysfs", {}))


def outcomes(result):
    return {change["address"].partition(":")[2]: change["outcome"] for change in result["changes"]}


def plant_active(tree, cpus=2, **fields):
    plant_frequency(tree, range(cpus), driver="amd-pstate-epp", governor="powersave", epp="balance_performance",
                    boost=None, **fields)


# -- bracketed choices -------------------------------------------------------------------------------------------------


def test_the_word_in_brackets_is_the_value(tree, host):
    plant_thp(tree, enabled="always")
    result = run(host, {f"{THP}/enabled": "madvise"})
    change = result["changes"][0]
    assert (change["before"], change["after"], change["outcome"]) == ("always", "madvise", "changed")
    assert host.writes == [(f"{THP}/enabled", b"madvise\n")]
    assert change["inexact"] == ["sysctl:vm.min_free_kbytes"]
    assert run(host, {f"{THP}/enabled": "madvise"})["changed"] is False
    restore(host)
    assert host.read(f"{THP}/enabled").value == "always"


def test_a_choice_with_a_plus(tree, host):
    plant_thp(tree, defrag="madvise")
    assert outcomes(run(host, {f"{THP}/defrag": "defer+madvise"})) == {f"{THP}/defrag": "changed"}


def test_a_word_the_kernel_does_not_offer_is_refused_before_the_write(tree, host):
    plant_thp(tree)
    for check_mode in (True, False):
        change = run(host, {f"{THP}/enabled": "sometimes"}, check_mode=check_mode)["changes"][0]
        assert change["error"] == "EINVAL (Invalid argument)"
        assert "'sometimes' is none of always, madvise, never" in change["reason"]
    assert host.writes == []


def test_a_leading_blank_is_refused_as_the_kernel_would(tree, host):
    """sysfs_streq() compares from the first sign on: ' madvise' is no choice, whatever is in force."""
    plant_thp(tree, enabled="madvise")
    change = run(host, {f"{THP}/enabled": " madvise"})["changes"][0]
    assert (change["outcome"], change["error"]) == ("refused", "EINVAL (Invalid argument)")
    assert "' madvise' is none of always, madvise, never" in change["reason"]
    assert host.writes == []


def test_an_offered_word_is_certain(tree, host):
    plant_thp(tree)
    assert run(host, {f"{THP}/enabled": "never"}, check_mode=True)["changes"][0]["certainty"] == "certain"


# -- patterns ----------------------------------------------------------------------------------------------------------


def test_a_pattern_means_every_file_that_fits(tree, host):
    online = plant_cpus(tree, sockets=1, cores=4, threads=2, offline=[5])
    plant_frequency(tree, online, governor="schedutil")
    result = run(host, {ALL_GOVERNORS: "performance"})
    assert len(result["changes"]) == 7
    assert {change["outcome"] for change in result["changes"]} == {"changed"}
    assert policy_path(5, "scaling_governor") not in outcomes(result)
    assert [host.read(policy_path(cpu, "scaling_governor")).value for cpu in online] == ["performance"] * 7
    restore(host)
    assert [host.read(policy_path(cpu, "scaling_governor")).value for cpu in online] == ["schedutil"] * 7


def test_a_file_named_itself_comes_before_a_pattern(tree, host):
    plant_frequency(tree, range(3))
    run(host, {policy_path(1, "scaling_governor"): "powersave", ALL_GOVERNORS: "performance"})
    assert [host.read(policy_path(cpu, "scaling_governor")).value for cpu in range(3)] == [
        "performance", "powersave", "performance"]


def test_two_patterns_that_disagree_are_an_error(tree, host):
    plant_frequency(tree, range(2))
    with pytest.raises(ValueError, match="to different values"):
        run(host, {ALL_GOVERNORS: "performance", f"{CPUFREQ}/policy[01]/scaling_governor": "powersave"})


def test_a_pattern_that_fits_nothing_is_absent(host):
    result = run(host, {ALL_GOVERNORS: "performance"})
    assert (outcomes(result), result["readings"][0]["status"]) == ({ALL_GOVERNORS: "refused"}, "absent")


def test_a_link_to_a_policy_is_that_policy(tree, host):
    plant_frequency(tree, range(1))
    tree.link(f"{CPU}/cpu0/cpufreq", "../cpufreq/policy0")
    result = run(host, {f"{CPU}/cpu0/cpufreq/scaling_governor": "performance"})
    assert outcomes(result) == {policy_path(0, "scaling_governor"): "changed"}


def test_a_link_out_of_the_list_is_refused(tree, host):
    tree.file("/sys/devices/system/cpu/cpu1/online", 1).link(f"{THP}/enabled", "/sys/devices/system/cpu/cpu1/online")
    result = run(host, {f"{THP}/enabled": "0"})
    assert "never written" in result["changes"][0]["reason"]
    assert host.writes == []


# -- a policy's files --------------------------------------------------------------------------------------------------


def test_governor_preference_boost_limits_in_this_order(tree, host):
    plant_frequency(tree, [0], driver="amd-pstate-epp", governor="powersave", epp="balance_power", policy_boost=0,
                    boost=0, min_khz=1500000, max_khz=2000000)
    names = ("boost", "scaling_min_freq", "scaling_max_freq", "energy_performance_preference", "scaling_governor")
    values = dict(zip(names, ("1", "1600000", "3300000", "performance", "performance")))
    result = run(host, {f"{CPUFREQ}/boost": 1, **{policy_path(0, name): values[name] for name in names}})
    assert {change["outcome"] for change in result["changes"]} == {"changed"}
    assert [path.rpartition("/")[2] for path, _data in host.writes] == [
        "scaling_governor", "energy_performance_preference", "boost", "boost", "scaling_max_freq", "scaling_min_freq"]
    assert host.writes[2][0] == f"{CPUFREQ}/boost"
    restore(host)
    assert host.read(policy_path(0, "scaling_governor")).value == "powersave"


def test_a_maximum_below_the_minimum_waits_for_it(tree, host):
    plant_frequency(tree, [0], min_khz=3000000, max_khz=3300000)
    run(host, {policy_path(0, "scaling_max_freq"): 2000000, policy_path(0, "scaling_min_freq"): 1500000})
    assert [path.rpartition("/")[2] for path, _data in host.writes] == ["scaling_min_freq", "scaling_max_freq"]


def test_a_policy_is_all_or_nothing(tree, host):
    """The kernel refuses the preference: the governor of this policy goes back, the other policy is done."""
    plant_active(tree)
    host.faults[policy_path(0, "energy_performance_preference")] = 16
    result = run(host, {ALL_GOVERNORS: "performance", ALL_PREFERENCES: "performance"})
    assert outcomes(result) == {
        policy_path(0, "scaling_governor"): "reverted", policy_path(0, "energy_performance_preference"): "refused",
        policy_path(1, "scaling_governor"): "changed", policy_path(1, "energy_performance_preference"): "changed"}
    assert host.read(policy_path(0, "scaling_governor")).value == "powersave"
    assert host.read(policy_path(1, "scaling_governor")).value == "performance"


def test_a_refusal_that_is_known_holds_back_the_policy(tree, host):
    plant_active(tree, cpus=1)
    result = run(host, {ALL_GOVERNORS: "performance", ALL_PREFERENCES: "turbo"})
    assert outcomes(result) == {policy_path(0, "scaling_governor"): "skipped",
                                policy_path(0, "energy_performance_preference"): "refused"}
    assert host.writes == []


def test_what_this_driver_does_not_have_holds_back_nothing(tree, host):
    """acpi-cpufreq has no preference: the governor is set all the same."""
    plant_frequency(tree, [0])
    result = run(host, {policy_path(0, "scaling_governor"): "performance",
                        policy_path(0, "energy_performance_preference"): "performance"})
    assert outcomes(result) == {policy_path(0, "scaling_governor"): "changed",
                                policy_path(0, "energy_performance_preference"): "refused"}


@pytest.mark.parametrize(("wanted", "outcome"), [("balance_power", "refused"), ("performance", "changed")])
def test_an_active_driver_with_performance_takes_no_other_preference(tree, host, wanted, outcome):
    plant_frequency(tree, [0], driver="amd-pstate-epp", governor="performance", epp="power")
    result = run(host, {policy_path(0, "energy_performance_preference"): wanted})
    assert result["changes"][0]["outcome"] == outcome
    assert outcome == "changed" or result["changes"][0]["error"].startswith("EBUSY")


def test_a_preference_that_the_governor_takes_along_comes_back_with_it(tree, host):
    plant_active(tree, cpus=1)
    governor, preference = policy_path(0, "scaling_governor"), policy_path(0, "energy_performance_preference")

    def write_governor(data):
        host.put(governor, data.decode().strip())
        if data == b"performance\n":
            host.put(preference, "performance")

    host.effects[governor] = write_governor
    result = run(host, {governor: "performance"})
    assert outcomes(result) == {governor: "changed", preference: "changed"}
    assert set(result["snapshot"]) == {governor, preference}
    restore(host)
    assert [host.read(path).value for path in (governor, preference)] == ["powersave", "balance_performance"]
    assert host.writes[-2:] == [(governor, b"powersave\n"), (preference, b"balance_performance\n")]


def test_a_frequency_outside_of_the_hardware_is_refused(tree, host):
    plant_frequency(tree, [0], hardware_min_khz=1500000, hardware_max_khz=3300000)
    result = run(host, {policy_path(0, "scaling_max_freq"): 5000000})
    assert "limits are 1500000 to 3300000 kHz" in result["changes"][0]["reason"]


def test_a_clamped_frequency_comes_back(tree, host):
    plant_frequency(tree, [0], max_khz=2000000)
    host.clamp(policy_path(0, "scaling_max_freq"), 3000000)
    change = run(host, {policy_path(0, "scaling_max_freq"): 3300000})["changes"][0]
    assert (change["outcome"], change["after"]) == ("refused", "2000000")
    assert "read back 3000000" in change["reason"]


def plant_boost_that_sets_limits_anew(tree, host):
    """Two policies, one with a limit of the operator's; a write of boost sets all limits, as cpufreq_boost_set_sw()."""
    plant_frequency(tree, [0, 1], hardware_max_khz=3300000, max_khz=3300000)
    tree.file(policy_path(1, "scaling_max_freq"), 2200000)

    def write_boost(data):
        host.put(f"{CPUFREQ}/boost", data.decode().strip())
        highest = "3300000" if data == b"1\n" else "2500000"
        for cpu in (0, 1):
            host.put(policy_path(cpu, "cpuinfo_max_freq"), highest)
            host.put(policy_path(cpu, "scaling_max_freq"), highest)

    host.effects[f"{CPUFREQ}/boost"] = write_boost
    return [policy_path(cpu, "scaling_max_freq") for cpu in (0, 1)]


def test_a_limit_that_boost_set_anew_comes_back_with_it(tree, host):
    limits = plant_boost_that_sets_limits_anew(tree, host)
    foreseen = run(host, {f"{CPUFREQ}/boost": 0}, check_mode=True)["changes"]
    assert [(change["outcome"], change["certainty"]) for change in foreseen] == [
        ("would_change", "certain"), ("would_change", "kernel_decides")]
    assert foreseen[1]["reason"] == f"the kernel may change it with sysfs:{CPUFREQ}/boost"
    assert host.writes == []
    result = run(host, {f"{CPUFREQ}/boost": 0})
    assert outcomes(result) == {f"{CPUFREQ}/boost": "changed", limits[1]: "changed"}
    assert [host.read(path).value for path in limits] == ["2500000", "2500000"]
    restore(host)
    assert [host.read(path).value for path in (f"{CPUFREQ}/boost", *limits)] == ["1", "3300000", "2200000"]


def test_a_limit_that_is_wanted_is_written_after_boost(tree, host):
    """It lies above what the hardware's limit is before boost is on, and boost would set it anew."""
    limits = plant_boost_that_sets_limits_anew(tree, host)
    run(host, {f"{CPUFREQ}/boost": 0})
    result = run(host, {f"{CPUFREQ}/boost": 1, limits[0]: 3000000, limits[1]: 2500000})
    assert outcomes(result) == {f"{CPUFREQ}/boost": "changed", limits[0]: "changed", limits[1]: "unchanged"}
    assert [host.read(path).value for path in limits] == ["3000000", "2500000"]


def test_a_limit_that_the_kernel_takes_over_a_moment_later_is_waited_for(tree, host, monkeypatch):
    """As seen on 6.12: a worker of the kernel takes the new limit over after write(2) has returned."""
    plant_frequency(tree, [0], hardware_max_khz=3300000, max_khz=3300000)
    limit = policy_path(0, "scaling_max_freq")
    monkeypatch.setattr(Attribute, "settles", 1.0)      # as on a live host
    worker = []
    host.effects[limit] = lambda data: worker.append(data.decode().strip())
    monkeypatch.setattr("time.sleep", lambda seconds: host.put(limit, worker[0]))
    assert outcomes(run(host, {limit: 2200000})) == {limit: "changed"}


def test_limits_that_are_the_hardware_s_are_not_recorded_with_boost(tree, host):
    plant_frequency(tree, [0, 1], hardware_max_khz=3300000, max_khz=3300000)
    result = run(host, {f"{CPUFREQ}/boost": 0})
    assert list(result["snapshot"]) == [f"{CPUFREQ}/boost"]


# -- other files -------------------------------------------------------------------------------------------------------


def test_idle_states_of_every_cpu(tree, host):
    plant_idle(tree, range(3))
    result = run(host, {f"{CPU}/cpu*/cpuidle/state2/disable": 1})
    assert len(result["changes"]) == 3
    assert {change["outcome"] for change in result["changes"]} == {"changed"}


def test_a_clocksource_that_is_not_offered_is_refused(tree, host):
    """The kernel takes any text for it, without an error."""
    plant_clocksource(tree, current="hpet", available="hpet acpi_pm ")
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    assert "none of hpet, acpi_pm" in run(host, {path: "tsc"})["changes"][0]["reason"]
    assert outcomes(run(host, {path: "acpi_pm"})) == {path: "changed"}


@pytest.mark.parametrize(("path", "now", "wanted"), [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1", "0"), (f"{CPUFREQ}/boost", "0", "1"),
    ("/sys/kernel/mm/ksm/run", "1", "0"), (f"{THP}/khugepaged/defrag", "1", "0"),
    (f"{THP}/khugepaged/pages_to_scan", "4096", "8192"), (f"{THP}/khugepaged/max_ptes_none", "511", "0"),
    (f"{THP}/khugepaged/scan_sleep_millisecs", "10000", "60000")])
def test_numbers(tree, host, path, now, wanted):
    tree.file(path, now)
    assert outcomes(run(host, {path: wanted})) == {path: "changed"}
    assert "EINVAL" in run(host, {path: "some"})["changes"][0]["reason"]


def test_aspm_policy(tree, host):
    path = "/sys/module/pcie_aspm/parameters/policy"
    tree.file(path, "[default] performance powersave powersupersave ")
    host.faults[path] = 1
    change = run(host, {path: "performance"})["changes"][0]
    assert (change["outcome"], change["error"], change["before"]) == (
        "refused", "EPERM (Operation not permitted)", "default")


def test_a_file_without_a_write_bit_is_refused(tree, host):
    tree.file("/sys/kernel/mm/ksm/run", 0, mode=0o444)
    assert "0444" in run(host, {"/sys/kernel/mm/ksm/run": 1})["changes"][0]["reason"]


# -- the list of what is never written ---------------------------------------------------------------------------------

GPU = "0000:01:00.0"
DEVICE = f"/sys/bus/pci/devices/{GPU}"
NEVER = [
    (f"{DEVICE}/remove", "removes or finds"), ("/sys/bus/pci/rescan", "removes or finds"),
    (f"{DEVICE}/rescan", "removes or finds"), (f"{DEVICE}/reset", "resets"), (f"{DEVICE}/reset_method", "resets"),
    ("/sys/bus/pci/drivers/nvidia/bind", "binds"), ("/sys/bus/pci/drivers/nvidia/unbind", "binds"),
    ("/sys/bus/pci/drivers/vfio-pci/new_id", "binds"), ("/sys/bus/pci/drivers/vfio-pci/remove_id", "binds"),
    ("/sys/bus/pci/drivers_probe", "binds"), (f"{DEVICE}/driver_override", "binds"), (f"{DEVICE}/rom", "ROM"),
    (f"{DEVICE}/resource0", "memory"), (f"{DEVICE}/resource2_wc", "memory"), (f"{DEVICE}/resource2_resize", "memory"),
    (f"{DEVICE}/config", "config space"), (f"{DEVICE}/link/l1_aspm", "PCIe link"),
    (f"{DEVICE}/numa_node", "taints"), (f"{DEVICE}/sriov_numvfs", "under its driver"),
    (f"{DEVICE}/enable", "under its driver"), (f"{DEVICE}/power/control", "suspends"),
    ("/sys/devices/system/cpu/cpu3/online", "takes processors"),
    ("/sys/devices/system/memory/memory9/online", "memory"),
    ("/sys/devices/system/cpu/smt/control", "takes processors"), ("/sys/power/state", "suspends"),
    ("/sys/power/disk", "suspends"), ("/sys/kernel/iommu_groups/12/type", "IOMMU group"),
    ("/sys/firmware/efi/efivars/Boot0000-8be4df61", "firmware"),
    ("/sys/fs/cgroup/lxc/101/cpuset.cpus", "control groups"),
    ("/sys/kernel/tracing/current_tracer", "tracing"), ("/sys/kernel/debug/sched/preempt", "debugging"),
    ("/sys/kernel/debug/tracing/tracing_on", "tracing"), ("/dev/watchdog", "reboot"), ("/dev/watchdog0", "reboot"),
    ("/sys/class/watchdog/watchdog0/nowayout", "reboot"), (f"{DEVICE}/uevent", "udev"),
    ("/proc/driver/nvidia/capabilities/mig/monitor", "MIG"),
    ("/proc/driver/nvidia/gpus/0000:01:00.0/power", "MIG"),
    ("/sys/module/nvidia/parameters/anything", "NVIDIA"),
    ("/sys/module/kvm/parameters/halt_poll_ns", "not on the list"), ("/sys/kernel/mm/ksm/pages_to_scan", "not on the "
                                                                                                         "list"),
    ("/proc/sys/vm/swappiness", "not on the list"), ("/etc/passwd", "not on the list"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_setspeed", "not on the list"),
]


@pytest.mark.parametrize(("path", "message"), NEVER)
def test_never_written(tree, host, path, message):
    plant_root_port(tree, "0000:00:01.1")
    plant_gpu(tree, GPU, parent="0000:00:01.1")
    tree.file(path, "0")
    for check_mode in (True, False):
        change = run(host, {path: "1"}, check_mode=check_mode)["changes"][0]
        assert change["outcome"] == "refused"
        assert message in change["reason"]
    assert (host.writes, tree.path("/run").exists()) == ([], False)


@pytest.mark.parametrize("name", ["remove", "config", "rom", "resource0"])
def test_never_written_by_the_long_path_of_a_device_either(tree, host, name):
    plant_root_port(tree, "0000:00:01.1")
    plant_gpu(tree, GPU, parent="0000:00:01.1")
    path = f"{device_path(tree, GPU)}/{name}"
    tree.file(path, "0")
    assert outcomes(run(host, {path: "1"})) == {path: "refused"}
    assert host.writes == []


def test_ksm_run_two_is_never_written(tree, host):
    """It would break up every page that is shared."""
    tree.file("/sys/kernel/mm/ksm/run", 0)
    assert "'2' is none of 0, 1" in run(host, {"/sys/kernel/mm/ksm/run": 2})["changes"][0]["reason"]
    assert host.writes == []


def test_what_would_wake_a_device_is_not_even_read(tree, host):
    plant_root_port(tree, "0000:00:01.1")
    plant_gpu(tree, GPU, parent="0000:00:01.1")
    opened = []
    host.read_bytes = lambda path, limit=0: opened.append(path) or b"0"
    result = run(host, {}, names=[f"{DEVICE}/config", f"{DEVICE}/current_link_speed"])
    assert [reading["status"] for reading in result["readings"]] == ["denied", "denied"]
    assert opened == []


def test_files_that_are_not_written_can_be_read(tree, host):
    tree.file("/sys/devices/system/cpu/smt/control", "on")
    result = run(host, {}, names=["/sys/devices/system/cpu/smt/control"])
    assert [(reading["status"], reading["value"]) for reading in result["readings"]] == [("ok", "on")]


@pytest.mark.parametrize("path", ["sys/kernel/mm/ksm/run", "", "/sys//kernel", "/sys/kernel/../../etc/passwd",
                                  "/sys/./x", "/sys/kernel/", "/"])
def test_paths_that_are_not_plain_are_rejected(host, path):
    with pytest.raises(ValueError, match=r"not an absolute path|is not normalised"):
        run(host, {path: "1"})


def test_at_least_is_for_sysctls(host):
    with pytest.raises(ValueError, match="at_least is for sysctls"):
        run(host, {policy_path(0, "scaling_max_freq"): {"at_least": 3300000}})
