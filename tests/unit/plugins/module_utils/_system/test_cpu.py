# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.cpulist import parse_cpulist
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import cpu
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.cpu import count_cores, read

from hosts.cpu import (
    VM_FLAGS,
    plant_clocksource,
    plant_cpus,
    plant_frequency,
    plant_idle,
    plant_no_frequency,
    plant_uncore,
    write_files,
)
from hosts.dgx_spark import dgx_spark
from hosts.kernel import plant_kernel, plant_kernel_config


@pytest.fixture
def opened(monkeypatch):
    """Paths of the files that were read, in order."""
    paths = []
    read_bytes = Host.read_bytes

    def spy(self, path, *rest):
        paths.append(path)
        return read_bytes(self, path, *rest)

    monkeypatch.setattr(Host, "read_bytes", spy)
    return paths


def test_two_sockets_with_one_cpu_offline(tree, host):
    online = plant_cpus(tree, sockets=2, cores=64, threads=2, offline=[239])
    plant_frequency(tree, online)
    facts = read(host)
    assert (facts["vendor"], facts["family"], facts["model"], facts["stepping"]) == ("AuthenticAMD", 26, 2, 1)
    assert facts["model_name"] == "AMD EPYC 9575F 64-Core Processor"
    assert facts["microcode"] == ["0xb002147"]
    assert (facts["logical"], facts["online"], facts["offline"]) == (256, "0-238,240-255", [239])
    assert (facts["sockets"], facts["cores"]) == (2, 128)
    assert (facts["smt"]["control"].value, facts["smt"]["active"].value) == ("on", 1)
    assert facts["flags"] == {"hypervisor": False, "cppc": True, "constant_tsc": True, "nonstop_tsc": True}


def test_offline_cpu_has_no_policy_and_no_error(tree, host):
    online = plant_cpus(tree, offline=[239])
    plant_frequency(tree, online)
    plant_idle(tree, online)
    facts = read(host)
    policies = facts["frequency"]["policies"]
    assert len(policies) == 255
    assert all(policy["governor"].ok for policy in policies)
    assert "policy239" not in [policy["policy"] for policy in policies]
    assert {state["cpus"] for state in facts["idle"]["states"]} == {"0-238,240-255"}


@pytest.mark.parametrize("text, cpus", [("\n", ""), ("2-31,34", "2-31,34"), ("(null)", ""), ("4,3", "3-4")])
def test_cpus_that_are_set_apart(tree, host, text, cpus):
    plant_cpus(tree, sockets=1, cores=2)
    write_files(tree, cpu.CPU, {"isolated": text, "nohz_full": text})
    facts = read(host)
    assert (facts["isolated"].value, facts["nohz_full"].value) == (cpus, cpus)


def test_kernel_without_these_files(host):
    facts = read(host)
    assert {facts[name].status for name in ("isolated", "nohz_full", "vulnerabilities")} == {"absent"}
    assert (facts["uncore"], facts["frequency"]["max_perf_pct"].status) == ([], "absent")


def test_vulnerabilities_in_the_words_of_the_kernel(tree, host):
    plant_cpus(tree, sockets=1, cores=1, vulnerabilities={"mds": "Not affected", "retbleed": "Vulnerable"})
    assert read(host)["vulnerabilities"].value == [{"name": "mds", "state": "Not affected"},
                                                   {"name": "retbleed", "state": "Vulnerable"}]


def test_uncore_limits_by_domain(tree, host):
    plant_uncore(tree, "package_00_die_00", max_khz=1400000)
    domain, = read(host)["uncore"]
    assert domain.pop("domain") == "package_00_die_00"
    assert {name: reading.value for name, reading in domain.items()} == {
        "min_khz": 800000, "max_khz": 1400000, "initial_min_khz": 800000, "initial_max_khz": 2500000}


def test_lines_that_give_up_the_time_stamp_counter(host):
    log = ok([{"seconds": 0.1, "text": "tsc: Detected 3300.000 MHz processor"},
              {"seconds": 9.0, "text": "tsc: Marking TSC unstable due to clocksource watchdog"}])
    assert read(host, log=log)["clocksource"]["unstable"].value == [
        "tsc: Marking TSC unstable due to clocksource watchdog"]


