# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Write a recorded host below the folder of its reports, completely or not at all."""
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
    """Write the host to `<folder>/imported`, replacing an earlier import; return the path.

    Raises Refused if the disk or a folder does not allow it.
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
        # Modes such as 0444 and 0644 show what is writable; the owner must be able to read.
        place.chmod(host.modes.get(path, 0o644) & 0o777 | 0o400)
    for name, document in (("answers.json", host.answers()), ("source.json", {**host.source, "notes": host.notes})):
        place = work / "recorded" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="ascii")
    # Create links last, so that nothing is written through them.
    for path, target in host.links.items():
        place = work / path[1:]
        if not os.path.lexists(place) and _room_for(place, work):
            os.symlink(target, place)


def _room_for(place: pathlib.Path, work: pathlib.Path) -> bool:
    """Whether a file can be at `place`: not if one of its folders is a file, nor if its name exists already."""
    for parent in reversed(place.parents):
        if parent != work and work in parent.parents and os.path.lexists(parent) and not parent.is_dir():
            return False
    place.parent.mkdir(parents=True, exist_ok=True)
    return not os.path.lexists(place)
