# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Record a host: read it once as an audit does, and archive what was read."""
from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Iterable
from typing import NamedTuple

from .._facts.collect import collect
from .archive import make_archive
from .notes import FOLDER
from .recorder import Recorder

MAX_BYTES = 64 << 20
_REFUSALS = (errno.EACCES, errno.EPERM)


class Recording(NamedTuple):
    """The archive and what to report about it."""

    archive: bytes
    files: int              # files and links that were read
    sha256: str
    privileged: bool        # whether root read them
    denied: list[str]       # what could not be read for lack of permission; the archive marks each


def record(sysroot: str, tunables: Iterable[str] = (), *, max_bytes: int = MAX_BYTES, anonymise: bool = False,
           writable: bool = False, key: int = 0) -> Recording:
    """Make a recording. Pseudonyms are numbered from `key`, which is less than 65,536.

    Raises ValueError: no such folder, no such address, or more than `max_bytes` of files.
    """
    host = Recorder(sysroot)
    facts = collect(host, list(tunables))
    about = {"recorded_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "privileged": facts["privileged"]}
    archive = make_archive(host.notes, about, limit=max_bytes, anonymise=anonymise, writable=writable, key=key)
    return Recording(archive, sum(kind != FOLDER for kind in host.notes.kinds.values()),
                     hashlib.sha256(archive).hexdigest(), facts["privileged"],
                     sorted(path for path, answer in host.notes.failures.items() if answer in _REFUSALS))
