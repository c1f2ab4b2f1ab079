# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPU frequency limits below the hardware's, policies that differ from the others, and open vulnerabilities."""
from __future__ import annotations

from collections import Counter
from typing import Any

from ...module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from .._render.text import count
from .reading import hidden, known, lost, value

_TOLERANCE = 0.98       # of the highest clock, because drivers round
_CLOCKS_SHOWN = 3
_SETTINGS = {"driver": "driver", "governor": "governor", "epp": "energy performance preference", "boost": "boost"}
_RANGE = ("hardware_min_khz", "hardware_max_khz")
_CLOCKS = {"min_khz": "lowest clock (kHz)", "bios_limit_khz": "limit of the firmware (kHz)"}


def frequency_limits(frequency: dict[str, Any]) -> list[dict[str, Any]]:
    """`{name, cpus, max_khz, ceiling_khz}` for every policy with a limited clock, and one entry for all others.

    max_khz and ceiling_khz are readings; `cpus` of the entry for all others is a sentence about their limits. The
    ceiling is cpuinfo_max_freq, except under acpi-cpufreq: there it includes boost, which scaling_max_freq does not
    (acpi_cpufreq_cpu_init(), get_max_boost_ratio()), and bios_limit is the fastest state that the firmware allows.
    """
    limited, free = [], []
    highest = _highest(frequency["policies"])
    for policy in frequency["policies"]:
        ceiling = _ceiling(policy, highest)
        most, possible = value(policy["max_khz"]), value(ceiling)
        if None not in (most, possible) and most >= _TOLERANCE * possible:
            free.append(policy)
        else:
            limited.append({"name": policy["policy"], "cpus": policy["cpus"], "max_khz": policy["max_khz"],
                            "ceiling_khz": ceiling})
    if free:
        slowest = min(free, key=lambda policy: policy["max_khz"]["value"])
        limited.append({"name": "policies", "cpus": _how_far(free), "max_khz": slowest["max_khz"],
                        "ceiling_khz": slowest["max_khz"]})
    return limited


def _how_far(policies: list[dict[str, Any]]) -> str:
    """`20 policies may go up to 2808000 kHz (10) and 3900000 kHz (10)`: core types and single cores may differ."""
    clocks = sorted(Counter(policy["max_khz"]["value"] for policy in policies).items())
    if len(clocks) == 1:
        limits = f"{clocks[0][0]} kHz"
    elif len(clocks) <= _CLOCKS_SHOWN:
        limits = " and ".join(f"{khz} kHz ({number})" for khz, number in clocks)
    else:
        limits = f"{clocks[0][0]} to {clocks[-1][0]} kHz, each to its own"
    return f"{count(len(policies), 'policy', 'policies')} have a maximum of {limits}"


def _ceiling(policy: dict[str, Any], highest: dict[str, Any] | None) -> dict[str, Any]:
    if value(policy["driver"]) != "acpi-cpufreq":
        return policy["hardware_max_khz"] if policy["driver"]["status"] in ("ok", "absent") else policy["driver"]
    if policy["bios_limit_khz"]["status"] != "absent":
        return policy["bios_limit_khz"]
    return policy["max_khz"] if highest is None else highest


def _highest(policies: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The highest of all limits that are set, as a reading; None if none is set."""
    status = hidden(policy["max_khz"] for policy in policies)
    return lost(status) if status else max((policy["max_khz"] for policy in policies if policy["max_khz"]["value"]),
                                           key=lambda reading: reading["value"], default=None)


def odd_policies(policies: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """A reading of sentences: how some policies differ from the majority.

    Clocks are compared among cores of one type with the same hardware limits: a processor with two core types has two
    lowest clocks, and a favoured core has its own limit.
    """
    status = hidden(policy[fact] for policy in policies for fact in (*_SETTINGS, *_CLOCKS, *_RANGE))
    if status:
        return lost(status)
    found = [sentence for fact, name in _SETTINGS.items() for sentence in _differences(policies, fact, name)]
    for alike in _of_one_kind(policies, kinds):
        found += [sentence for fact, name in _CLOCKS.items() for sentence in _differences(alike, fact, name)]
    return known(found)


def _of_one_kind(policies: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The policies grouped by core type and hardware clock range."""
    kind_of = {cpu: kind["name"] for kind in kinds for cpu in parse_cpulist(kind["cpus"])}
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for policy in policies:
        first = parse_cpulist(policy["cpus"])[:1]
        key = (kind_of.get(first[0]) if first else None, *(value(policy[limit]) for limit in _RANGE))
        groups.setdefault(key, []).append(policy)
    return list(groups.values())


def _differences(policies: list[dict[str, Any]], fact: str, name: str) -> list[str]:
    counts = Counter(value(policy[fact]) for policy in policies).most_common()
    if len(counts) < 2:
        return []
    usual, odd = counts[0], counts[1:]
    if usual[1] == counts[1][1]:        # no majority
        every = ", ".join(f"{_shown(seen)} on {_cpus(policies, fact, seen)}" for seen, _count in counts)
        return [f"{name} is {every}"]
    return [f"{name} is {_shown(seen)} on {_cpus(policies, fact, seen)}, {_shown(usual[0])} on {usual[1]} others"
            for seen, _count in odd]


def _cpus(policies: list[dict[str, Any]], fact: str, seen: Any) -> str:
    """`CPUs 5-9,15-19`; the policies' names if their CPUs are not known."""
    having = [policy for policy in policies if value(policy[fact]) == seen]
    cpus = [cpu for policy in having for cpu in parse_cpulist(policy["cpus"])]
    return f"CPUs {format_cpulist(cpus)}" if cpus else ", ".join(policy["policy"] for policy in having)


def _shown(seen: Any) -> str:
    return "absent" if seen is None else str(seen)


def open_vulnerabilities(reading: dict[str, Any]) -> dict[str, Any]:
    """A reading of the vulnerabilities that the kernel reports as open, `name: text`.

    itlb_multihit reads "Processor vulnerable" on hosts without KVM, although it is exploitable only through KVM.
    """
    if reading["status"] != "ok":
        return reading
    return known([f"{entry['name']}: {entry['state']}" for entry in reading["value"]
                  if entry["state"].startswith(("Vulnerable", "KVM: Vulnerable"))])
