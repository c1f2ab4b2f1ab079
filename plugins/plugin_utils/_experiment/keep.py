# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Write overrides.yml, which removes changes from this host's plan that did not help in an experiment.

A check with such an override is still evaluated, and its finding shows what was measured. Inconclusive changes stay
planned: nothing was found out about them.
"""
from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from .._records import host_folder
from .._render.text import one_line
from .._statistics.effect import HELPS, HURTS, NOTHING

OVERRIDES = "overrides.yml"
_HEAD = """\
# What the experiment {run_id} of {measured_at} found not to help on {host} ({benchmark}).
# These checks are still judged here, but a tune does not plan them:
#   ansible-playbook gpuhost.tuning.tune_runtime -e @{host}/{run_id}/overrides.yml --limit {host}
# A value given with -e takes the place of gpuhost_overrides of the inventory; what the experiment got is here too.
"""
# What an experiment in this mode cannot tell.
_COMPANY = {
    "plan": "All changes were made together: this experiment cannot tell which of them helped or hurt.",
    "leave_one_out": "Each was measured with all others in place: of two changes with the same effect, both appear to "
                     "have none. If several are excluded, compare again.",
}


class Decision(NamedTuple):
    """`plan` is false if the change is to be left out; `why` says what was measured."""

    plan: bool
    why: str


def decisions(document: Mapping[str, Any]) -> dict[str, Decision]:
    """Decide for each check of an experiment's document whether its change stays planned.

    A change that hurts one metric is left out whatever it does to others: the user may weigh them. A change without
    a measurable effect on any metric is left out, too.
    """
    effects: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for arm in document["arms"]:
        for check in arm["checks"]:
            effects.setdefault(check, []).extend(arm["metrics"].items())
    return {check: _decide(found) for check, found in effects.items()}


def _decide(effects: list[tuple[str, Mapping[str, Any]]]) -> Decision:
    verdicts = {found["verdict"] for metric, found in effects}
    why = "; ".join(f"{metric}: {found['said']}" for metric, found in effects) or "nothing was measured"
    return Decision(HURTS not in verdicts and (HELPS in verdicts or verdicts != {NOTHING}), why)


def overrides(document: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """gpuhost_overrides with `plan: false` for changes that did not help, merged into what the user had `given`."""
    kept = {check: dict(override) for check, override in (given or {}).items()}
    for check, decision in decisions(document).items():
        if not decision.plan:
            kept[check] = {**kept.get(check, {}), "plan": False}
    return kept


def overrides_file(document: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> str:
    """The text of overrides.yml, with the reason for each check as a comment."""
    found = decisions(document)
    lines = [_HEAD.format(**{name: _comment(document[name])
                             for name in ("run_id", "measured_at", "host", "benchmark")}).rstrip("\n")]
    lines += [f"# {message}" for mode, message in _COMPANY.items() if mode == document["mode"]]
    for check, decision in found.items():
        if decision.plan:
            lines.append(f"# stays planned: {_comment(check)}: {_comment(decision.why)}")
    # The user's own values belong to no check, so no override applies to them.
    lines += [f"# not planned by a check, take it out of gpuhost_values if it did not help: {_comment(address)}: "
              f"{_comment(_decide(list(arm['metrics'].items())).why)}"
              for arm in document["arms"] if not arm["checks"] for address in arm["toggles"]]
    chosen = overrides(document, given)
    lines += ["---", "gpuhost_overrides:" if chosen else "gpuhost_overrides: {}"]
    for check, override in chosen.items():
        if check in found:
            lines.append(f"  # {_comment(found[check].why)}")
        lines.append(f"  {_yaml(check)}: {_yaml(override)}")
    return "\n".join([*lines, ""])


def write_overrides(folder: host_folder.HostFolder, document: Mapping[str, Any],
                    given: Mapping[str, Any] | None = None) -> pathlib.Path:
    """Write the file next to the experiment's record and return its path."""
    path = folder.run(document["run_id"]) / OVERRIDES
    host_folder.write_text(path, overrides_file(document, given))
    return path


def _comment(text: object) -> str:
    """ASCII on one line: any character that YAML takes for a line break would end the comment."""
    return one_line(text).encode("ascii", "backslashreplace").decode()


def _yaml(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")
