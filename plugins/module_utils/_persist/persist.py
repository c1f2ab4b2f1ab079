# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Persist values on a host and remove them again: decisions, order of writing, and report."""
from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._boot_order.competitors import competitors
from .._change.journal import utc_now
from .._host.host import Host
from .._one_file.version import VERSION
from . import interpreter, paths, texts
from .differences import Content, make_diff
from .files import Link, describe
from .folders import real_path
from .ledger import make_ledger, new_ledger, says_the_same
from .ledger_place import put_ledger, remove_ledger
from .obstacles import Obstacle, has_systemd, refuse_container, refuse_read_only, require_place
from .state import State, same
from .values import SYSCTL, ToPersist, Values, resolve

Contents = dict[str, Content]


class Persisted(NamedTuple):
    """What a call did, or would do in check mode."""

    changed: bool
    ledger: dict[str, Any] | None       # its final state
    files: list[dict[str, str]]         # {path, outcome}: written, removed, unchanged, kept
    diff: list[dict[str, str]]          # whole files
    interrupted: str | None             # what an earlier, killed run had left
    kept: list[str]                     # edited files, which are left unchanged
    differing: list[dict[str, Any]]     # {address, now, value}: changes at the next boot


class Refusal(Exception):
    """Nothing was written; one line per reason."""

    def __init__(self, lines: list[str], conflicts: list[dict[str, Any]] | None = None) -> None:
        super().__init__("\n".join(lines))
        self.conflicts = conflicts or []


def persist(host: Host, values: Values, *, run_id: str, override: list[str] | None = None,
            check_mode: bool = False) -> Persisted:
    """Persist `values`. Raises Refusal, Obstacle, InTheWay, ValueError or OSError; only OSError can follow a write."""
    refuse_container(host)
    with _locked(host):
        state = State(host)
        wanted, left_out = _leave_out(host, resolve(host, values), override or [])
        require_place(host, [os.path.dirname(path) for path in paths.EVERY_PATH
                             if wanted.boot or path in (paths.SYSCTLS, paths.LEDGER) or state.ours(path)])
        content = _content(host, wanted)
        kept = [why for path in paths.FILES if (why := state.kept(
            path, describe(content[path]) if path in content else None))]
        if kept:
            raise Refusal([f"{line}: nothing was written; move it away, or remove it" for line in kept])
        ledger = _ledger(state, wanted, content, left_out, run_id)
        done = _compare(state, content, ledger, wanted)
        if done.changed and not check_mode:
            _write(state, content, ledger)
        return done


def remove(host: Host, *, run_id: str, check_mode: bool = False) -> Persisted:
    """Remove all files of ours; edited ones are kept and reported. Raises Obstacle, InTheWay, OSError."""
    with _locked(host):
        state = State(host)
        kept = {path: why for path in state.recorded | _started_files(state) if (why := state.kept(path))}
        gone = [path for path in paths.FILES if state.ours(path) and state.found[path].entry and path not in kept]
        left = {**state.ledger, "files": {path: state.ours(path)[0] for path in kept}, "next": None,
                "folders": state.folders()} if kept else None
        changed = state.left_behind() or (
            state.ledger is not None and not (left and not gone and state.started is None))
        if changed:
            refuse_read_only(host, dict.fromkeys(map(os.path.dirname, (*gone, paths.LEDGER))))
        diff = [make_diff(path, state.found[path].content, None) for path in gone]
        listed = [{"path": path, "outcome": "removed"} for path in gone] \
            + [{"path": path, "outcome": "kept"} for path in kept]
        if changed and not check_mode:
            _remove(state, gone, left, run_id)
        return Persisted(changed, left, listed, diff, state.interrupted(), list(kept.values()), [])


# -- what is wanted ---------------------------------------------------------------------------------------------------

def _leave_out(host: Host, wanted: ToPersist, override: list[str]) -> tuple[ToPersist, list[dict[str, str]]]:
    """Leave out what something else sets, on the user's request, and what needs systemd if there is none."""
    known = {f"{kind}:{name}" for kind, named in wanted.values.items() for name in named}
    strangers = sorted(set(override) - known)
    if strangers:
        raise Refusal([f"{address} is to be left out, and is not among the values" for address in strangers])
    left_out = [{"address": address, "reason": "left out by gpuhost_persist_override"} for address in override]
    wanted = wanted.without(set(override))
    conflicts = [one for one in competitors(host, wanted.values) if one["wins"]]
    if conflicts:
        raise Refusal([*map(describe_conflict, conflicts), "nothing was written: change what is named, or leave these "
                       "values out with gpuhost_persist_override"], conflicts)
    if wanted.boot and not has_systemd(host):
        without = sorted(f"{kind}:{name}" for kind, named in wanted.boot.items() for name in named)
        left_out += [{"address": address, "reason": "there is no systemd here, which would set it at boot"}
                     for address in without]
        wanted = wanted.without(set(without))
    if not wanted.values:
        raise Refusal([*(f"{one['address']}: {one['reason']}" for one in left_out), "nothing is left to persist"])
    return wanted, left_out


