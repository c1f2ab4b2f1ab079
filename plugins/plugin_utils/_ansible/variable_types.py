# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Types and ranges of the users' variables, by name without prefix; variables not listed take any value.

They repeat the argument specs of the roles, so that an invalid value of any host of a play is found before the first
host is changed.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_float,
    check_type_int,
    check_type_list,
    check_type_str,
)

from . import survey


class Type(NamedTuple):
    """How a value is converted, the type's name in messages, and the allowed range or choices."""

    convert: Callable[[Any], Any]
    name: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("a boolean")
    return check_type_int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("a boolean")
    return check_type_float(value)


_BOOL = Type(check_type_bool, "true or false")
_LIST = Type(check_type_list, "a list")
_TEXT = Type(check_type_str, "text")
_COLLECTIONS = {check_type_list: [], check_type_dict: {}}
_SECONDS = Type(_whole, "a whole number of seconds", 0)

TYPES = {
    "allow_busy": _BOOL, "become": _BOOL, "csv": _BOOL, "dedicated": _BOOL,
    "checks": _LIST, "compare": _LIST, "force": _LIST, "gather": _LIST, "include": _LIST, "only": _LIST, "skip": _LIST,
    "fail_on": Type(check_type_str, "a priority", choices=("", "P0", "P1", "P2")),
    "link_samples": Type(_whole, "a whole number", 0, 100),
    "recheck_max": Type(_whole, "a whole number of hosts", 0),
    "max_failed": Type(_whole, "a whole number of hosts", 0),
    "overrides": Type(check_type_dict, "a mapping"),
    "profile": _TEXT, "report_dir": _TEXT, "run_id": _TEXT, "sysroot": _TEXT,
    "soak_seconds": _SECONDS,
    "verify_against": Type(check_type_str, "text", choices=("run", "profile")),
    "watch_fail_on_change": _BOOL, "watch_minutes": Type(_whole, "a whole number of minutes", 1, 1440),
    "watch_schedule": Type(check_type_str, "text", choices=("timer", "cron", "awx")), "watch_textfile_dir": _TEXT,
    "bandwidth": _BOOL, "bandwidth_pairs": _BOOL,
    "bandwidth_override": _LIST, "bandwidth_devices": _LIST, "bandwidth_sizes": _LIST,
    "bandwidth_slow_below": Type(_number, "a percentage", 0, 100),
    "experiment_blocks": Type(_whole, "a whole number", 1),
    "experiment_budget_minutes": Type(_number, "a number of minutes", 0),
    "experiment_changes": _LIST,
    "experiment_end": Type(check_type_str, "text", choices=("before", "after", "best")),
    "experiment_min_effect": Type(_number, "a number of percent", 0),
    "experiment_mode": Type(check_type_str, "text", choices=("plan", "one_at_a_time", "leave_one_out")),
    "experiment_pause_seconds": _SECONDS,
    "import": _LIST, "import_name": _TEXT,
    "persist_override": _LIST,
    "persist_state": Type(check_type_str, "text", choices=("present", "absent")),
    "placement_apply": _BOOL,
    "placement_state": Type(check_type_str, "text", choices=("present", "absent")),
    "record_anonymise": _BOOL, "record_writable": _BOOL,
    "record_max_bytes": Type(_whole, "a whole number of bytes", 0),
}


def problem(word: str, value: Any) -> str | None:
    """Why a value is invalid, as `wanted ..., found ...`; None if it is valid or any value is.

    Empty strings and null count as unset: surveys and templates pass them for variables without a value.
    """
    type_ = TYPES.get(word)
    if type_ is None or survey.is_empty(value):
        return None
    value = survey.or_default(value, _COLLECTIONS.get(type_.convert))
    try:
        converted = type_.convert(value)
    except (TypeError, ValueError):
        return f"wanted {_wanted(type_)}, found {value!r}"
    if (type_.choices and converted not in type_.choices) or (type_.least is not None and converted < type_.least) \
            or (type_.most is not None and converted > type_.most):
        return f"wanted {_wanted(type_)}, found {value!r}"
    return None


def _wanted(type_: Type) -> str:
    if type_.choices:
        return f"one of {', '.join(repr(choice) for choice in type_.choices if choice)}"
    if type_.most is not None:
        return f"{type_.name} from {type_.least:g} to {type_.most:g}"
    return type_.name if type_.least is None else f"{type_.name}, at least {type_.least:g}"
