# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python as on macOS, as far as it can be had elsewhere: its name, no /proc, and without what only Linux's os has.

The folder of this file comes first in PYTHONPATH of a process that is to be on such a machine.
"""
from __future__ import annotations

import builtins
import errno
import io
import os
import platform
import resource
import sys
import types

_ONLY_LINUX = ("sched_getaffinity", "sched_setaffinity", "pidfd_open", "pipe2", "memfd_create", "posix_fadvise",
               "getresuid", "eventfd", "setns", "unshare", "splice", "getrandom")


def _without_proc(function):
    def called(path, *words, **options):
        if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return function(path, *words, **options)
    return called


def _become_darwin() -> None:
    known = os.uname()
    named = os.uname_result(("Darwin", known.nodename, "25.1.0", "Darwin Kernel Version 25.1.0", "arm64"))
    os.uname = lambda: named
    for name in _ONLY_LINUX:
        if hasattr(os, name):
            delattr(os, name)
    if hasattr(os, "process_cpu_count"):        # Python 3.13; Lib/os.py defines it so where there is no affinity
        os.process_cpu_count = os.cpu_count
    if hasattr(resource, "prlimit"):
        del resource.prlimit
    builtins.open = io.open = _without_proc(io.open)
    os.stat, os.listdir = _without_proc(os.stat), _without_proc(os.listdir)
    platform.system = lambda: "Darwin"
    # What urllib asks macOS for.
    sys.modules["_scproxy"] = types.SimpleNamespace(_get_proxies=dict, _get_proxy_settings=dict)
    sys.platform = "darwin"


_become_darwin()
