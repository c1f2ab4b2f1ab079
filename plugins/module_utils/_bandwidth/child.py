# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The measuring child: runs one step per request line and reports progress and results as lines.

Everything that may hang or die with the GPU happens here, in a process whose loss the parent survives. It runs on a
host or in a container without this collection installed: START receives the sources over standard input.
A request is `{"step": "init" | "gpu" | "pair" | "host" | "pairs" | "kernel", ...}`; it is answered by lines
`{"at": what}` and finally by `{"result": {...}}` or `{"error": text, "name": CUDA's name or null}`.
"""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from .cuda_copies import Copies
from .cuda_driver import CudaError, Driver, NoDriver

# The modules of the child, each after the ones that it imports.
SOURCES = ("_kernel.cpulist", "_bandwidth.cuda_functions", "_bandwidth.cuda_driver", "_bandwidth.cuda_hold",
           "_bandwidth.cuda_pattern", "_bandwidth.cuda_place", "_bandwidth.cuda_slots", "_bandwidth.cuda_reading",
           "_bandwidth.cuda_ways", "_bandwidth.cuda_kernel", "_bandwidth.cuda_copies", "_bandwidth.child")
# Run by `python3 -I -c`: it builds a package from the sources in the first line and calls main().
START = """
import json, sys, types
def made(name, package):
    module = sys.modules[name] = types.ModuleType(name)
    module.__package__ = package
    return module
made("measuring", "measuring").__path__ = []
for name, source in json.loads(sys.stdin.readline()):
    room = "measuring." + name.partition(".")[0]
    if room not in sys.modules:
        made(room, room).__path__ = []
    module = made("measuring." + name, room)
    exec(compile(source, name + ".py", "exec"), module.__dict__)
module.main()
"""

_PR_SET_PDEATHSIG = 1       # include/uapi/linux/prctl.h
_GRACE = 15                 # seconds beyond the parent's limit for a step; past that, the parent is gone


class Steps:
    """The steps that the child can run; settings are `{library, visible}` and those of Copies."""

    def __init__(self, settings: dict[str, Any], report: Callable[[str], None]) -> None:
        self.settings = settings
        self.report = report
        self._copies: Copies | None = None

    def do(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["step"] == "init":
            return self._init()
        if request["step"] in ("pair", "kernel"):
            return {"pair": self._copies.pair, "kernel": self._copies.kernel}[request["step"]](
                request["from"], request["to"])
        if request["step"] == "pairs":
            return self._copies.pairs(request["pairs"])
        return {"gpu": self._copies.gpu, "host": self._copies.host}[request["step"]](request["bdf"])

    def close(self) -> None:
        """Release everything. After a GPU error this is not possible; the end of the process does it."""
        if self._copies is not None:
            with contextlib.suppress(CudaError, NoDriver):
                self._copies.close()

    def _init(self) -> dict[str, Any]:
        # GPUs that are not measured are not opened: a suspended one would wake up, a faulty one might hang.
        if self.settings["visible"]:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(self.settings["visible"])
        else:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        # Do not cache the kernel compiled for this measurement.
        os.environ["CUDA_CACHE_DISABLE"] = "1"
        self.report("initialising the driver")
        driver = Driver(self.settings["library"])
        started = driver.start()
        self._copies = Copies(driver, self.settings, self.report)
        return {**started, "pid": os.getpid(), "started": read_start()}


def read_start() -> int:
    """Start time of this process in clock ticks since boot: field 22 of /proc/self/stat (man 5 proc_pid_stat)."""
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def answer(steps: Steps, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": steps.do(request)}
    except CudaError as error:
        return {"error": str(error), "name": error.name}
    except NoDriver as error:
        return {"error": str(error), "name": "NoDriver"}


def main() -> None:
    """Serve requests until end of input. `sys.argv[1]`: settings of Steps and `limit`, the seconds for a step."""
    settings = json.loads(sys.argv[1])
    # The driver's library may write to standard output, which is reserved for answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # If the parent is killed, this process and the step that it is running end as well.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))

    def say(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    steps = Steps(settings, lambda what: say({"at": what}))
    for line in sys.stdin:
        signal.alarm(settings["limit"] + _GRACE)
        say(answer(steps, json.loads(line)))
        signal.alarm(0)
    signal.alarm(settings["limit"] + _GRACE)
    steps.close()
