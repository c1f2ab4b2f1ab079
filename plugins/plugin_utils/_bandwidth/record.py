# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""bandwidth.json: what gpu_bandwidth measured, what the path allows, and the evidence for checks of the audit."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._bandwidth.result import (
    HANG,
    HEALTHY,
    INCONCLUSIVE,
    SLOW,
    STAGED,
    UNSUPPORTED,
    WRONG_DATA,
)
from .._render.text import count, one_line
from . import alike
from . import hints as hints_module
from .expected import Expected, Pair, is_slow, of_gpu
from .together import PEER_CHECK, Host, make_group

RECORD = "bandwidth.json"
SCHEMA_BANDWIDTH = "gpuhost.bandwidth/1"
# Worst first: the first one that occurs is the verdict on several of them.
VERDICTS = (WRONG_DATA, HANG, SLOW, INCONCLUSIVE, STAGED, UNSUPPORTED, HEALTHY)
HARMFUL = (WRONG_DATA, HANG)

# Checks of the link of a GPU, and of its read requests, which copies from the host depend on.
LINK_CHECKS = ("pcie_link_width", "pcie_link_speed", "pcie_bottleneck")
READ_CHECKS = ("pcie_maxreadreq", "pcie_extended_tags")
_DIRECTIONS = {"h2d": "from the host", "d2h": "to the host"}


def make_record(answer: Mapping[str, Any], facts: Mapping[str, Any], pairs: Mapping[tuple[str, str], Pair], *,
                head: Mapping[str, Any], not_measured: Iterable[Mapping[str, str]], percent: float) -> dict[str, Any]:
    """Make the record from the module's answer.

    `facts` are the host's. A copy of a healthy host is slow below `percent` of the expectation. `head` has host,
    run_id, boot_id, measured_at and the driver's version, as the module knows only the CUDA version.
    """
    by_address = {gpu["bdf"]: gpu for gpu in facts["gpus"]}
    alone = {(one["from"], one["to"]): one["write"]["gb_s"] for one in answer["pairs"] if one["write"]}
    host = Host(facts, pairs, alone, percent)
    groups = [make_group(one, host) for one in answer.get("concurrent") or []]
    return {
        "schema": SCHEMA_BANDWIDTH, **head,
        **{name: answer[name] for name in ("where", "tool", "sizes")}, "slow_below_percent": percent,
        "gpus": _compared([_gpu(one, by_address.get(one["bdf"]), facts, percent) for one in answer["gpus"]],
                          alike.of_gpus, percent),
        "pairs": _compared([_pair(one, pairs.get((one["from"], one["to"])), percent) for one in answer["pairs"]],
                           alike.of_pairs, percent),
        **({"concurrent": groups} if groups else {}),
        "stopped": answer["stopped"], "not_measured": [
            {name: one[name] for name in ("subject", "reason")} for one in [*not_measured, *answer["not_measured"]]],
    }


def _compared(made: list[dict[str, Any]], find: Callable[..., dict[Any, alike.Outlier]],
              percent: float) -> list[dict[str, Any]]:
    """Mark as slow what meets its expectation but is far below similar copies."""
    low: dict[str, list[str]] = {}
    for (*ends, way), found in find([one for one in made if one["verdict"] == HEALTHY], percent).items():
        others = f"the {found.others} similar ones, which reach {found.gb_s:.1f} GB/s"
        low.setdefault(" -> ".join(ends), []).append(f"{_DIRECTIONS.get(way, way)} less than {others}")
    return [{**one, "verdict": SLOW, "said": one_line(f"{one['said']}; {', '.join(low[name_of(one)])}")}
            if name_of(one) in low else one for one in made]


def _gpu(one: Mapping[str, Any], gpu: Mapping[str, Any] | None, facts: Mapping[str, Any],
         percent: float) -> dict[str, Any]:
    made = {name: one.get(name) for name in ("bdf", "uuid", "name", "numa_node")}
    expected = of_gpu(gpu, facts) if gpu else {}
    figures, message, slow = {}, [], []
    for direction, words in _DIRECTIONS.items():
        wanted = expected.get(direction, Expected(None, "the host no longer has this GPU"))
        figures[direction] = one[direction] and {**_kept(one[direction], "gb_s"), "expected_gb_s": wanted.gb_s}
        if one[direction]:
            slow += [direction] if is_slow(one[direction]["gb_s"], wanted.gb_s, percent) else []
            message.append(_figure(words, one[direction]["gb_s"], wanted))
    made |= _judged(one, message, bool(slow), hints_module.of_gpu(one, gpu, "h2d" in slow))
    return {**made, **figures, "d2d": one["d2d"] and _kept(one["d2d"], "gb_s"), "link": one["link"] and {
        name: one["link"][name] for name in ("speed_gt_s", "width")}}


def _pair(one: Mapping[str, Any], pair: Pair | None, percent: float) -> dict[str, Any]:
    pair = pair or Pair("unknown", Expected(None, "the host no longer has this pair"), None, [])
    message, slow = [], False
    for way in ("write", "read"):
        if one[way]:
            slow |= is_slow(one[way]["gb_s"], pair.expected.gb_s, percent)
            message.append(_figure(way, one[way]["gb_s"], pair.expected))
    figures = {way: one[way] and {**_kept(one[way], "gb_s", "latency_us"), **{
        name: one[way][name] for name in ("latency_why", "load_latency_us") if one[way].get(name) is not None}}
        for way in ("read", "write")}
    hints = hints_module.of_pair(pair)
    made = {"from": one["from"], "to": one["to"], "path": pair.path, "can_access": one["can_access"],
            **_judged(one, message, slow, hints), **figures, "expected_gb_s": pair.expected.gb_s,
            "expected_why": pair.expected.why}
    checks = [PEER_CHECK] if made["verdict"] == SLOW and any(PEER_CHECK in hint for hint in hints) else []
    return {**made, "checks": checks} if checks else made


