# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make corpus DIR=FOLDER: import and audit every report in a folder; bug reports are compared with a plain search.

    python -m corpus FOLDER [REPORT_DIR]

Prints a line for each file (state, GPUs, driver, verdicts, differences) and totals at the end. The audit reports are
left in REPORT_DIR. Keep such logs and their reports outside any repository: they contain host names and serial numbers
of other people's machines.
"""
from __future__ import annotations

import collections
import pathlib
import signal
import sys
import time
import traceback
from typing import Any

from ansible_collections.gpuhost.tuning.plugins.action import audit
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.audit import Audit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake import detect
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.importing import import_files
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

from . import plain_search

ARGUMENTS = {**{name: spec.get("default") for name, spec in audit.ARGUMENTS.items()}, "check": False, "named": {}}
HANG = 120          # time limit for one file, in seconds


class TooSlow(BaseException):
    """Processing a file took longer than HANG seconds."""


def _over(_number: int, _frame: object) -> None:
    raise TooSlow(f"not done within {HANG} s")


def examine(path: pathlib.Path, report_dir: pathlib.Path) -> dict[str, Any]:
    """`{state, problem, gpus, driver, verdicts, wrong, seconds}` of one file; state is taken, refused or crashed."""
    began = time.monotonic()
    signal.alarm(HANG)
    try:
        [told] = import_files([str(path)], None, str(report_dir))
        one = Audit(told["name"], {**ARGUMENTS, "report_dir": str(report_dir)})
        facts = take(collect(Host(told["sysroot"]), one.named_tunables()))
        one.judge(facts)
    except Refused as problem:
        return {"state": "refused", "problem": str(problem)}
    except (Exception, TooSlow):
        return {"state": "crashed", "problem": traceback.format_exc()}
    finally:
        signal.alarm(0)
    wrong = plain_search.differences(plain_search.search(plain_search.read_text(path)), facts) \
        if told["kind"] == detect.BUG_REPORT else []
    gpus = facts["gpus"] if isinstance(facts["gpus"], list) else []         # a text may not have any device
    return {"state": "taken", "gpus": len(gpus), "driver": facts["nvidia"]["driver_version"]["value"],
            "verdicts": collections.Counter(finding["verdict"] for finding in one.document["findings"]), "wrong": wrong,
            "seconds": time.monotonic() - began}


def main(words: list[str]) -> int:
    if not words or not pathlib.Path(words[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0])
    report_dir = pathlib.Path(words[1]) if len(words) > 1 else folder / "reports"
    signal.signal(signal.SIGALRM, _over)
    states: collections.Counter = collections.Counter()
    verdicts: collections.Counter = collections.Counter()
    different = 0
    print(f"{'file':48} {'state':8} {'GPUs':>4} {'driver':12} {'pass':>4} {'fail':>4} {'n/a':>4} {'unkn':>4} {'s':>5}")
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        found = examine(path, report_dir)
        states[found["state"]] += 1
        if found["state"] != "taken":
            print(f"{path.name[:48]:48} {found['state']:8} {found['problem'].strip().splitlines()[-1]}")
            continue
        its = found["verdicts"]
        verdicts += its
        different += bool(found["wrong"])
        print(f"{path.name[:48]:48} {'taken':8} {found['gpus']:4} {found['driver'] or '-':12} {its['pass']:4} "
              f"{its['fail']:4} {its['not_applicable']:4} {its['unknown']:4} {found['seconds']:5.1f}")
        for line in found["wrong"]:
            print(f"    the search found {line}")
    print(f"{sum(states.values())} files: {dict(states)}; verdicts {dict(verdicts)}; in {different} the search differs")
    return int(bool(states["crashed"] or different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
