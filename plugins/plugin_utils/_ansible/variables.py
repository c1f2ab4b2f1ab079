# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Checks of the users' gpuhost_ variables: the names are known and the values resolve and are valid.

Roles read them with Jinja's `default()`, which treats a variable that does not resolve as unset: with
`gpuhost_skip: "{{ misspelt }}"` a tune would change what it should skip.
"""
from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from ansible.errors import AnsibleActionFail, AnsibleError, AnsibleValueOmittedError
from ansible.utils.display import Display

from . import survey, variable_types
from .untag import untag

PREFIX = "gpuhost_"
_UNSET: Final = object()
_NEAR = 0.8     # similarity, at most 1: skp matches skip, values_of_site does not match values
_NEAR_OPTION = 0.9      # for names that begin with the role's
_COMMON = frozenset((
    "allow_busy", "become", "checks", "csv", "dedicated", "fail_on", "force", "hosts", "include", "link_samples",
    "max_failed", "only", "overrides", "profile", "recheck_max", "report_dir", "report_mode", "run_id", "serial",
    "skip",
    "soak_seconds", "sysroot", "timeout", "values", "verify_against", "waivers"))
# Variables that only one role reads: their templates may use variables that only that role's play defines.
_OF_ROLES = {
    "bandwidth": frozenset(("bandwidth", *(f"bandwidth_{name}" for name in (
        "concurrent", "container", "override", "devices", "pairs", "sizes", "slow_below", "timeout", "tool")))),
    "benchmark": frozenset(("benchmark",)),
    "compare": frozenset(("compare",)),
    "fleet_report": frozenset(("gather",)),
    "experiment": frozenset(f"experiment_{name}" for name in (
        "blocks", "budget_minutes", "changes", "end", "min_effect", "mode", "pause_seconds", "seed")),
    "import": frozenset(("import", "import_name")),
    "persist": frozenset(("persist_override", "persist_state")),
    "watch": frozenset(f"watch_{name}" for name in ("fail_on_change", "minutes", "schedule", "textfile_dir")),
    "placement": frozenset(("placement_apply", "placement_state")),
    "record": frozenset(f"record_{name}" for name in ("anonymise", "max_bytes", "writable")),
}
KNOWN = _COMMON.union(*_OF_ROLES.values())
# Set by a play for the next one of a workflow, which gets it as a variable; nothing here reads it.
_LEFT = frozenset(("stats",))

# Former names; they still apply if the new name is not set.
FORMER = {"look_again": "recheck_max", "bandwidth_despite": "bandwidth_override",
          "experiment_matters": "experiment_min_effect"}

Resolve = Callable[[Any], Any]


def check_variables(variables: Mapping[str, Any], resolve: Resolve, *roles: str) -> None:
    """Fail the task for an invalid user variable, and warn of one without effect.

    `variables` are a host's, as Ansible has them; `resolve` templates a value. Values are checked for the variables
    common to all roles and for those of `roles`.
    """
    try:
        for warning in check(variables, resolve, roles):
            Display().warning(warning)
    except ValueError as problem:
        raise AnsibleActionFail(str(problem)) from problem


def check(variables: Mapping[str, Any], resolve: Resolve, roles: Collection[str] = ()) -> list[str]:
    """Warnings about unknown names that begin with the prefix; ValueError for an invalid value."""
    looked_at = _COMMON.union(*(_OF_ROLES[role] for role in roles))
    warnings = []
    for name in [name for name in variables if name.startswith(PREFIX)]:
        word = name.removeprefix(PREFIX)
        if word in looked_at:
            wrong = variable_types.problem(word, _resolved(name, variables, resolve))
            if wrong:
                raise ValueError(f"{name}: {wrong}")
        elif word in FORMER:
            _resolved(name, variables, resolve)
            warnings.append(f"{name} is called {PREFIX}{FORMER[word]} now; the old name works until version 2.0.0")
        elif word not in KNOWN | _LEFT:
            warnings.append(_unknown(name, word))
    return warnings


def problems(variables: Mapping[str, Any], resolve: Resolve) -> list[str]:
    """Invalid variables of a host whose turn has not come yet, one line each.

    A variable that does not resolve may do so later: check() handles it.
    """
    found = []
    for name in [name for name in variables if name.startswith(PREFIX) and name.removeprefix(PREFIX) in KNOWN]:
        try:
            wrong = variable_types.problem(name.removeprefix(PREFIX), _resolved(name, variables, resolve))
        except ValueError:
            continue
        if wrong:
            found.append(f"{name}: {wrong}")
    return found


def check_role(role: str, options: Collection[str], variables: Mapping[str, Any], passed: Collection[str]) -> list[str]:
    """Warnings about near misses of a role's options (`audit_fail_onn`); ValueError if one was passed to the role.

    Elsewhere such a name may be another role's. `options` are the role's own names, `passed` those it was given.
    """
    warnings = []
    for name in [name for name in variables if name.startswith(f"{role}_") and name not in options]:
        near = difflib.get_close_matches(name, options, 1, _NEAR_OPTION)
        if near and name in passed:
            raise ValueError(f"the role {role} has no option {name}: did you mean {near[0]}?")
        if near:
            warnings.append(f"{name} is not an option of the role {role} and has no effect: did you mean {near[0]}?")
    return warnings


class Chosen(NamedTuple):
    """The variable that gives an option, and its value."""

    variable: str
    value: Any


def options(named: Any, variables: Mapping[str, Any], resolve: Resolve) -> dict[str, Chosen]:
    """The options by `named`, `{option: [names of variables]}`: each takes the first variable that is set."""
    if not isinstance(named, Mapping) or not all(isinstance(names, list) for names in named.values()):
        raise ValueError("variables: wanted a mapping from options to lists of variable names, found "
                         f"{named!r}: write for example {{profile: [my_profile, gpuhost_profile]}}")
    found = {option: _first_set(names, variables, resolve) for option, names in named.items()}
    return {option: Chosen(*chosen) for option, chosen in found.items() if chosen is not None}


def _first_set(names: list[str], variables: Mapping[str, Any], resolve: Resolve) -> tuple[str, Any] | None:
    found = ((name, _resolved(name, variables, resolve)) for name in names if name in variables)
    return next((chosen for chosen in found if chosen[1] is not _UNSET and not survey.is_empty(chosen[1])), None)


def _resolved(name: str, variables: Mapping[str, Any], resolve: Resolve) -> Any:
    """The value of a defined variable, in plain types."""
    try:
        return untag(resolve(variables[name]))
    except AnsibleValueOmittedError:
        return _UNSET
    except AnsibleError as error:
        raise ValueError(f"{name} is set, but its value cannot be resolved: {error}") from error


def _unknown(name: str, word: str) -> str:
    """ValueError for a near miss of a known name; else a warning, for it may be the user's own helper variable."""
    near = difflib.get_close_matches(word, KNOWN, 1, _NEAR)
    if near:
        raise ValueError(f"there is no variable {name}: did you mean {PREFIX}{near[0]}? Choose a less similar name "
                         "for your own variable")
    return f"{name} is not a variable of gpuhost.tuning: it has no effect"
