# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make fuzz SECONDS=600: feed everything that takes what a host may say with damaged input.

    python -m fuzz --seconds 600 [--seed 1] [--only readers]

A failure prints its target and its seed; `--seed N --only TARGET --seconds 0` feeds that input again.
"""
from __future__ import annotations

import argparse
import pathlib
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter

from .targets import Seeds, Target

HANG = 30           # seconds that one input may take


class TooSlow(BaseException):
    """An input was not done with within HANG seconds."""


def _over(_number: int, _frame: object) -> None:
    raise TooSlow(f"not done within {HANG} s")


def feed(target: Target, seed: int) -> str | None:
    """The traceback of what went wrong with one input, None where nothing did."""
    signal.alarm(HANG)
    try:
        target.feed(random.Random(f"{target.name} {seed}"))
    except (Exception, TooSlow):
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return None


def run(seconds: float, seed: int, only: str | None, stop_at: int) -> int:
    """How many inputs failed."""
    signal.signal(signal.SIGALRM, _over)
    fed: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    failures: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        targets = [target for target in Seeds(pathlib.Path(folder)).targets() if only in (None, target.name)]
        end = time.monotonic() + seconds
        while True:
            for target in targets:
                began = time.monotonic()
                for _input in range(target.weight if seconds else 1):
                    wrong = feed(target, seed)
                    fed[target.name] += 1
                    if wrong is not None:
                        # What fails at one place fails there again and again: it is shown once.
                        where = "\n".join(wrong.strip().splitlines()[-3:])
                        failures[where] = failures.get(where, 0) + 1
                        if failures[where] == 1:
                            print(f"FAILED: --seed {seed} --only {target.name}\n{wrong}", flush=True)
                    seed += 1
                spent[target.name] += time.monotonic() - began
            if time.monotonic() >= end or len(failures) >= stop_at:
                break
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    told = ", ".join(f"{count} {name} in {spent[name]:.0f} s" for name, count in fed.items())
    print(f"{sum(fed.values())} inputs ({told}), "
          f"{most} MiB at most, {sum(failures.values())} failed at {len(failures)} places")
    return len(failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--stop-at", type=int, default=20, help="end after so many different failures")
    given = parser.parse_args()
    return 1 if run(given.seconds, given.seed, given.only, given.stop_at) else 0


if __name__ == "__main__":
    sys.exit(main())