def describe_conflict(one: dict[str, Any]) -> str:
    place = one["path"] + (f" line {one['line']}" if one.get("line") else "")
    return f"{one['address']}: {place} sets {one['key']} = {one['value']}, wanted {one['wanted']}: {one['why']}"


def _content(host: Host, wanted: ToPersist) -> Contents:
    content: Contents = {}
    if wanted.boot:
        content.update(texts.make_boot_files(host, wanted.boot, interpreter.choose(host)))
        content[paths.ENABLED] = Link(paths.ENABLED_TEXT)
    if wanted.values.get(SYSCTL):
        content[paths.SYSCTLS] = texts.make_sysctls(wanted.sysctls)
    return content


def _ledger(state: State, wanted: ToPersist, content: Contents, left_out: list[dict[str, str]],
            run_id: str) -> dict[str, Any]:
    """Make the final ledger. A value that is already persisted keeps its baseline."""
    before = state.ledger["baseline"] if state.ledger else {}
    baseline = {kind: {name: before.get(kind, {}).get(name, value) for name, value in named.items()}
                for kind, named in wanted.baseline.items()}
    needed = {parent for path in (*content, paths.LEDGER) for parent in _parents(real_path(state.files.host, path))}
    folders = [*state.folders(), *state.files.folders_to_make([*content, paths.LEDGER])]
    return {**new_ledger(run_id, VERSION, utc_now()), "values": wanted.values, "baseline": baseline,
            "files": {path: describe(content[path]) for path in paths.FILES if path in content},
            "folders": [folder for folder in dict.fromkeys(folders) if folder in needed], "left_out": left_out}


def _parents(path: str) -> list[str]:
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1)]


# -- what differs -----------------------------------------------------------------------------------------------------

def _compare(state: State, content: Contents, ledger: dict[str, Any], wanted: ToPersist) -> Persisted:
    files, diff = [], []
    for path in paths.FILES:
        found, entry = state.found[path], ledger["files"].get(path)
        if found.entry == entry:
            if entry:
                files.append({"path": path, "outcome": "unchanged"})
            continue
        files.append({"path": path, "outcome": "written" if entry else "removed"})
        if not same(found.entry, entry):
            diff.append(make_diff(path, found.content, content.get(path)))
    same_ledger = state.ledger is not None and says_the_same(state.ledger, ledger)
    changed = not same_ledger or state.left_behind() or any(one["outcome"] != "unchanged" for one in files)
    return Persisted(changed, ledger if changed else state.ledger, files, diff, state.interrupted(), [],
                     wanted.differing())


# -- what is written --------------------------------------------------------------------------------------------------

def _write(state: State, content: Contents, ledger: dict[str, Any]) -> None:
    """Write the files; the ledger first records what is planned, and at the end that it is done."""
    state.sweep()
    intent = {"run_id": ledger["run_id"], "version": VERSION, "files": ledger["files"], "folders": ledger["folders"]}
    base = state.ledger or new_ledger(ledger["run_id"], VERSION, ledger["created_at"])
    put_ledger(state.files, make_ledger({**base, "files": state.there(), "folders": state.folders(), "next": intent}))
    for path in paths.FILES:
        if path in content and state.found[path].entry != ledger["files"][path]:
            state.files.put(path, content[path])
    for path in reversed(paths.FILES):
        if path not in content and state.ours(path) and state.found[path].entry:
            state.files.remove(path)
    state.files.remove_folders(set(state.folders()) - set(ledger["folders"]))
    put_ledger(state.files, make_ledger(ledger))


def _remove(state: State, gone: list[str], left: dict[str, Any] | None, run_id: str) -> None:
    state.sweep()
    if state.ledger is None:
        return
    intent = {"run_id": run_id, "version": VERSION, "files": {}, "folders": []}
    put_ledger(state.files, make_ledger({**state.ledger, "files": state.there(), "folders": state.folders(),
                                         "next": intent}))
    for path in reversed(gone):
        state.files.remove(path)
    around_the_ledger = set(_parents(paths.LEDGER))
    state.files.remove_folders(set(state.folders()) - around_the_ledger)
    if left is not None:
        put_ledger(state.files, make_ledger(left))
    else:
        remove_ledger(state.files, state.folders())


def _started_files(state: State) -> dict[str, Any]:
    return state.started["files"] if state.started else {}


@contextmanager
def _locked(host: Host) -> Iterator[None]:
    """Allow one run at a time: a lock on the root folder, which creates no file. Raises Obstacle."""
    handle = os.open(host.sysroot, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Obstacle("another run is changing what is persisted on this host: try again behind it") from None
        yield
    finally:
        os.close(handle)
