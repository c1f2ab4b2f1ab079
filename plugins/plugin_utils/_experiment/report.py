# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Report an experiment: the effect of each change, its uncertainty, and the conditions of the runs."""
from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._records import host_folder
from .._render.section import Section, Table
from .._render.text import clean, count, one_line, show
from .._statistics.effect import CONFIDENCE, HELPS, HURTS, INCONCLUSIVE, stand_together
from .effects_plot import effects_drawing, span

EXPERIMENT, PLOT = "experiment.json", "effects.svg"
SCHEMA_EXPERIMENT = "gpuhost.experiment/1"
HEADING = "Which changes help"
_HEAD = ("change", "metric", "verdict", "effect (95 % interval)", "blocks", "chance", "to know")
_MODES = {"plan": "all changes together", "one_at_a_time": "each change alone",
          "leave_one_out": "all changes, and all except one"}
_ENDS = {"before": "its original settings", "after": "all changes", "best": "the changes that helped"}


def read(folder: pathlib.Path, _facts: dict[str, Any]) -> Section | None:
    """The section for the newest experiment of a host; None without one."""
    document = host_folder.read_document(folder / EXPERIMENT, SCHEMA_EXPERIMENT)
    return section(document) if document else None


def section(document: dict[str, Any]) -> Section:
    """An experiment's document as a section of the reports."""
    drawing = effects_drawing(document)
    compared = _compared(document)
    measured = [found for arm, metric, found in compared if found["low"] is not None]
    weak = [found for found, stands in zip(measured, stand_together([found["chance"] for found in measured]))
            if not stands]
    rows = [_effect_row(*one, alone=any(one[2] is found for found in weak)) for one in compared]
    return Section(f"{HEADING}: {one_line(document['benchmark'])}", _notes(document),
                   [Table("Effect of each change", list(_HEAD), rows)] if rows else [],
                   {PLOT: drawing} if drawing else {})


def _notes(document: dict[str, Any]) -> list[str]:
    notes = [f"Run {document['run_id']} of {document['measured_at']}: {_MODES[document['mode']]}; "
             f"{count(len(_counted(document)), 'run')} in blocks of two, one before and one after the change, in "
             "random order."]
    if document["ended"] is None:
        notes.append("It has not finished: it is still running, or was killed. These are the measurements so far.")
    else:
        notes.append(f"{_sentence(document['ended'])} The host was left with {_ENDS[document['end_state']]}.")
    notes += _discarded(document) + _conditions(document) + _several(document)
    notes += [f"Not compared: {show(one['address'])}: {show(one['reason'])}" for one in document["left_out"]]
    notes += [f"Different from before: {show(one.get('address'))}: {show(one.get('before'))} -> "
              f"{show(one.get('after'))}"
              for one in document["drift"]]
    return [one_line(note) for note in notes]


def _sentence(message: str) -> str:
    text = one_line(message)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _counted(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The valid runs: no warm-ups, none that were discarded."""
    return [run for run in document["runs"] if run["arm"] is not None and run["discarded"] is None]


def _discarded(document: dict[str, Any]) -> list[str]:
    reasons = Counter(clean(run["discarded"]) for run in document["runs"] if run["discarded"] is not None)
    if not reasons:
        return ["No run was discarded."]
    return [f"{count(sum(reasons.values()), 'run')} discarded: "
            + "; ".join(f"{number} x {reason}" for reason, number in reasons.most_common()) + "."]


def _conditions(document: dict[str, Any]) -> list[str]:
    """The ranges of conditions recorded with valid runs; values that could not be read are not mentioned."""
    ends = [end for run in _counted(document) for end in (run["conditions"] or {}).values() if isinstance(end, dict)]
    gpus = [gpu for end in ends for gpu in end.get("gpus") or []]
    lines = [_range("GPUs", (gpu.get("temperature_c") for gpu in gpus), "°C"),
             _range("SM clock", (gpu.get("sm_mhz") for gpu in gpus), "MHz"),
             _range("power", (gpu.get("power_w") for gpu in gpus), "W"),
             _range("load", (end.get("load1") for end in ends), "")]
    throttled = sorted({one_line(name) for gpu in gpus for name in gpu.get("throttle") or []})
    lines += [f"throttled: {', '.join(throttled)}"] if throttled else []
    others = sorted({one_line(user.get("command")) for end in ends for user in end.get("users") or []})
    lines += [f"others that used a GPU: {', '.join(others)}"] if others else []
    return [f"During the runs: {'; '.join(filter(None, lines))}."] if any(lines) else []


def _range(name: str, numbers: Iterable[Any], unit: str) -> str:
    known = [number for number in numbers if isinstance(number, (int, float))]
    if not known:
        return ""
    low, high = f"{round(min(known), 1):g}", f"{round(max(known), 1):g}"
    return f"{name} {low if low == high else f'{low} to {high}'} {unit}".rstrip()


def _several(document: dict[str, Any]) -> list[str]:
    """How many comparisons were made: each one adds to the chance of a false positive."""
    compared = [found for arm, metric, found in _compared(document) if found["low"] is not None]
    called = [found for found in compared if found.get("alone", found["verdict"]) in (HELPS, HURTS)]
    if len(compared) < 2:
        return []
    by_chance = f"{len(compared) * (1 - CONFIDENCE):.2g}"
    lines = [f"{len(compared)} comparisons: without any effect, about {by_chance} of them would be significant by "
             "chance."]
    if called:
        stand = sum(stand_together([found["chance"] for found in compared]))
        if stand == len(called):
            lines.append("After Holm's correction all of them remain significant.")
        else:
            lines.append(f"Judged together (Holm), {stand or 'none'} of {len(called)} remain significant: test the "
                         "others in separate experiments.")
    return [" ".join(lines)]


def _only_alone(found: dict[str, Any]) -> bool:
    return found["verdict"] == INCONCLUSIVE and found.get("alone") in (HELPS, HURTS)


def _compared(document: dict[str, Any]) -> list[tuple[dict[str, Any], str, dict[str, Any]]]:
    return [(arm, metric, found) for arm in document["arms"] for metric, found in arm["metrics"].items()]


def _effect_row(arm: dict[str, Any], metric: str, found: dict[str, Any], alone: bool) -> list[str]:
    measured = found["low"] is not None
    return [one_line(part) for part in (
        arm["name"], metric, found["verdict"], span(found) if measured else "-", found["blocks"],
        f"{found['chance']:.3f}" if measured else "-", _to_know(found, alone))]


def _to_know(found: dict[str, Any], alone: bool) -> str:
    """Remarks on the numbers. `alone`: an effect is not significant when all comparisons are tested together."""
    if found["verdict"] in (HELPS, HURTS):
        return "one of several comparisons: may be chance, repeat it separately" if alone else "-"
    if _only_alone(found):
        return f"{found['alone']} on its own, but not significant after correction: test it in a separate experiment"
    if found["more_runs"]:
        return f"needs {found['more_runs']} more runs, {found['blocks'] + found['more_blocks']} blocks in all"
    if found["smallest_seen"]:
        return f"an effect beyond {found['smallest_seen']:.1f} % would have been detected"
    return found["said"]
