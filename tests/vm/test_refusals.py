# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a kernel or a device refuses, clamps or drops, and what the setters make of it. One call a kind."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.vm
in_debian12 = pytest.mark.parametrize("release", ["debian12"], indirect=True)
in_debian13 = pytest.mark.parametrize("release", ["debian13"], indirect=True)

# Debian 12 gets the cpufreq driver with a table and a boost that cannot be written, and a nvidia_peermem that was built
# without peer memory; Debian 13 the cpufreq driver with preferences, and a nvidia_peermem for another ib_core.
PLANT = """
testhw healthy
testhw event 0002:01:00.0 hardwire
testhw on-write 0001:05:00.0 gone
if grep -q bookworm /etc/os-release; then
    testhw rdma ofed
    echo 1 > /sys/module/testhw_cpufreq/parameters/refuse_boost
    exit
fi
testhw rdma rebuilt
testhw peermem ofed
rmmod testhw_cpufreq
modprobe testhw_cpufreq epp=1
echo performance > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor
"""
CPUFREQ = "/sys/devices/system/cpu/cpufreq"
WANTED = {
    "sysctl": {"kernel.nmi_watchdog": 1, "kernel.sched_rt_runtime_us": 2000000, "vm.swappiness": 10},
    "sysfs": {
        "debian12": {f"{CPUFREQ}/policy0/scaling_governor": "nosuch",
                     f"{CPUFREQ}/policy1/scaling_governor": "performance", f"{CPUFREQ}/boost": 0},
        "debian13": {f"{CPUFREQ}/policy0/energy_performance_preference": "power",
                     f"{CPUFREQ}/policy1/scaling_max_freq": 9999999},
    },
    "module": {"nvidia_peermem": "present", "gdrdrv": "present"},
    # The one that falls off the bus at the write is the last: nothing is tried after it.
    "pcie_maxreadreq": {"0001:01:00.0": 4096, "0002:01:00.0": 4096, "0001:05:00.0": 4096},
}


@pytest.fixture(scope="module")
def run(play, in_every_guest):
    in_every_guest(PLANT)
    return play("refusals.yml", **WANTED).succeeded()


@pytest.fixture
def change(run, release):
    """The change of one address, as the setter returned it."""
    def find(action, address):
        [found] = [one for one in run.one(release, action=action)["changes"] if one["address"].endswith(address)]
        return found
    return find


def test_nmi_watchdog_without_a_detector(change, release):
    found = change("sysctl_snapshot", "kernel.nmi_watchdog")
    assert (found["outcome"], found["after"]) == ("refused", "0")
    # 6.1 lets root open the file and answers the write with a number that user space has no name for.
    assert {"debian12": "524", "debian13": "0444"}[release] in found["reason"]


def test_number_that_only_the_kernel_can_judge(change):
    # More than sched_rt_period_us.
    found = change("sysctl_snapshot", "kernel.sched_rt_runtime_us")
    assert (found["outcome"], found["after"]) == ("refused", "950000")
    assert "EINVAL" in found["reason"]


def test_what_the_kernel_takes_is_set_beside_it(change, guests, release):
    assert change("sysctl_snapshot", "vm.swappiness")["outcome"] == "changed"
    assert guests[release].run("cat /proc/sys/vm/swappiness") == "10\n"


@in_debian12
def test_unknown_governor(change):
    found = change("sysfs_attribute", "policy0/scaling_governor")
    assert (found["outcome"], found["after"]) == ("refused", "schedutil")
    assert change("sysfs_attribute", "policy1/scaling_governor")["outcome"] == "changed"


@in_debian13
def test_frequency_that_the_kernel_clamps(change):
    found = change("sysfs_attribute", "policy1/scaling_max_freq")
    assert (found["outcome"], found["after"]) == ("refused", "3700000")


@in_debian12
def test_boost_that_the_driver_refuses(change):
    found = change("sysfs_attribute", "cpufreq/boost")
    assert (found["outcome"], found["after"]) == ("refused", "1")
    assert "EINVAL" in found["reason"]


@in_debian13
def test_preference_while_the_governor_is_performance(change):
    found = change("sysfs_attribute", "policy0/energy_performance_preference")
    assert found["outcome"] == "refused"
    assert "EBUSY" in found["reason"]


def test_peermem_that_the_kernel_does_not_load(change, release):
    found = change("nvidia_module", "nvidia_peermem")
    assert (found["outcome"], found["after"]) == ("refused", "absent")
    assert "Invalid argument" in found["reason"]
    assert found["reason"].startswith({"debian12": "stub: ", "debian13": "symbol_mismatch: "}[release])


def test_helper_that_loads(change, guests, release):
    assert change("nvidia_module", "gdrdrv")["outcome"] == "changed"
    assert guests[release].run("cat /sys/module/gdrdrv/initstate") == "live\n"


def test_field_that_stores_nothing(change):
    found = change("pcie_maxreadreq", "0002:01:00.0")
    assert (found["outcome"], found["wanted"], found["after"]) == ("refused", 4096, 512)


def test_device_that_falls_off_the_bus_at_the_write(change):
    assert change("pcie_maxreadreq", "0001:05:00.0")["outcome"] == "refused"


def test_register_beside_them_is_set_and_nothing_is_reset(change, guests, release):
    assert change("pcie_maxreadreq", "0001:01:00.0")["outcome"] == "changed"
    assert guests[release].run("setpci -s 0001:01:00.0 CAP_EXP+8.w") == "593f\n"
    assert "function level reset" not in guests[release].run("dmesg")
