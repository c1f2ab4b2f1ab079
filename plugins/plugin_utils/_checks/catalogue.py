# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The checks and profiles that this collection ships, and those that users add."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._tunables.kinds import OPT_IN
from .._expressions.errors import CatalogueError, MissingPackage, nearest
from .._expressions.expression import names
from .check import Check, build
from .names import check_names
from .user_yaml import read_own, read_shipped

FOLDER = pathlib.Path(__file__).parents[1] / "catalogue"
_SHIPPED_PROFILES = str(FOLDER / "profiles")
_YAML_ENDINGS = (".yml", ".yaml")
_TUNABLE = re.compile(r'host\.tunables\."([^"]+)"')


@dataclass(frozen=True, slots=True)
class Profile:
    """Selected checks, planned changes, other values and priorities; schemas/profile.schema.json explains the keys."""

    name: str
    description: str = ""
    file: str = ""
    plan: frozenset[str] = frozenset()
    leave: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    evidence: frozenset[str] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    priorities: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The profile in messages; a user's own with its file."""
        shipped = self.file.rpartition("/")[0] == _SHIPPED_PROFILES
        return f"the profile {self.name}" + ("" if shipped else f" ({self.file})")


def load(paths: Iterable[str] = ()) -> list[Check]:
    """The shipped checks and those of the files and folders in `paths`, in that order."""
    checks = list(shipped())
    known = {check.id: check.file for check in checks}
    for path in _files(paths):
        for check in load_file(path):
            if check.id in known:
                raise CatalogueError(check.file, check.id, "id", f"is already used by {known[check.id]}: choose "
                                                                 "another id, or change that check's value or "
                                                                 "priority with gpuhost_overrides")
            known[check.id] = check.file
            checks.append(check)
    return checks


def shipped() -> tuple[Check, ...]:
    """The shipped checks; MissingPackage if they could not be compiled because a package is missing."""
    if isinstance(SHIPPED, MissingPackage):
        raise SHIPPED
    return SHIPPED


def load_file(path: pathlib.Path) -> list[Check]:
    """The checks of a user's file, validated by the schemas of checks and facts."""
    checks = [build(data, str(path)) for data in read_own(path, "check.schema.json")]
    for check in checks:
        check_names(check)
    return checks


def asked_tunables(checks: Iterable[Check]) -> list[str]:
    """The addresses that checks use as `host.tunables."sysctl:vm.laptop_mode"`: host_info reads them on demand."""
    own = (check for check in checks if check.id not in _SHIPPED_IDS)
    return sorted(_SHIPPED_ASK | _asked(own))


def _asked(checks: Iterable[Check]) -> frozenset[str]:
    # Hardly any check does, and following the names in all expressions would take a third of an audit.
    asking = (expression for check in checks for expression in check.all_expressions() if "tunables" in expression.text)
    paths = (path for expression in asking for path in names(expression))
    return frozenset(found[1] for path in paths if (found := _TUNABLE.match(path)))


def load_profile(given: str, checks: Sequence[Check] | None = None) -> Profile:
    """A shipped profile by name, or a user's by path; `checks` are those that it may name."""
    profile = _profile(given, pathlib.Path(), ())
    known = {check.id: check for check in (shipped() if checks is None else checks)}
    for key in ("plan", "leave", "only", "values", "priorities"):
        for name in getattr(profile, key):
            if name not in known and (key not in ("plan", "leave") or name not in OPT_IN):
                raise CatalogueError(profile.file, None, key, f"there is no check {name!r}{nearest(name, known)}")
    for name, value in profile.values.items():
        known[name].wanted(value, profile.file)
    for name, priority in profile.priorities.items():
        known[name].allow_priority(priority, profile.file)
    return profile


def profile_names() -> list[str]:
    return sorted(_PROFILES)


def _profile(given: str, beside: pathlib.Path, extended_by: tuple[str, ...]) -> Profile:
    own = "/" in given or given.endswith(_YAML_ENDINGS)
    if not own and given not in _PROFILES:
        names = profile_names()
        raise CatalogueError(extended_by[-1] if extended_by else "gpuhost_profile", None, None,
                             f"there is no profile {given!r} (shipped: {', '.join(names)}; for your own use the path "
                             f"of its file){nearest(given, names)}")
    path = beside / pathlib.Path(given).expanduser() if own else FOLDER / "profiles" / f"{given}.yml"
    if str(path) in extended_by:
        raise CatalogueError(str(path), None, "extends", f"is circular: {' -> '.join((*extended_by, str(path)))}")
    data = read_own(path, "profile.schema.json") if own else _PROFILES[given]
    base = Profile("")
    if "extends" in data:
        base = _profile(data["extends"], path.parent, (*extended_by, str(path)))
    return _extend(base, data, str(path))


def _extend(base: Profile, data: dict[str, Any], file: str) -> Profile:
    plan, leave = frozenset(data.get("plan", ())), frozenset(data.get("leave", ()))
    evidence = frozenset(data["evidence"]) if "evidence" in data else base.evidence
    return Profile(
        name=data["name"], description=data["description"], file=file, plan=base.plan - leave | plan,
        leave=base.leave - plan | leave, only=frozenset(data.get("only", base.only)), evidence=evidence,
        values={**base.values, **data.get("values", {})},
        priorities={**base.priorities, **data.get("priorities", {})})


def _files(paths: Iterable[str]) -> list[pathlib.Path]:
    """Every YAML file in `paths`; those of a folder in the order of their names."""
    found: list[pathlib.Path] = []
    for given in paths:
        path = pathlib.Path(given).expanduser()
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix in _YAML_ENDINGS)
            if not inside:
                raise CatalogueError(str(path), None, None, "the directory has no .yml file")
            found += inside
        else:
            found.append(path)
    return found


def _load_shipped() -> tuple[Check, ...] | MissingPackage:
    checks: list[Check] = []
    try:
        for path in sorted((FOLDER / "checks").glob("*.yml")):
            checks += [build(data, path.name) for data in read_shipped(path)]
    except MissingPackage as missing:
        return missing
    return tuple(checks)


# Compiled once, when the plugin is imported: Ansible's workers are forks, and their caches die with them.
SHIPPED = _load_shipped()
_SHIPPED_IDS = frozenset() if isinstance(SHIPPED, MissingPackage) else frozenset(check.id for check in SHIPPED)
_SHIPPED_ASK = frozenset() if isinstance(SHIPPED, MissingPackage) else _asked(SHIPPED)
_PROFILES: dict[str, dict[str, Any]] = {path.stem: read_shipped(path) for path in (FOLDER / "profiles").glob("*.yml")}
