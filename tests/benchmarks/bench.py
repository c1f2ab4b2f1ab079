# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection costs, as ratios of medians measured in one run: `make bench`, `make bench ARGS='--rounds 9'`.

1. On the target: host_info on a planted host with 256 CPUs and 8 GPUs, against a module that does nothing.
2. On the controller: the audit playbook over 20 local hosts, reports included, against a playbook with one ping task.
3. The audit of a node with 200 guests, against the same node without guests.
4. A tune: eleven sysctls in one task, against the usual loop over ansible.posix.sysctl.
5. Over ssh, with the hosts of tests/fleet (root, namespaces, openssh-server): the audit of 100 hosts against ping
   (ssh-audit), of 40 against a loop over nine sysctls (ssh-loop), a rollout of eleven changes over 100 against ping
   (ssh-tune), and the audit of 1,000, also in four slices at once (ssh-scale and ssh-slices, only when named).
"""
from __future__ import annotations

import argparse
import functools
import os
import pathlib
import platform
import sys
import tempfile
from collections.abc import Callable

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "support"), str(TESTS / "fleet")]

import fleet_audit
import fleet_slices
import fleet_tune
import guests
import many_hosts
import sysctls
import target

from ansible_run import Controller

SUBJECTS = {"target": target.measure, "fleet": many_hosts.measure, "guests": guests.measure,
            "sysctls": sysctls.measure}
OVER_SSH = {"ssh-audit": fleet_audit.measure, "ssh-loop": fleet_audit.measure_loop, "ssh-tune": fleet_tune.measure,
            "ssh-scale": fleet_audit.measure_scale, "ssh-slices": fleet_slices.measure}
WHEN_NAMED = ("ssh-scale", "ssh-slices")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each command runs (default 7)")
    parser.add_argument("--only", choices=[*SUBJECTS, *OVER_SSH], help="one of them")
    parser.add_argument("--hosts", type=int, help="how many hosts, of those over ssh")
    parser.add_argument("--key-exchange", help="what ssh is to use, as curve25519-sha256 (default: its own choice)")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
          f"{arguments.rounds} rounds; load {load()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpuhost-bench-") as folder:
        controller = Controller(pathlib.Path(folder))
        for name, measure in chosen(arguments).items():
            print(measure(controller, arguments.rounds), flush=True)
            print(f"  load after {name}: {load()}\n", flush=True)


def chosen(arguments: argparse.Namespace) -> dict[str, Callable[[Controller, int], str]]:
    given = {"key_exchange": arguments.key_exchange}
    if arguments.hosts is not None:
        given["hosts"] = arguments.hosts
    measures = {**SUBJECTS, **{name: functools.partial(measure, **given) for name, measure in OVER_SSH.items()}}
    named = [arguments.only] if arguments.only else [name for name in measures if name not in WHEN_NAMED]
    return {name: measures[name] for name in named}


def load() -> str:
    """Of the last minute: what else runs on the machine."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
