# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection costs, as ratios of medians measured in one run: `make bench`, `make bench ARGS='--rounds 9'`.

1. On the target: host_info on a planted host with 256 CPUs and 8 GPUs, against a module that does nothing.
2. On the controller: the audit playbook over 20 local hosts, reports included, against a playbook with one ping task.
3. A tune: eleven sysctls in one task, against the usual loop over ansible.posix.sysctl.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import platform
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import many_hosts
import sysctls
import target

from ansible_run import Controller

SUBJECTS = {"target": target.measure, "fleet": many_hosts.measure, "sysctls": sysctls.measure}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each command runs (default 7)")
    parser.add_argument("--only", choices=SUBJECTS, help="one of the three")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
          f"{arguments.rounds} rounds; load {os.getloadavg()[0]:.1f}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpuhost-bench-") as folder:
        controller = Controller(pathlib.Path(folder))
        for name, measure in SUBJECTS.items():
            if arguments.only in (None, name):
                print(measure(controller, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
