# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/unpack.py [--writable] ARCHIVE FOLDER: unpack a recorded host; the archive may be untrusted.

Needs nothing but Python. --writable adds the marker file without which nothing is written below the folder.
"""
from __future__ import annotations

import importlib.util
import pathlib
import sys

_PLACE = pathlib.Path(__file__).resolve().parent.parent / "plugins/plugin_utils/_intake/archive.py"
_SPEC = importlib.util.spec_from_file_location("archive", _PLACE)
archive = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(archive)
Refused, unpack = archive.Refused, archive.unpack


def main(arguments: list[str]) -> str | None:
    """Unpack the archive; returns an error message, or None on success."""
    writable = "--writable" in arguments
    paths = [pathlib.Path(word) for word in arguments if word != "--writable"]
    if len(paths) != 2 or any(word.startswith("-") and word != "--writable" for word in arguments):
        return __doc__
    try:
        count = unpack(paths[0], paths[1], writable)
    except (Refused, OSError) as error:
        return f"{paths[0]}: {error}"
    print(f"{paths[1]}: {count} files and folders; audit it with gpuhost_sysroot: {paths[1].resolve()}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
