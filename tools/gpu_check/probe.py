# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small operations that run in their own process, because a faulty driver may crash or hang its caller.

    python tools/gpu_check/probe.py functions LIBRARY       which functions the library has, as JSON
    python tools/gpu_check/probe.py answers LIBRARY BDF     open a GPU and give it back
    python tools/gpu_check/probe.py hang LIBRARY BDF        wait in the driver for a copy that never begins
    python tools/gpu_check/probe.py copy LIBRARY BDF        one measurement of copies from the host, as JSON
"""
from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".ansible" / "collections"))

from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_copies import Copies
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_driver import Driver
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_functions import FUNCTIONS
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_hold import Hold

SETTINGS = {"sizes": [1 << 20], "warm_up": 0.1, "reading_ms": 5.0, "sys": "/sys"}


def functions(library: str) -> None:
    driver = Driver(library)
    print(json.dumps({name: driver.function(name).__name__ if driver.has(name) else None for name in FUNCTIONS}))


def answers(library: str, bdf: str) -> None:
    driver = Driver(library)
    started = driver.start()
    device = driver.device(bdf)
    driver.retain(device)
    driver.release(device)
    print(json.dumps(started))


def hang(library: str, bdf: str) -> None:
    """Hold a stream and wait for it without releasing it, so that this process never returns."""
    driver = Driver(library)
    driver.start()
    driver.call("cuCtxSetCurrent", driver.retain(driver.device(bdf)))
    hold = Hold(driver)
    if hold.why_not:
        sys.exit(hold.why_not)
    with driver.stream() as stream, hold.held(stream):
        print(json.dumps("waiting"), flush=True)
        driver.call("cuStreamSynchronize", stream)


def copy(library: str, bdf: str) -> None:
    driver = Driver(library)
    driver.start()
    copies = Copies(driver, SETTINGS, lambda what: None)
    found = copies.gpu(bdf)
    copies.close()
    print(json.dumps({"gb_s": found["h2d"]["gb_s"]}))


if __name__ == "__main__":
    {"functions": functions, "answers": answers, "hang": hang, "copy": copy}[sys.argv[1]](*sys.argv[2:])