def test_core_whose_both_threads_are_offline_does_not_count(tree, host):
    plant_cpus(tree, sockets=1, cores=4, threads=2, offline=[3, 7])
    facts = read(host)
    assert (facts["offline"], facts["cores"], facts["sockets"]) == ([3, 7], 3, 1)


def test_without_smt(tree, host):
    plant_cpus(tree, sockets=1, cores=4, threads=1)
    facts = read(host)
    assert (facts["logical"], facts["cores"]) == (4, 4)
    assert (facts["smt"]["control"].value, facts["smt"]["active"].value) == ("notsupported", 0)


def test_virtual_machine(tree, host):
    plant_cpus(tree, sockets=1, cores=2, threads=1, flags=VM_FLAGS)
    plant_no_frequency(tree)
    plant_clocksource(tree, "kvm-clock", "kvm-clock tsc acpi_pm ")
    facts = read(host)
    assert facts["flags"]["hypervisor"] is True
    assert facts["flags"]["cppc"] is False
    assert facts["acpi_cppc"] is False
    assert facts["clocksource"] == {"unstable": ("absent", None, "ENOENT (No such file or directory)"),
                                    "current": ("ok", "kvm-clock", None),
                                    "available": ("ok", ["kvm-clock", "tsc", "acpi_pm"], None)}
    assert (facts["frequency"]["policies"], facts["frequency"]["drivers"], facts["idle"]["states"]) == ([], [], [])


def test_arm_has_its_cores_in_sysfs_only(tree, host):
    plant_cpus(tree, sockets=2, cores=4, threads=1)
    tree.file("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n\n")
    facts = read(host)
    assert (facts["sockets"], facts["cores"]) == (2, 8)
    assert (facts["vendor"], facts["family"], facts["microcode"]) == (None, None, [])


def test_unknown_package_is_no_socket(tree, host):
    write_files(tree, "/sys/devices/system/cpu/cpu0/topology", {"physical_package_id": -1, "core_id": 0})
    assert count_cores(host, cpu.read_cpuinfo(host), [0]) == {"sockets": None, "cores": 1}
    assert count_cores(host, cpu.read_cpuinfo(host), []) == {"sockets": None, "cores": None}


def test_cores_of_arm_are_told_by_their_siblings(tree, host):
    """Two dies of one package whose core ids repeat, two threads a core: no pair of ids tells them apart."""
    for number in range(8):
        write_files(tree, f"/sys/devices/system/cpu/cpu{number}/topology", {
            "physical_package_id": 0, "core_id": number // 2 % 2,
            "core_cpus_list": f"{number - number % 2}-{number - number % 2 + 1}"})
    assert count_cores(host, cpu.read_cpuinfo(host), range(8)) == {"sockets": 1, "cores": 4}


def test_cpus_are_counted_where_no_list_tells(tree, host):
    tree.folder("/sys/devices/system/cpu/cpu0").folder("/sys/devices/system/cpu/cpu11").folder(
        "/sys/devices/system/cpu/cpufreq")
    assert read(host)["logical"] == 2


def test_cpus_are_counted_in_cpuinfo_where_nothing_else_tells(tree, host):
    tree.file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Old\n\nprocessor\t: 1\nmodel name\t: Old\n\n")
    assert read(host)["logical"] == 2


def test_performance_and_efficient_cores(tree, host):
    plant_cpus(tree, sockets=1, cores=4, threads=1)
    assert read(host)["kinds"] == []
    tree.file("/sys/devices/cpu_core/cpus", "0-1").file("/sys/devices/cpu_atom/cpus", "2-3")
    assert read(host)["kinds"] == [{"name": "performance cores", "cpus": "0-1"},
                                   {"name": "efficient cores", "cpus": "2-3"}]


def test_b01_two_kinds_of_arm_cores_are_named(tree, host):
    dgx_spark(tree)
    facts = read(host)
    assert facts["model_name"] == "Arm Cortex-X925 and Cortex-A725"
    assert facts["kinds"] == [{"name": "Cortex-X925", "cpus": "5-9,15-19"},
                              {"name": "Cortex-A725", "cpus": "0-4,10-14"}]
    assert {policy["headroom"].value for policy in facts["frequency"]["policies"]} == {0.0, 1.9, 2.0, 2.7}


