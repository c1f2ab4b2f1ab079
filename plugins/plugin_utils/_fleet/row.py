# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One host's row on the fleet page, made from its audit.json: about a fortieth of its size, as display texts."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._checks.findings import PRIORITIES, VERDICTS, value
from .._checks.unknown import advice
from .._render.section import Section
from .._render.text import binary_size, clean, one_line, show
from .._report import evidence, measured_here
from .._report.describe import describe, gpu_name
from .._report.groups import Group, Groups
from .._report.sentences import name_of, sentence, sentences
from .._report.terminal import notes
from .guests import of_host

SCHEMA_FLEET = "gpuhost.fleet/5"
GPU_COLUMNS = ("GPU", "driver", "state", "NUMA node", "link now", "link possible", "MaxPayload", "MaxReadReq", "model")
# Kernel command line parameters that differ even between identical hosts.
_OF_ONE_HOST = frozenset(("BOOT_IMAGE", "root", "initrd", "resume", "boot", "ip"))
# A page for a thousand hosts has no room for unlimited texts; audit.json has them in full.
_LONGEST = 240
_LONGEST_SENTENCE = 800     # the problem and its cost are not truncated before this


class Entry(NamedTuple):
    """Findings of one check on one host that need the same action, or that differ only in their subject."""

    check: str
    verdict: str
    priority: str
    actual: str
    wanted: str
    reason: str
    fix: str
    waived: str
    commands: str               # for a root shell, one per line; never truncated
    undo: str
    advice: str                 # what to do in words, or why it cannot be done now
    subjects: list[str]


def fleet_row(document: dict[str, Any], shown: Iterable[Section] = (), groups: Groups | None = None) -> dict[str, Any]:
    """The row of one audit document with the host's measurements; plain JSON, kept as fleet.json next to it. `groups`
    are those of its findings if they are known already."""
    facts = document["facts"]
    groups = groups or Groups(document["findings"])
    return {
        "schema": SCHEMA_FLEET, "at": _text(document["collected_at"]), "profile": _text(document["profile"]),
        "machine": "; ".join(describe(facts)), "model": _model(facts), "notes": notes(document),
        "failing": _numbers(document["summary"]["failing"]), **groups.tally(),
        "verdicts": _numbers(document["summary"]["verdicts"]),
        "waived": int(document["summary"]["waived"]), "traits": _traits(facts),
        "gpus": [_gpu(gpu) for gpu in value(facts["gpus"], [])],
        "place": of_host(facts),
        "findings": entries(groups), "evidence": evidence.for_page(shown),
    }


