# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The wanted value of one tunable, in the form used by users, plans and restore plans."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

GUARD_KEYS = frozenset(("set", "only_from", "identity", "restores"))


class Wanted(NamedTuple):
    """A wanted value with its guards; a guard of None always holds."""

    value: Any                      # what to set, or the minimum
    at_least: bool = False
    only_from: Any = None           # write only if this, or one of this tuple, is the current value
    identity: str | None = None     # write only to the device with this identity
    restores: bool = False          # restores what a run changed: never begins a new baseline

    def asked(self) -> Any:
        """Return the value in the shape of `values`, without its guards."""
        return {"at_least": self.value} if self.at_least else self.value


def scalar(value: Any) -> str:
    """Convert a value to the text written to the kernel. Raises ValueError for YAML's reading of an unquoted word."""
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is a boolean: quote it in YAML, or write the kernel's own value")
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is neither a number nor text")
    text = value.strip("\n")      # other blanks stay: a restored value equals the kernel's output byte for byte
    if not text.strip():
        raise ValueError("an empty value changes nothing in the kernel")
    if any(sign != "\t" and not sign.isprintable() for sign in text):
        raise ValueError(f"{text!r} holds a line end or a control character")
    return text


def parse_wanted(spec: Any, parse: Callable[[Any], Any], numbers: bool = False) -> Wanted:
    """Parse `60`, `{at_least: 60}` or `{set: 60, only_from: 10, identity: ...}`. Raises ValueError.

    `parse` converts a value to the kind's own form; `numbers` says whether the kind supports `at_least`.
    """
    if not isinstance(spec, dict):
        return Wanted(parse(spec))
    if "at_least" in spec:
        return _at_least(spec, numbers)
    unknown = sorted(set(spec) - GUARD_KEYS)
    if unknown or "set" not in spec:
        raise ValueError(f"{spec} is neither a value, nor {{at_least: NUMBER}}, nor {{set: VALUE, only_from: VALUE, "
                         f"identity: TEXT, restores: true}}" + (f" (unknown: {', '.join(unknown)})" if unknown else ""))
    only_from, identity, restores = spec.get("only_from"), spec.get("identity"), spec.get("restores", False)
    if identity is not None and not isinstance(identity, str):
        raise ValueError(f"identity {identity!r} is not text")
    if not isinstance(restores, bool):
        raise ValueError(f"restores {restores!r} is neither true nor false")
    return Wanted(parse(spec["set"]), only_from=parse_guard(only_from, parse), identity=identity, restores=restores)


def parse_guard(only_from: Any, parse: Callable[[Any], Any]) -> Any:
    """Parse the guard: None, a value, or several, one of which must be the current value."""
    if isinstance(only_from, list):
        return tuple(parse(one) for one in only_from)
    return None if only_from is None else parse(only_from)


def _at_least(spec: dict, numbers: bool) -> Wanted:
    if not numbers:
        raise ValueError("at_least is for sysctls that hold one number")
    if len(spec) > 1:
        raise ValueError(f"at_least cannot be combined with {', '.join(sorted(set(spec) - {'at_least'}))}")
    text = scalar(spec["at_least"])
    try:
        return Wanted(int(text), at_least=True)
    except ValueError:
        raise ValueError(f"at_least {text!r} is not a decimal number") from None
