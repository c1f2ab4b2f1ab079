# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Import posted files as recorded hosts below the report folder, named and ready to be audited."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
from typing import Any, NamedTuple

from .._records import host_folder
from . import archive, detect
from .bug_report import read_report
from .lines import Lines
from .pasted_text import read_text
from .pvereport import read_pvereport
from .recorded_host import RecordedHost, Refused
from .sosreport import read_sosreport
from .writer import FOLDER, write_host

_ENDINGS = re.compile(r"(?:\.(?:log|txt|text|out|tar|gz|xz|bz2|tgz|old|recording))+$", re.IGNORECASE)
_UNFIT = re.compile(r"[^\w.-]+", re.ASCII)
_READERS = {detect.BUG_REPORT: read_report, detect.LSPCI: read_text, detect.PVEREPORT: read_pvereport}


class Found(NamedTuple):
    """A file and its kind; `host` is None for a recording, which is already a folder of a host."""

    path: pathlib.Path
    kind: str
    host: RecordedHost | None
    hostname: str | None


def import_files(paths: list[str], name: str | None, report_dir: str) -> list[dict[str, Any]]:
    """Write the hosts described by the files: `[{name, sysroot, kind, files, collected_at, notes}]`.

    Files with the same host name are merged into one host, later files filling gaps of earlier ones; files without a
    host name are separate hosts. Raises Refused with the path in the message.
    """
    if not paths:
        raise Refused("there is no file to import: -e gpuhost_import=FILE")
    found = [_read(pathlib.Path(path).expanduser()) for path in paths]
    hosts = _together(found)
    if name is not None and len(hosts) > 1:
        raise Refused(f"the files tell of {len(hosts)} hosts, and gpuhost_import_name names one: leave it out, or "
                      "import them one by one")
    done: list[dict[str, Any]] = []
    for parts in hosts:
        chosen = name or _free_name(_name_of(parts[0].path), [one["name"] for one in done])
        done.append(_write(parts, chosen, report_dir))
    return done


def _read(path: pathlib.Path) -> Found:
    try:
        kind = detect.detect(path)
        if kind == detect.RECORDING:
            return Found(path, kind, None, None)
        if kind == detect.SOS:
            host = read_sosreport(path)
            return Found(path, kind, host, _hostname(host))
        lines = Lines(path)
        host = _READERS[kind](lines, path.name)
        if lines.cut is not None:
            host.note(f"{lines.cut}: what the report has behind that is missing")
        return Found(path, kind, host, _hostname(host))
    except Refused as problem:
        raise Refused(f"{path}: {problem}") from None
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}") from error


def _hostname(host: RecordedHost) -> str | None:
    """The host name up to the first dot: some programs print the domain, others do not."""
    return (host.text("/proc/sys/kernel/hostname") or "").strip().partition(".")[0] or None


def _together(found: list[Found]) -> list[list[Found]]:
    hosts: list[list[Found]] = []
    for one in found:
        same = next((parts for parts in hosts if one.hostname and parts[0].hostname == one.hostname), None)
        if same is None:
            hosts.append([one])
        else:
            same.append(one)
    return hosts


def _name_of(path: pathlib.Path) -> str:
    """The file name without its extensions, valid as a folder and in an inventory."""
    return _UNFIT.sub("-", _ENDINGS.sub("", path.name)).strip(".-") or "imported"


def _free_name(name: str, taken: list[str]) -> str:
    number, chosen = 1, name
    while chosen in taken:
        number += 1
        chosen = f"{name}-{number}"
    return chosen


def _write(parts: list[Found], name: str, report_dir: str) -> dict[str, Any]:
    folder = host_folder.HostFolder(report_dir, name).path
    if (folder / "audit.json").exists() and not (folder / FOLDER).exists():
        raise Refused(f"{folder} holds the reports of a host that was not imported: choose another name with "
                      "gpuhost_import_name")
    first = parts[0]
    if first.host is None:
        sysroot = _unpack(first.path, folder)
        told = {"kind": first.kind, "collected_at": _note_source(sysroot, first.path.name), "notes": []}
    else:
        for other in parts[1:]:
            first.host.fill(other.host)
        sysroot = write_host(first.host, folder)
        told = {"kind": first.kind, "collected_at": first.host.source["collected_at"], "notes": first.host.notes}
    return {"name": name, "sysroot": str(sysroot), "files": [str(one.path) for one in parts], **told}


def _unpack(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    target = folder / FOLDER
    try:
        if target.exists():
            shutil.rmtree(target)
        archive.unpack(path, target)
    except archive.Refused as problem:
        raise Refused(f"{path}: {problem}") from None
    except OSError as error:
        raise Refused(f"{path}: cannot be unpacked to {target}: {error.strerror}") from error
    return target


def _note_source(sysroot: pathlib.Path, name: str) -> str | None:
    """Write recorded/source.json into a recording, as every import has it; its time is from recorded/recording.json.

    The archive is untrusted: no link is followed, and only the time is used.
    """
    place = sysroot / "recorded"
    if place.is_symlink() or not place.is_dir() or os.path.lexists(place / "source.json"):
        return None
    made = place / "recording.json"
    at = None
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        if not made.is_symlink() and made.stat().st_size < 1 << 20:
            at = json.loads(made.read_text(encoding="utf-8")).get("recorded_at")
    at = at if isinstance(at, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at) else None
    source = {"kind": detect.RECORDING, "name": name, "collected_at": at, "script": None, "notes": []}
    (place / "source.json").write_text(json.dumps(source, indent=1) + "\n", encoding="ascii")
    return at
