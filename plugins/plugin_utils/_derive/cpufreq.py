# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Why a host uses its CPU frequency driver, and the boost switches that the driver offers."""
from __future__ import annotations

import re
from typing import Any

from .reading import hidden, known, lost, value

_TURIN_FAMILY = 0x1A
_ZEN_FAMILY = 0x17
_WORTH_BOOSTING = 5.0       # percent above the nominal level
_FIRST_CPPC_MODEL = 0x30            # Zen 2
_FIRST_AMD_PSTATE, _FIRST_PASSIVE, _FIRST_ACTIVE = (5, 17), (6, 1), (6, 3)
_SINCE_SANDY_BRIDGE = (0x2A, 0x2D)
_LAST_BEFORE_SANDY_BRIDGE = 0x2F    # Westmere-EX


def kernel_version(release: str | None) -> tuple[int, int] | None:
    """`6.8.12-9-pve` as (6, 8)."""
    found = re.match(r"(\d+)\.(\d+)", release or "")
    return (int(found[1]), int(found[2])) if found else None


def scaling_driver(cpu: dict[str, Any], kernel: dict[str, Any]) -> dict[str, str | None]:
    """The driver; for the generic acpi-cpufreq also why it is used and what would change that.

    `generic_only` says why no vendor driver supports the processor. drivers/cpufreq/amd-pstate.c: since 5.17; the
    parameter came with 6.1 (passive) and 6.3 (active). amd_pstate_init(): up to 6.4 the driver loads only with its
    parameter; since 6.5 by default, except on machines whose firmware reports a server profile; since 6.13 also on
    those from family 1Ah on. Distributions add parts of it to older kernels.
    """
    drivers = cpu["frequency"]["drivers"]
    found = {"name": ", ".join(drivers) or None, "cause": None, "reason": None, "generic_only": generic_only(cpu)}
    if "acpi-cpufreq" not in drivers or found["generic_only"]:
        return found
    parameters = {entry["name"]: entry["value"] for entry in kernel["parameters"]}
    cause, reason = (_amd_cause if cpu["vendor"] == "AuthenticAMD" else _intel_cause)(cpu, kernel, parameters)
    return {**found, "cause": cause, "reason": reason}


def generic_only(cpu: dict[str, Any]) -> str | None:
    """Why acpi-cpufreq is the only driver for the processor; None if there is another one, or if that is not known.

    amd_cppc_supported() in drivers/cpufreq/amd-pstate.c excludes family 17h below model 30h, and nothing older has
    CPPC; intel_pstate_cpu_ids in drivers/cpufreq/intel_pstate.c begins with Sandy Bridge (family 6, model 2Ah).
    """
    vendor, family, model = cpu["vendor"], cpu["family"], cpu["model"]
    if vendor is None or family is None or model is None:
        return None
    if vendor == "AuthenticAMD":
        if family > _ZEN_FAMILY or (family == _ZEN_FAMILY and model >= _FIRST_CPPC_MODEL):
            return None
        return f"AMD family {family:x}h model {model:x}h has no CPPC: its driver is acpi-cpufreq"
    if vendor == "GenuineIntel":
        if family != 6 or model in _SINCE_SANDY_BRIDGE or model > _LAST_BEFORE_SANDY_BRIDGE:
            return None
        return f"intel_pstate does not support processors as old as family 6 model {model:x}h"
    return f"the kernel has no dedicated frequency driver for processors of {vendor}"


def has_die_controllers(cpu: dict[str, Any]) -> bool:
    """Whether this is an EPYC 7001: each of its four dies has its own memory controller, and no setting merges their
    NUMA nodes."""
    return cpu["vendor"] == "AuthenticAMD" and cpu["family"] == _ZEN_FAMILY and (cpu["model"] or 0) < _FIRST_CPPC_MODEL