def test_empty_host(host):
    facts = read(host)
    assert (facts["logical"], facts["online"], facts["offline"]) == (None, None, None)
    assert (facts["sockets"], facts["cores"], facts["model_name"]) == (None, None, None)
    assert facts["flags"] == {"hypervisor": False, "cppc": False, "constant_tsc": False, "nonstop_tsc": False}
    assert facts["frequency"]["kernel_has_amd_pstate"].status == "absent"


def test_odd_list_of_cpus_is_unknown(tree, host):
    plant_cpus(tree, sockets=1, cores=2, threads=1)
    tree.file("/sys/devices/system/cpu/online", "all of them")
    facts = read(host)
    assert (facts["logical"], facts["online"], facts["offline"]) == (2, None, None)


def signs(tree, host, *, config, cppc):
    """What tells why a host has acpi-cpufreq: the kernel's build, its command line and the firmware's tables."""
    plant_kernel(tree)
    plant_kernel_config(tree, amd_pstate=config)
    plant_frequency(tree, plant_cpus(tree, sockets=1, cores=2), driver="acpi-cpufreq", acpi_cppc=cppc)
    facts = read(host)
    assert facts["frequency"]["amd_pstate"].status == "absent"
    return facts["frequency"]["kernel_has_amd_pstate"].value, facts["acpi_cppc"]


def test_kernel_without_amd_pstate(tree, host):
    assert signs(tree, host, config=False, cppc=True) == (False, True)


def test_kernel_that_was_not_asked_for_amd_pstate(tree, host):
    assert signs(tree, host, config=True, cppc=True) == (True, True)


def test_firmware_without_cppc(tree, host):
    assert signs(tree, host, config=True, cppc=False) == (True, False)


def test_release_and_cpuinfo_that_were_read_before_are_used(tree, host, opened):
    plant_kernel(tree)
    plant_kernel_config(tree)
    plant_frequency(tree, plant_cpus(tree, sockets=1, cores=2))
    plant_idle(tree, range(4))
    first = read(host)
    info = cpu.read_cpuinfo(host)
    opened.clear()
    assert read(host, info, ok("6.8.12-9-pve")) == first
    assert "/proc/cpuinfo" not in opened
    assert "/proc/sys/kernel/osrelease" not in opened


def test_few_reads_on_a_large_host(tree, opened):
    """Every policy in full, every switch of an idle state, and hardly anything else."""
    online = plant_cpus(tree, offline=[239])
    plant_frequency(tree, online)
    plant_idle(tree, online)
    read(Host(str(tree.root)))
    policies, switches, latencies = 255 * 8, 255 * 3, 255
    assert len(opened) < policies + switches + latencies + 50


def test_public_host_counts_as_lscpu_does(tree, host, field_files):
    text = (field_files / "numa/rtxpro6000x8_esc8000a-e13p__lscpu_offline-cpu239.txt").read_text()
    lscpu = {name: value.strip() for name, _colon, value in (line.partition(":") for line in text.splitlines())}
    plant_cpus(tree, sockets=int(lscpu["Socket(s)"]), cores=int(lscpu["Core(s) per socket"]),
               threads=int(lscpu["Thread(s) per core"]), offline=[int(lscpu["Off-line CPU(s) list"])],
               family=int(lscpu["CPU family"]), model_name=lscpu["Model name"], flags=lscpu["Flags"])
    facts = read(host)
    assert facts["logical"] == int(lscpu["CPU(s)"])
    assert facts["online"] == lscpu["On-line CPU(s) list"]
    assert facts["cores"] == 128    # L2 caches in the same report: 128 instances
    assert facts["flags"] == {"hypervisor": False, "cppc": True, "constant_tsc": True, "nonstop_tsc": True}


def test_this_machine():
    facts = read(Host())
    assert len(parse_cpulist(facts["online"])) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert facts["logical"] >= len(parse_cpulist(facts["online"]))
