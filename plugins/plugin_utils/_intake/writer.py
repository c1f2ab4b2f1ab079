# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Writes a recorded host below the folder of its reports, as a whole or not at all."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile

from .._records import modes
from .recorded_host import RecordedHost, Refused

FOLDER = "imported"


def write_host(host: RecordedHost, folder: pathlib.Path) -> pathlib.Path:
    """Put the host at `<folder>/imported` in place of what an earlier import left there; the path.

    Raises Refused where the disk or a folder refuses.
    """
    target = folder / FOLDER
    try:
        modes.make_folder(folder)
        work = pathlib.Path(tempfile.mkdtemp(prefix=f".{FOLDER}.", dir=folder))
        try:
            _write_into(host, work)
            if target.is_symlink() or target.is_file():
                target.unlink()
            elif target.exists():
                shutil.rmtree(target)
            work.chmod(modes.of_folder())
            work.rename(target)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    except OSError as error:
        raise Refused(f"cannot write {target}: {error.strerror}. Choose another folder with "
                      "gpuhost_report_dir") from error
    return target


def _write_into(host: RecordedHost, work: pathlib.Path) -> None:
    for path in sorted(host.folders):
        (work / path[1:]).mkdir(parents=True, exist_ok=True)
    for path, data in host.files.items():
        place = work / path[1:]
        if not _room_for(place, work):
            continue
        with open(place, "xb") as file:
            file.write(data)
        # 0444 and 0644 tell what may be written; whoever imports must be able to read.
        place.chmod(host.modes.get(path, 0o644) & 0o777 | 0o400)
    for name, document in (("answers.json", host.answers()), ("source.json", {**host.source, "notes": host.notes})):
        place = work / "recorded" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="ascii")
    # Last of all, so that nothing is written through one.
    for path, target in host.links.items():
        place = work / path[1:]
        if not os.path.lexists(place) and _room_for(place, work):
            os.symlink(target, place)


def _room_for(place: pathlib.Path, work: pathlib.Path) -> bool:
    """Whether a file can lie there: not where a file is a folder of its name, nor through one."""
    for parent in reversed(place.parents):
        if parent != work and work in parent.parents and os.path.lexists(parent) and not parent.is_dir():
            return False
    place.parent.mkdir(parents=True, exist_ok=True)
    return not os.path.lexists(place)
