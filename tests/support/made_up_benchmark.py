# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark for tests of experiments: a program whose figure depends on a planted sysctl, and that may misbehave."""
from __future__ import annotations

# Prints a rate that depends only on the planted swappiness, with noise that depends only on the run number. The second
# argument selects other behaviour.
PROGRAM = r"""
import json, os, pathlib, random, signal, sys, time

root, misdeed = pathlib.Path(sys.argv[1]), sys.argv[2]
counter = root.with_suffix(".count")
number = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(number))
swappiness = root / "proc/sys/vm/swappiness"
rate = 100 + random.Random(number).gauss(0, 0.4) + (10 if swappiness.read_text().strip() == "10" else 0)
if number >= 3:
    if misdeed in ("hang", "slow"):
        time.sleep(60)
    elif misdeed == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif misdeed == "babble":
        print("Traceback: out of memory")
        sys.exit(0)
    elif misdeed == "meddle":
        swappiness.write_text("35\n")
    elif misdeed == "reboot":
        (root / "proc/sys/kernel/random/boot_id").write_text("6f9c1d52-0000-4000-8000-000000000001\n")
        swappiness.write_text("60\n")
        (root / "proc/sys/vm/laptop_mode").write_text("0\n")
    elif misdeed == "zero":
        rate = 0
found = {"other": 1} if misdeed == "rename" and number >= 3 else {"rate": rate}
print(json.dumps(found))
"""
