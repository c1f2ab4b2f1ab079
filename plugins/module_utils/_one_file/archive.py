# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Single-file programs (`python3 FILE.pyz`, man 1 python): a zip with sources of module_utils and a __main__.py.

The same sources give the same bytes on every machine: nothing is compressed, as zlib differs between builds of Python,
names are sorted, and all times are constant.
"""
from __future__ import annotations

import io
import zipfile

from .sources import PACKAGE, File, Read, gather

_MADE = (1980, 1, 1, 0, 0, 0)       # the earliest time in a zip
_MODE = 0o644 << 16                 # a regular file, in the upper half of external_attr
_UNIX = 3                           # create_system: else the mode is ignored

# It must be valid for the Python versions that it rejects.
_MAIN = """\
import sys
if sys.version_info < (3, 9):
    sys.exit("%(name)s needs Python 3.9 or newer, this is " + sys.version.split()[0])
from %(package)s._host import import_once
import_once.install()
from %(package)s.%(room)s.%(file)s import main
sys.exit(main())
"""


def make_program(name: str, entry: File, read: Read, comment: str = "") -> bytes:
    """Make the program that calls `main()` of the file `entry`, which returns the exit status.

    `read` returns the sources; `comment` are lines for a reader of the file. `name` is the program's name.
    """
    main = comment + _MAIN % {"name": name, "package": PACKAGE, "room": entry[0], "file": entry[1]}
    sources = gather([entry, ("_host", "import_once")], read)
    files = {"__main__.py": main}
    for module, text in sources.items():
        parts = module.split(".")
        files["/".join(parts) + (".py" if len(parts) == 3 else "/__init__.py")] = text
    return _zip(files)


def list_program(data: bytes) -> list[str]:
    """List the files of a program, one line each: checksum, size and name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [f"{entry.CRC:08x} {entry.file_size:7} {entry.filename}" for entry in archive.infolist()]


def _zip(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _MADE)
            entry.create_system, entry.external_attr = _UNIX, _MODE
            archive.writestr(entry, text)
    return buffer.getvalue()
