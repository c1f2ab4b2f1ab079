# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Placement options of a VM: which may be set, their formats, equality of values, and pending values."""
from __future__ import annotations

import re

from .._kernel.cpulist import parse_cpulist
from .._pve.config import PENDING, parse_properties

Options = dict[str, "str | None"]     # None: the option is not set

_LIST = r"\d{1,5}(?:-\d{1,5})?"
_FORMS = {
    "affinity": re.compile(rf"{_LIST}(?:,{_LIST})*"),
    "numa": re.compile(r"[01]"),
    "numaN": re.compile(rf"cpus={_LIST}(?:;{_LIST})*(?:,(?:hostnodes={_LIST}(?:;{_LIST})*|memory=\d{{1,9}}|"
                        r"policy=(?:preferred|bind|interleave)))*"),
}
_TRUE = ("1", "on", "yes", "true")


def form_of(name: str) -> str | None:
    """`affinity`, `numa` or `numaN`; None for an option that is not about placement."""
    return name if name in ("affinity", "numa") else "numaN" if re.fullmatch(r"numa[0-7]", name) else None


def check_options(options: object, what: str) -> Options:
    """Return the options unchanged; ValueError for any other option or a malformed value."""
    if not isinstance(options, dict) or not options:
        raise ValueError(f"{what}: wanted a mapping of options, found {options!r}")
    for name, text in options.items():
        form = form_of(str(name))
        if form is None:
            raise ValueError(f"{what}: {name!r} is not set here: only affinity, numa and numa0 to numa7 are")
        if text is not None and not (isinstance(text, str) and _FORMS[form].fullmatch(text)):
            raise ValueError(f"{what}: {name}: {text!r} has not the form of this option (in quotes; null for not set)")
    return options


def holding_next(sections: dict[str, list[tuple[str, str]]], names: list[str]) -> Options:
    """The options at the next start: the current ones with the pending changes applied."""
    now, waiting = dict(sections[""]), dict(sections.get(PENDING, []))
    dropped = [part.strip().lstrip("!") for part in re.split(r"[,; ]", waiting.get("delete", ""))]
    return {name: waiting.get(name, None if name in dropped else now.get(name)) for name in names}


def alike(name: str, one: str | None, other: str | None) -> bool:
    """Whether two values of an option are equivalent."""
    if name == "numa":
        return (one in _TRUE) == (other in _TRUE)
    if one is None or other is None:
        return one is other
    try:
        return _meaning(name, one) == _meaning(name, other)
    except ValueError:
        return one == other


def _meaning(name: str, text: str) -> object:
    if name == "affinity":
        return parse_cpulist(text.replace(" ", ""))
    parts = parse_properties(text, "cpus")
    return {key: parse_cpulist(part.replace(";", ",")) if key in ("cpus", "hostnodes") else part
            for key, part in parts.items()}
