# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command with all that comes of it, the ssh connections too that it leaves open, and write what it took.

    whole.py result.json command ...

The result is `{status, wall, cpu, own, rss_kib}`: seconds until the command ended, seconds of processor time of
everything it started and of its own process alone, and the peak of that one's memory. Connections that persist are
daemons, whose time nobody would count: this process adopts them, ends them and counts them.
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
LOOK_EVERY = 0.2                # seconds between two looks at the process; the kernel keeps the peak of its memory


def main() -> None:
    result, words = sys.argv[1], sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    seen = {"own": 0.0, "rss_kib": 0}
    start = time.perf_counter()
    child = subprocess.Popen(words)
    threading.Thread(target=watch, args=(child.pid, seen), daemon=True).start()
    status = child.wait()
    wall = time.perf_counter() - start
    end_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    pathlib.Path(result).write_text(json.dumps(
        {"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime, **seen}), encoding="utf-8")


def watch(process: int, seen: dict[str, float]) -> None:
    """Keep what /proc says of `process`, which is gone with it."""
    folder, ticks = pathlib.Path(f"/proc/{process}"), os.sysconf("SC_CLK_TCK")
    with contextlib.suppress(OSError):
        while True:
            for line in (folder / "status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM:"):
                    seen["rss_kib"] = max(seen["rss_kib"], int(line.split()[1]))
            # utime and stime are fields 14 and 15 of proc_pid_stat(5), the name being the second
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            seen["own"] = sum(map(int, fields[11:13])) / ticks
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
