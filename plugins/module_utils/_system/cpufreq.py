# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPU frequency: driver, governor, limits and boost of every policy (Documentation/admin-guide/pm/cpufreq.rst)."""
from __future__ import annotations

import errno
import re

from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, LackingError, NotRecorded, Reading, known, ok
from .._kernel.cpulist import format_cpulist

CPU = "/sys/devices/system/cpu"
CPUFREQ = f"{CPU}/cpufreq"

_ATTRIBUTES = (
    "scaling_driver", "scaling_governor", "scaling_available_governors", "energy_performance_preference",
    "energy_performance_available_preferences", "scaling_min_freq", "scaling_max_freq", "cpuinfo_min_freq",
    "cpuinfo_max_freq", "bios_limit", "boost")

_UNCORE = ("min_freq_khz", "max_freq_khz", "initial_min_freq_khz", "initial_max_freq_khz")


def read_frequency(host: Host, release: Reading) -> dict:
    """Read `frequency` of the facts' section `cpu`; `release` is the running kernel's (/proc/sys/kernel/osrelease).

    In a virtual machine the folder exists but is empty: no policies, no drivers. An absent `boost` does not mean that
    boost is off: intel_pstate has the inverted `no_turbo`, and some drivers have neither.
    """
    boost = host.read_int(f"{CPUFREQ}/boost")
    policies = known(lambda: read_policies(host, boost))
    amd_pstate = host.read(f"{CPU}/amd_pstate/status")
    return {
        "drivers": known(lambda: sorted({policy["driver"].value for policy in policies if policy["driver"].told().ok})),
        "boost": boost,
        "amd_pstate": amd_pstate,
        "intel_pstate": host.read(f"{CPU}/intel_pstate/status"),
        "no_turbo": host.read_int(f"{CPU}/intel_pstate/no_turbo"),
        "max_perf_pct": host.read_int(f"{CPU}/intel_pstate/max_perf_pct"),
        "kernel_has_amd_pstate": ok(True) if amd_pstate.ok else read_kernel_has_amd_pstate(host, release),
        "policies": policies,
    }


def read_uncore(host: Host) -> list[dict]:
    """Read the uncore frequency limits in kHz: Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst.

    Only the driver for Intel servers provides them; no file has the fabric clock of AMD servers.
    """
    folder = f"{CPU}/intel_uncore_frequency"
    domains = []
    for name in host.list(folder):
        read = host.read_attributes(f"{folder}/{name}", _UNCORE)
        domains.append({"domain": name, **{attribute[:-9] + "_khz": read[attribute].map(int) for attribute in _UNCORE}})
    return domains


def read_policies(host: Host, boost: Reading) -> list[dict]:
    """Read every policy with a CPU online, by number; frequencies in kHz. `boost` is the global switch."""
    numbers = [name[6:] for name in host.list(CPUFREQ) if re.fullmatch(r"policy\d+", name)]
    policies = (read_policy(host, f"policy{number}", boost) for number in sorted(numbers, key=int))
    return [policy for policy in policies if policy is not None]


def read_policy(host: Host, policy: str, boost: Reading) -> dict | None:
    """Read a policy, None if all its CPUs are offline: its folder stays, but its files are empty or fail with EBUSY.

    A folder without a driver has no effect.
    """
    folder = f"{CPUFREQ}/{policy}"
    cpus = _read_cpus(host, folder)
    read = host.read_attributes(folder, _ATTRIBUTES)
    if cpus is None or read["scaling_driver"].status == ABSENT:
        return None
    return {
        "policy": policy,
        "cpus": format_cpulist(cpus),
        "driver": read["scaling_driver"],
        "governor": read["scaling_governor"],
        "governors": read["scaling_available_governors"].map(str.split),
        "epp": read["energy_performance_preference"],
        "epps": read["energy_performance_available_preferences"].map(str.split),
        "min_khz": read["scaling_min_freq"].map(int),
        "max_khz": read["scaling_max_freq"].map(int),
        "hardware_min_khz": read["cpuinfo_min_freq"].map(int),
        "hardware_max_khz": read["cpuinfo_max_freq"].map(int),
        "bios_limit_khz": read["bios_limit"].map(int),
        "boost": read["boost"].map(int),
        "headroom": known(lambda: read_headroom(host, cpus[:1], (read["boost"], boost))),
    }


def _read_cpus(host: Host, folder: str) -> list[int] | None:
    """Read the CPUs of a policy that are online, None if all are offline.

    If the list cannot be read, the CPU that the policy is named after is assumed.
    """
    try:
        text = host.read_bytes(f"{folder}/affected_cpus")
    except LackingError as error:
        raise NotRecorded(error.strerror) from None
    except OSError as error:
        text = b"" if error.errno == errno.EBUSY else b"unreadable"
    if not text.strip():
        return None
    return [int(cpu) for cpu in re.findall(rb"\b\d{1,6}\b", text)] or [int(folder.rpartition("policy")[2])]


def read_headroom(host: Host, cpus: list[int], switches: tuple[Reading, ...]) -> Reading:
    """By how many percent the highest performance of a core exceeds its nominal one, which is boost (cppc_cpufreq.c).

    Documentation/admin-guide/acpi/cppc_sysfs.rst. Read only if a boost switch is off: it costs two reads per policy.
    """
    if all(switch.value not in (0, "0") for switch in switches):
        return Reading(ABSENT, None, "boost is not disabled")
    for cpu in cpus:
        highest, nominal = (host.read_int(f"{CPU}/cpu{cpu}/acpi_cppc/{name}") for name in ("highest_perf",
                                                                                           "nominal_perf"))
        if not highest.ok or not nominal.ok:
            return nominal if highest.ok else highest
        if nominal.value:
            return ok(round(100 * (highest.value - nominal.value) / nominal.value, 1))
    return Reading(ABSENT, None, "firmware does not provide performance levels")


def read_kernel_has_amd_pstate(host: Host, release: Reading) -> Reading:
    """Whether the running kernel was built with the driver amd-pstate.

    From the kernel's configuration; modules.builtin can only confirm it, as the driver lost its MODULE_LICENSE when it
    became always built in, and is no longer listed there.
    """
    if not release.ok:
        return release
    for path in (f"/boot/config-{release.value}", f"/lib/modules/{release.value}/config"):
        config = host.read(path)
        if config.ok:
            return ok(parse_has_amd_pstate(config.value))
        if config.status == NOT_RECORDED:
            return config
    builtin = host.read(f"/lib/modules/{release.value}/modules.builtin")
    if builtin.status == NOT_RECORDED:
        return builtin
    if builtin.ok and "/amd-pstate.ko" in builtin.value:
        return ok(True)
    return Reading(ABSENT, None, f"the configuration of kernel {release.value} is not installed")


def parse_has_amd_pstate(config: str) -> bool:
    text = f"\n{config}\n"      # 256 KiB: a search is much faster than matching line by line
    return "\nCONFIG_X86_AMD_PSTATE=y\n" in text or "\nCONFIG_X86_AMD_PSTATE=m\n" in text