def _amd_cause(cpu: dict[str, Any], kernel: dict[str, Any], parameters: dict[str, str | None]) -> tuple[str, str]:
    release = value(kernel["release"])
    version = kernel_version(release) or (0, 0)
    if not cpu["acpi_cppc"]:
        return "no_cppc", "the firmware does not provide CPPC (no _CPC objects): enable CPPC in the BIOS"
    if value(cpu["frequency"]["kernel_has_amd_pstate"]) is False:
        return "kernel_lacks_it", f"kernel {release} is built without CONFIG_X86_AMD_PSTATE: another kernel is needed"
    wanted = parameters.get("amd_pstate")
    if wanted == "disable":
        return "disabled", "amd_pstate=disable is on the kernel command line"
    if wanted:
        return "refused", f"amd_pstate={wanted} is on the kernel command line, yet the driver did not load: see its log"
    if version < (6, 5):
        return _before_it_loads_itself(release, version, value(cpu["frequency"]["kernel_has_amd_pstate"]))
    if version < (6, 13):
        return "kernel_default", (f"default of kernel {release}: up to 6.12 amd-pstate is not loaded automatically on "
                                  "servers; amd_pstate=active on the kernel command line loads it")
    if (cpu["family"] or 0) < _TURIN_FAMILY:
        return "kernel_default", (f"default of kernel {release}: on servers older than family 1Ah amd-pstate is not "
                                  "loaded automatically; amd_pstate=active on the kernel command line loads it")
    return "refused", f"kernel {release} should have loaded amd-pstate automatically on this processor: see its log"


def _before_it_loads_itself(release: str | None, version: tuple[int, int], built: bool | None) -> tuple[str, str]:
    """`built`: whether the kernel's configuration has the driver; None if that could not be read."""
    if version < _FIRST_AMD_PSTATE and not built:
        return "kernel_lacks_it", (f"kernel {release} is older than amd-pstate (Linux 5.17), and nothing here says "
                                   "that its distribution added it: another kernel is needed")
    if version >= _FIRST_ACTIVE:
        return "parameter_missing", f"kernel {release} loads amd-pstate only with amd_pstate=active on its command line"
    if version >= _FIRST_PASSIVE:
        return "parameter_missing", (f"kernel {release} loads amd-pstate only with amd_pstate=passive on its command "
                                     "line (amd_pstate=active came with Linux 6.3)")
    return "parameter_missing", (f"kernel {release} has amd-pstate and does not load it; which parameter it takes "
                                 "depends on what its distribution added: amd_pstate=passive came with Linux 6.1, "
                                 "active with 6.3")


def _intel_cause(cpu: dict[str, Any], _kernel: dict[str, Any], parameters: dict[str, str | None]) -> tuple[str, str]:
    if parameters.get("intel_pstate") == "disable":
        return "disabled", "intel_pstate=disable is on the kernel command line"
    if value(cpu["frequency"]["intel_pstate"]) == "off":
        return "disabled", "intel_pstate is disabled (/sys/devices/system/cpu/intel_pstate/status)"
    return "refused", "the processor's own driver did not load: see the kernel log"


def boost_switches(frequency: dict[str, Any]) -> list[dict[str, Any]]:
    """The switches that control boost: `{name, file, reads, boosts, on}`, the file below /sys/devices/system/cpu.

    `on` is the text that enables boost: no_turbo has the opposite sense. A policy's switch is listed only if it is off
    while the global one is on (store_local_boost() in drivers/cpufreq/cpufreq.c); a missing file tells nothing. The
    switches of cores without performance levels above the nominal one have no effect and are left out.
    """
    switches = []
    boost, no_turbo, policies = value(frequency["boost"]), value(frequency["no_turbo"]), frequency["policies"]
    if boost is not None and not (boost == 0 and value(nothing_to_boost(policies))):
        switches.append(_switch("boost", "cpufreq/boost", boost, "1"))
    if no_turbo is not None:
        switches.append(_switch("no_turbo", "intel_pstate/no_turbo", no_turbo, "0"))
    if boost != 0:
        switches += [_switch(policy["policy"], f"cpufreq/{policy['policy']}/boost", 0, "1")
                     for policy in policies if value(policy["boost"]) == 0 and not value(nothing_to_boost([policy]))]
    return switches


def nothing_to_boost(policies: list[dict[str, Any]]) -> dict[str, Any]:
    """A reading: whether by CPPC no policy has a performance level more than 5 % above the nominal one.

    Firmware gives single cores two or three percent more than others (GB10); servers have 20 to 60.
    """
    status = hidden(policy["headroom"] for policy in policies)
    if status:
        return lost(status)
    return known(bool(policies) and all(
        value(policy["headroom"]) is not None and value(policy["headroom"]) < _WORTH_BOOSTING for policy in policies))


def _switch(name: str, file: str, reads: int, on: str) -> dict[str, Any]:
    return {"name": name, "file": file, "reads": reads, "boosts": reads == int(on), "on": on}