def _kept(figures: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The figures of a copy, with those of each size if the module reports them."""
    kept = {name: figures.get(name) for name in names}
    if "by_size" in figures:
        kept["by_size"] = [{name: one[name] for name in ("bytes", "gb_s")} for one in figures["by_size"]]
    return kept


def _figure(words: str, gb_s: float, expected: Expected) -> str:
    if expected.gb_s is None:
        return f"{words} {gb_s:.1f} GB/s"
    return f"{words} {gb_s:.1f} of {expected.gb_s:.1f} GB/s expected"


def _judged(one: Mapping[str, Any], message: list[str], slow: bool, hints: list[str]) -> dict[str, Any]:
    """Only a correct copy can be slow: one with wrong data is wrong at any speed."""
    verdict = SLOW if slow and one["verdict"] == HEALTHY else one["verdict"]
    if verdict not in VERDICTS:
        raise ValueError(f"gpu_bandwidth returned the verdict {verdict!r}, wanted one of {', '.join(VERDICTS)}")
    # The module's message about a correct copy only repeats the figures.
    texts = message if one["verdict"] == HEALTHY and message else [one["said"] or verdict.replace("_", " "), *message]
    seen = f"; possible causes: {', '.join(hints)}" if verdict == SLOW and hints else ""
    return {"verdict": verdict, "said": one_line(", ".join(texts) + seen)}


def worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=VERDICTS.index)


def tally(record: Mapping[str, Any]) -> dict[str, int]:
    """The number of GPUs, pairs and groups by verdict, the worst first; verdicts that do not occur are left out."""
    all_of = [one["verdict"] for one in every(record)]
    return {verdict: all_of.count(verdict) for verdict in VERDICTS if verdict in all_of}


def every(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The GPUs, the pairs, and the groups of concurrent copies, which older records do not have."""
    return [*record["gpus"], *record["pairs"], *record.get("concurrent", [])]


def name_of(one: Mapping[str, Any]) -> str:
    """`0000:01:00.0`, of a pair `0000:01:00.0 -> 0000:02:00.0`, of concurrent copies the module's name of the step."""
    return one["name"] if "kind" in one else one["bdf"] if "bdf" in one else f"{one['from']} -> {one['to']}"


def harm(record: Mapping[str, Any]) -> list[str]:
    """A sentence for each GPU and pair that hung or corrupted data, and why the measurement stopped."""
    found = [f"{name_of(one)}: {one['verdict'].replace('_', ' ')}: {one['said']}"
             for one in every(record) if one["verdict"] in HARMFUL]
    return [*found, f"stopped: {one_line(record['stopped'])}"] if record["stopped"] else found


def entries(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The measurements as evidence for checks, in the form of add_measured()."""
    found = []
    for gpu in record["gpus"]:
        link = gpu["link"]
        seen = f"; under load the link ran at {link['speed_gt_s']:g} GT/s x{link['width']}" if link else ""
        found += [_entry(check, gpu["bdf"], gpu["verdict"], f"{gpu['said']}{seen}") for check in LINK_CHECKS]
        if gpu["h2d"]:
            wanted = gpu["h2d"]["expected_gb_s"]
            verdict = gpu["verdict"] if gpu["verdict"] not in (HEALTHY, SLOW) else (
                SLOW if is_slow(gpu["h2d"]["gb_s"], wanted, record["slow_below_percent"]) else HEALTHY)
            message = _figure(_DIRECTIONS["h2d"], gpu["h2d"]["gb_s"], Expected(wanted, ""))
            found += [_entry(check, gpu["bdf"], verdict, message) for check in READ_CHECKS]
    if record["pairs"]:
        found.append(_entry(PEER_CHECK, None, *_of_peers(record)))
    return found


def _of_peers(record: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict and message for the check of the GPU peer path: slow pairs count only if they depend on it."""
    groups = [one for one in record.get("concurrent", []) if PEER_CHECK in one["checks"]]
    verdicts = [HEALTHY if one["verdict"] == SLOW and PEER_CHECK not in one.get("checks", []) else one["verdict"]
                for one in [*record["pairs"], *groups]]
    return worst(verdicts), "; ".join([say_pairs(record), *(f"{one['name']}: {one['said']}" for one in groups[:1])])


def say_pairs(record: Mapping[str, Any]) -> str:
    """`12 pairs, 11 healthy, 1 slow: 0000:01:00.0 -> 0000:02:00.0: write 9.0 of 57.6 GB/s expected`."""
    pairs = record["pairs"]
    counts = tally({"gpus": [], "pairs": pairs})
    message = ", ".join([count(len(pairs), "pair"), *(f"{number} {verdict.replace('_', ' ')}"
                                                      for verdict, number in counts.items())])
    bad = [pair for pair in pairs if pair["verdict"] in (*HARMFUL, SLOW)]
    if not bad:
        return message
    first = min(bad, key=lambda pair: VERDICTS.index(pair["verdict"]))
    return f"{message}: {name_of(first)}: {first['said']}" + (f" and {len(bad) - 1} more" if len(bad) > 1 else "")


def _entry(check: str, subject: str | None, verdict: str, message: str) -> dict[str, Any]:
    return {"check": check, "subject": subject, "verdict": verdict, "said": message}
