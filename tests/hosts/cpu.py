# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of a planted host: topology, /proc/cpuinfo, cpufreq policies, idle states, clock source.

    online = plant_cpus(tree, offline=[239])
    plant_frequency(tree, online, driver="acpi-cpufreq", governor="schedutil")
    plant_idle(tree, online)
    plant_clocksource(tree)

A virtual machine: `plant_cpus(tree, sockets=1, cores=2, flags=VM_FLAGS)` and `plant_no_frequency(tree)`.
"""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from .tree import Tree

CPU = "/sys/devices/system/cpu"
CPUFREQ = f"{CPU}/cpufreq"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"

EPYC_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx "
    "mmxext pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc cpuid extd_apicid aperfmperf rapl pni "
    "pclmulqdq monitor ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand lahf_lm svm "
    "abm sse4a topoext perfctr_core mwaitx cpb hw_pstate ssbd ibrs ibpb vmmcall fsgsbase bmi1 avx2 smep bmi2 erms "
    "avx512f avx512dq adx smap avx512cd sha_ni avx512bw avx512vl xsaves clzero irperf cppc arat npt x2avic vnmi umip")
XEON_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ht "
    "syscall nx pdpe1gb rdtscp lm constant_tsc art arch_perfmon rep_good nopl xtopology nonstop_tsc cpuid aperfmperf "
    "pni monitor vmx est tm2 x2apic aes xsave avx avx2 avx512f hwp hwp_epp hwp_act_window amx_tile amx_bf16")
VM_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx "
    "lm constant_tsc rep_good nopl cpuid tsc_known_freq pni ssse3 x2apic aes xsave avx hypervisor lahf_lm svm avx2")

MITIGATED = {"spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization",
             "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on; RSB filling",
             "spec_store_bypass": "Mitigation: Speculative Store Bypass disabled via prctl",
             "meltdown": "Not affected", "mds": "Not affected", "retbleed": "Not affected"}
VULNERABLE = {**MITIGATED, "spectre_v2": "Vulnerable; IBPB: disabled; STIBP: disabled",
              "spec_store_bypass": "Vulnerable"}
NO_REQUEST = (2_000_000_000).to_bytes(4, "little")      # PM_QOS_CPU_LATENCY_DEFAULT_VALUE

ACTIVE_DRIVERS = ("amd-pstate-epp", "intel_pstate")     # these support two governors only
ALL_GOVERNORS = "conservative ondemand userspace powersave performance schedutil "
ALL_EPPS = "default performance balance_performance balance_power power "


class IdleState(NamedTuple):
    name: str
    description: str
    latency_us: int
    residency_us: int
    default_status: str | None = "enabled"


EPYC_STATES = (
    IdleState("POLL", "CPUIDLE CORE POLL IDLE", 0, 0),
    IdleState("C1", "ACPI FFH MWAIT 0x0", 1, 2),
    IdleState("C2", "ACPI IOPORT 0x814", 800, 1600))
XEON_STATES = (
    IdleState("POLL", "CPUIDLE CORE POLL IDLE", 0, 0),
    IdleState("C1", "MWAIT 0x00", 1, 1),
    IdleState("C1E", "MWAIT 0x01", 2, 4),
    IdleState("C6", "MWAIT 0x20", 290, 800))


def plant_cpus(tree: Tree, *, sockets: int = 2, cores: int = 64, threads: int = 2, offline: Iterable[int] = (),
               vendor: str = "AuthenticAMD", family: int = 26, model: int = 2, stepping: int = 1,
               model_name: str = "AMD EPYC 9575F 64-Core Processor", microcode: str = "0xb002147",
               flags: str = EPYC_FLAGS, smt: str | None = None, isolated: str = "",
               vulnerabilities: dict[str, str] | None = None) -> list[int]:
    """CPUs in Linux's numbering: first threads of all cores, socket by socket, then the second ones.

    Returns the online ones.
    """
    present = list(range(sockets * cores * threads))
    online = [cpu for cpu in present if cpu not in set(offline)]
    tree.files(CPU, {
        "present": cpu_list(present), "possible": cpu_list(present), "online": cpu_list(online),
        "offline": cpu_list(cpu for cpu in present if cpu not in online), "kernel_max": 8191,
        "isolated": isolated or "\n", "nohz_full": isolated or "(null)",
        "smt/control": smt or ("on" if threads > 1 else "notsupported"), "smt/active": int(threads > 1)})
    tree.files(f"{CPU}/vulnerabilities", MITIGATED if vulnerabilities is None else vulnerabilities)
    tree.file("/proc/irq/default_smp_affinity", cpu_mask(present))
    # `cpu cores` of /proc/cpuinfo decreases with a core whose threads are all offline (remove_siblinginfo()).
    awake = {divmod(cpu % (sockets * cores), cores) for cpu in online}
    blocks = []
    for cpu in present:
        if cpu not in online:
            tree.folder(f"{CPU}/cpu{cpu}")
            continue
        socket, core = divmod(cpu % (sockets * cores), cores)
        there = sum(1 for place in awake if place[0] == socket)
        write_files(tree, f"{CPU}/cpu{cpu}/topology", {
            "physical_package_id": socket, "core_id": core,
            "core_cpus_list": cpu_list(other for other in online if (other - cpu) % (sockets * cores) == 0)})
        blocks.append(
            f"processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n"
            f"model name\t: {model_name}\nstepping\t: {stepping}\nmicrocode\t: {microcode}\ncpu MHz\t\t: 3300.000\n"
            f"cache size\t: 1024 KB\nphysical id\t: {socket}\nsiblings\t: {cores * threads}\ncore id\t\t: {core}\n"
            f"cpu cores\t: {there}\napicid\t\t: {cpu}\nfpu\t\t: yes\nflags\t\t: {flags}\nbugs\t\t: spectre_v1\n"
            f"bogomips\t: 6589.81\nclflush size\t: 64\naddress sizes\t: 52 bits physical, 57 bits virtual\n"
            f"power management: ts ttp tm hwpstate cpb eff_freq_ro [13] [14]\n\n")
    tree.file("/proc/cpuinfo", "".join(blocks))
    return online


def plant_frequency(tree: Tree, cpus: Iterable[int], *, driver: str = "acpi-cpufreq", governor: str = "schedutil",
                    governors: str | None = None, epp: str | None = None, epps: str = ALL_EPPS,
                    min_khz: int = 1500000, max_khz: int = 3300000, hardware_min_khz: int = 1500000,
                    hardware_max_khz: int = 3300000, bios_limit_khz: int | None = None, policy_boost: int | None = None,
                    boost: int | None = 1, amd_pstate: str | None = None, intel_pstate: str | None = None,
                    no_turbo: int | None = None, max_perf_pct: int | None = None, acpi_cppc: bool = True) -> None:
    """One policy per CPU, all alike; `policy_path` gives the file of one that a test changes afterwards."""
    for cpu in cpus:
        write_files(tree, policy_path(cpu), {
            "affected_cpus": cpu, "related_cpus": cpu, "scaling_driver": driver, "scaling_governor": governor,
            "scaling_available_governors": governors or (
                "performance powersave " if driver in ACTIVE_DRIVERS else ALL_GOVERNORS),
            "scaling_min_freq": min_khz, "scaling_max_freq": max_khz,
            "cpuinfo_min_freq": hardware_min_khz, "cpuinfo_max_freq": hardware_max_khz,
            "energy_performance_preference": epp,
            "energy_performance_available_preferences": None if epp is None else epps,
            "bios_limit": bios_limit_khz, "boost": policy_boost})
        if acpi_cppc:
            tree.folder(f"{CPU}/cpu{cpu}/acpi_cppc")
    write_files(tree, CPU, {
        "cpufreq/boost": boost, "amd_pstate/status": amd_pstate, "intel_pstate/status": intel_pstate,
        "intel_pstate/no_turbo": no_turbo, "intel_pstate/max_perf_pct": max_perf_pct})


def plant_no_frequency(tree: Tree) -> None:
    """The state in a virtual machine: an empty folder of policies, no boost, the idle driver none."""
    tree.folder(CPUFREQ)
    tree.files(f"{CPU}/cpuidle", {"current_driver": "none", "current_governor": "menu"})


def policy_path(cpu: int, attribute: str | None = None) -> str:
    folder = f"{CPUFREQ}/policy{cpu}"
    return folder if attribute is None else f"{folder}/{attribute}"


def plant_idle(tree: Tree, cpus: Iterable[int], *, states: Iterable[IdleState] = EPYC_STATES,
               disabled: dict[str, Iterable[int]] | None = None, driver: str = "acpi_idle",
               governor: str = "menu") -> None:
    """Idle states of CPUs; `disabled` lists, by state, the CPUs on which it is disabled."""
    tree.files(f"{CPU}/cpuidle", {"current_driver": driver, "current_governor": governor})
    request_latency(tree, NO_REQUEST)
    off = {name: set(which) for name, which in (disabled or {}).items()}
    for cpu in cpus:
        for index, state in enumerate(states):
            write_files(tree, idle_path(cpu, index), {
                "name": state.name, "desc": state.description, "latency": state.latency_us,
                "residency": state.residency_us, "disable": int(cpu in off.get(state.name, ())),
                "default_status": state.default_status})


def request_latency(tree: Tree, request: bytes) -> None:
    """The content of the device: four bytes, microseconds."""
    tree.file("/dev/cpu_dma_latency", request)


def plant_uncore(tree: Tree, domain: str, *, max_khz: int = 2500000, initial_max_khz: int = 2500000,
                 min_khz: int = 800000) -> None:
    """One domain of Intel's driver; by default with the firmware's limits."""
    tree.files(f"{CPU}/intel_uncore_frequency/{domain}", {
        "min_freq_khz": min_khz, "max_freq_khz": max_khz, "initial_min_freq_khz": min_khz,
        "initial_max_freq_khz": initial_max_khz, "current_freq_khz": min_khz})


def idle_path(cpu: int, state: int, attribute: str | None = None) -> str:
    folder = f"{CPU}/cpu{cpu}/cpuidle/state{state}"
    return folder if attribute is None else f"{folder}/{attribute}"


def plant_clocksource(tree: Tree, current: str = "tsc", available: str = "tsc hpet acpi_pm ") -> None:
    tree.files(CLOCKSOURCE, {"current_clocksource": current, "available_clocksource": available})


def write_files(tree: Tree, folder: str, contents: dict[str, str | int | None]) -> None:
    """Like Tree.files, but fast enough for ten thousand of them; None stands for a missing file."""
    here = str(tree.path(folder))
    made: set[str] = set()
    for name, content in contents.items():
        if content is None:
            continue
        path = f"{here}/{name}"
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{content}\n")


def cpu_mask(cpus: Iterable[int]) -> str:
    """`ffffffff,0000000f` as the kernel prints a mask: groups of 32 bits, no 0x."""
    bits = sum(1 << cpu for cpu in cpus)
    groups = [f"{bits >> shift & 0xffffffff:08x}" for shift in range(0, bits.bit_length(), 32)]
    return ",".join(reversed(groups))


def cpu_list(cpus: Iterable[int]) -> str:
    """`0-2,5` as the kernel prints a list of CPUs; a CPU without its predecessor starts a new range."""
    which = set(cpus)
    starts = sorted(cpu for cpu in which if cpu - 1 not in which)
    ends = sorted(cpu for cpu in which if cpu + 1 not in which)
    return ",".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends))