def about_checks(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is the same for all hosts: name, topic, reasons and sources of each check."""
    known: dict[str, dict[str, Any]] = {}
    for finding in document["findings"]:
        contested = finding["contested"]
        known.setdefault(finding["check"], {
            "topic": one_line(finding["topic"]), "title": one_line(name_of(finding)), "why": one_line(finding["why"]),
            "evidence": finding["evidence"], "sources": [one_line(source) for source in finding["sources"]],
            "contested": one_line(f"{', '.join(contested['by'])}: {contested['why']}") if contested else ""})
    return known


def entries(groups: Groups) -> list[Entry]:
    """The findings in their order, grouped by action and similarity."""
    for finding in groups.findings:
        if finding["verdict"] not in VERDICTS or finding["priority"] not in PRIORITIES:
            raise ValueError(f"{finding['verdict']!r} of priority {finding['priority']!r}")
    return [_entry(one) for one in groups.told] + [
        _entry(Group(topic.findings[:1], 1))._replace(reason=_text(topic.line, _LONGEST_SENTENCE), subjects=[])
        for topic in groups.not_judged]


def _entry(one: Group) -> Entry:
    first = one.first
    failed = first["verdict"] == "fail"
    waived = first["waived"]
    return Entry(
        _text(first["check"]), first["verdict"], first["priority"], _text(one.actual),
        _text(show(first["recommended"])), _reason(one), _text(first["fix"]["class"]),
        _text(f"{waived['reason']} (until {waived['expires']})") if waived else "",
        *("\n".join(map(clean, one.commands(key))) if failed else "" for key in ("commands", "undo_commands")),
        _advice(one), [clean(subject) for subject in one.subjects])


def _advice(one: Group) -> str:
    verdict, fix = one.first["verdict"], one.first["fix"]
    if verdict == "unknown":
        return advice(one.first["reason"])
    if verdict != "fail":
        return ""
    return one_line(f"Not now: {fix['forbidden']}." if fix.get("forbidden") else " ".join(one.words("how")))


def _reason(one: Group) -> str:
    """The reason of the verdict, and what was measured on this host."""
    measured = dict.fromkeys(f"measured here: {_text(text)}" for finding in one.findings
                             if finding.get("measured_here") for text in measured_here.sentences(finding))
    what = sentences(one.findings) if one.first["verdict"] == "fail" else [sentence(one.first)]
    return "; ".join([*(_text(text, _LONGEST_SENTENCE) for text in what if text), *measured])


def _numbers(counts: dict[str, Any]) -> dict[str, int]:
    return {_text(name): int(number) for name, number in counts.items()}


def _text(text: object, longest: int = _LONGEST) -> str:
    line = one_line(text)
    return line if len(line) <= longest else line[:longest - 3] + "..."


def _read(facts: Any, *names: str) -> Any:
    """A fact by its path, None if unknown: a record may be older than the fact."""
    for name in names:
        facts = value(facts)
        facts = facts.get(name) if isinstance(facts, dict) else None
    return value(facts)


def _model(facts: dict[str, Any]) -> str:
    """What hosts of one model have in common. The number of GPUs is not part of it: a host that lost one is an outlier
    of its model, not a model of its own."""
    maker = " ".join(str(part) for part in (_read(facts, "firmware", "system_vendor"),
                                            _read(facts, "firmware", "product_name")) if part)
    processor = value(facts["cpu"]["model_name"]) or value(facts["cpu"]["vendor"]) or "unknown processor"
    known = value(facts["gpus"])
    gpus = ", ".join(sorted({gpu_name(gpu) for gpu in known or []})) or "no GPU"
    return _text(" / ".join([maker or "unknown machine", processor, "GPUs not read" if known is None else gpus]))


def _traits(facts: dict[str, Any]) -> dict[str, str]:
    """Facts that no check evaluates but that should be equal on hosts of one model."""
    kib = _read(facts, "memory", "total_kib")
    parameters = _read(facts, "kernel", "parameters") or []
    known = {
        "kernel": _read(facts, "kernel", "release"),
        "kernel command line": " ".join(
            f"{one['name']}={one['value']}" if one["value"] is not None else one["name"]
            for one in parameters if one["name"] not in _OF_ONE_HOST) or None,
        "operating system": _read(facts, "identity", "os", "name"),
        "Proxmox VE": _read(facts, "identity", "proxmox", "version"),
        "kind of machine": _read(facts, "identity", "kind"),
        "firmware version": _read(facts, "firmware", "bios_version"),
        "microcode": _microcode(facts),
        "sockets": _read(facts, "cpu", "sockets"),
        "CPUs": _read(facts, "cpu", "logical"),
        "memory": None if kib is None else binary_size(kib * 1024),
        "GPUs": None if value(facts["gpus"]) is None else sum(not value(gpu["virtual_function"])
                                                              for gpu in facts["gpus"]),
        "NVIDIA driver": _read(facts, "nvidia", "driver_version"),
    }
    return {name: _text(show(found)) for name, found in known.items() if found is not None}


def _microcode(facts: dict[str, Any]) -> str | None:
    """All microcode revisions of the host, as each core has its own: `0xb002147`."""
    revisions = _read(facts, "cpu", "microcode")
    if not isinstance(revisions, list):
        return revisions
    return ", ".join(sorted({str(value(revision, "unread")) for revision in revisions})) or None


def _gpu(gpu: dict[str, Any]) -> list[str]:
    pcie = value(gpu["pcie"])
    link = pcie["link"] if pcie else None
    return [_text(show(cell)) for cell in (
        gpu["bdf"], "none" if gpu["driver"] is None else value(gpu["driver"]), value(gpu["state"]),
        value(gpu["numa_node"]),
        f"{link['speed_gts']} GT/s x{link['width']}" if link else None,
        f"{link['max_speed_gts']} GT/s x{link['max_width']}" if link else None,
        pcie and pcie["max_payload"], pcie and pcie["max_read_request"],
        gpu_name(gpu))]
