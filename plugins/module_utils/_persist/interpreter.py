# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Choose the Python that runs gpuhost-boot: the one that Ansible found, unless it may be gone or changed at boot."""
from __future__ import annotations

import os
import pwd
import re
import sys

from .._host.host import Host
from .obstacles import Obstacle

_SYSTEM = ("/usr/bin/python3", "/usr/libexec/platform-python",
           *(f"{folder}/python3.{minor}" for folder in ("/usr/bin", "/usr/local/bin") for minor in range(14, 8, -1)))
_VERSION = re.compile(r"Python 3\.(\d+)")
_LEAST = 9
_TIMEOUT = 10.0
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")        # files of an environment, next to its bin


def choose(host: Host, found: str | None = None) -> str:
    """Choose the interpreter. Raises Obstacle if there is none. `found` is the one that runs this code."""
    found = found or sys.executable
    if found and why_not(found) is None:
        return _lasting_name(found)
    if not host.live:
        return _SYSTEM[0]
    for path in _SYSTEM:
        seen = _VERSION.match(host.run([path, "--version"], _TIMEOUT).value or "") if os.access(path, os.X_OK) else None
        if seen and int(seen[1]) >= _LEAST and why_not(path) is None:
            return path
    raise Obstacle(f"Ansible found {found}, which {why_not(found)}, and there is no Python 3.{_LEAST} or newer of the "
                   "system: install one, for example the package python3")


def _lasting_name(python: str) -> str:
    """Return the system's generic name of this Python, which outlasts a release upgrade, unlike python3.11."""
    real = os.path.realpath(python)
    return next((name for name in _SYSTEM[:2] if os.path.realpath(name) == real), python)


def why_not(python: str) -> str | None:
    """Return why nothing that runs at boot may depend on this Python; None if it may."""
    real = os.path.realpath(python)
    for path in (python, real):
        folder = os.path.dirname(os.path.dirname(path))
        if any(os.path.exists(f"{folder}/{mark}") for mark in _ENVIRONMENTS):
            return "is of a virtual environment"
        home = next((home for home in _homes() if path.startswith(f"{home}/")), None)
        if home is not None:
            return f"lies below the home {home}"
    return None


def _homes() -> list[str]:
    """Return /root, /home, and homes elsewhere, except the folders that system users have as a home."""
    shared = ("/", "/bin", "/sbin", "/usr", "/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/nonexistent")
    listed = {entry.pw_dir.rstrip("/") for entry in pwd.getpwall() if entry.pw_uid == 0 or entry.pw_uid >= 1000}
    return ["/root", "/home", *sorted(home for home in listed if home and home not in shared)]
