# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command with all that comes of it, the ssh connections too that it leaves open, and write what it took.

    whole.py result.json command ...

The result is `{status, wall, cpu, rss_kib}`: seconds until the command ended, seconds of processor time of everything
it started, and the peak of its own memory. Connections that persist are daemons, whose time nobody would count: this
process adopts them, ends them and counts them.
"""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time

PR_SET_CHILD_SUBREAPER = 36     # include/uapi/linux/prctl.h
LOOK_EVERY = 0.2                # seconds between two looks at the memory; the kernel keeps the peak


def main() -> None:
    result, words = sys.argv[1], sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    peak: list[int] = [0]
    start = time.perf_counter()
    child = subprocess.Popen(words)
    threading.Thread(target=watch, args=(child.pid, peak), daemon=True).start()
    status = child.wait()
    wall = time.perf_counter() - start
    end_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    pathlib.Path(result).write_text(json.dumps(
        {"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "rss_kib": peak[0]}), encoding="utf-8")


def watch(process: int, peak: list[int]) -> None:
    """Keep the greatest VmHWM of `process`, which is gone with it."""
    status = pathlib.Path(f"/proc/{process}/status")
    with contextlib.suppress(OSError):
        while True:
            for line in status.read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak[0] = max(peak[0], int(line.split()[1]))
            time.sleep(LOOK_EVERY)


def end_orphans() -> None:
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGTERM)
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
