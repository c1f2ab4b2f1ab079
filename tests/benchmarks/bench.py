# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit costs, as ratios of medians measured in one run: `make bench`, `make bench ARGS='--rounds 9'`.

1. On the target: host_info on a planted host with 256 CPUs and 8 GPUs, against a module that does nothing. Both are
   started as a target starts them, from the payload that Ansible sends.
2. On the controller: the audit playbook over 20 local hosts, reports included, against a playbook with one ping task.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measure import Command, in_turns, table

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.reference import reference
from hosts.story_before import story_before
from hosts.tree import Tree

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each command runs (default 7)")
    rounds = parser.parse_args().rounds
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {rounds} rounds; "
          f"load {os.getloadavg()[0]:.1f}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpuhost-bench-") as folder:
        controller = Controller(pathlib.Path(folder))
        print(on_the_target(controller, rounds), flush=True)
        print(on_the_controller(controller, rounds))


def on_the_target(controller: Controller, rounds: int) -> str:
    host = reference(Tree(controller.folder / "reference"))
    modules = {"empty module": "empty_module", "host_info, 256 CPUs and 8 GPUs": "gpuhost.tuning.host_info"}
    commands = {name: Command([sys.executable, str(payload(controller, module, str(host.root)))], os.environ)
                for name, module in modules.items()}
    return table("A module on the target, without transport", in_turns(commands, rounds), "empty module",
                 "at most 2.00 times the empty module")


def payload(controller: Controller, module: str, sysroot: str) -> pathlib.Path:
    """The file that Ansible sends to a target to run `module`."""
    kept = controller.folder / f"payload-{module}"
    done = controller.ansible(
        "adhoc", "-i", str(controller.inventory({"here": None})), "here", "-m", module,
        "-a", json.dumps({"sysroot": sysroot}), ANSIBLE_KEEP_REMOTE_FILES="1", ANSIBLE_PIPELINING="0",
        ANSIBLE_REMOTE_TEMP=str(kept), ANSIBLE_LIBRARY=str(HERE / "library"))
    files = list(kept.glob("*/AnsiballZ_*.py"))
    if done.returncode != 0 or len(files) != 1:
        raise SystemExit(f"{module} did not run:\n{done.stdout}{done.stderr}")
    return files[0]


def on_the_controller(controller: Controller, rounds: int) -> str:
    planted = story_before(Tree(controller.folder / "story"))
    commands = {
        "ping": play(controller, HERE / "ping.yml", {f"host{number}": None for number in range(HOSTS)}),
        "audit of this machine": audit(controller, None),
        "audit of a planted 8-GPU host": audit(controller, planted),
    }
    return table(f"{HOSTS} local hosts, one playbook", in_turns(commands, rounds), "ping",
                 "at most 1.50 times ping, then 1.10")


def audit(controller: Controller, host: Tree | None) -> Command:
    reports = controller.folder / "reports"

    def check(_output: str) -> None:
        written = len(list(reports.glob("*/audit.json")))
        if written != HOSTS:
            raise SystemExit(f"the audit wrote {written} records, not {HOSTS}")

    return play(controller, REPOSITORY / "playbooks" / "audit.yml",
                {f"host{number}": host for number in range(HOSTS)}, check)


def play(controller: Controller, playbook: pathlib.Path, hosts: dict, check=lambda output: None) -> Command:
    inventory = controller.inventory(hosts)
    inventory = inventory.rename(inventory.with_name(f"{playbook.stem}-{len(list(controller.folder.iterdir()))}.json"))
    variables = json.dumps({"gpuhost_become": False, "gpuhost_report_dir": str(controller.folder / "reports")})
    return Command([sys.executable, "-m", "ansible", "playbook", str(playbook), "-i", str(inventory), "-e", variables],
                   controller.environment(), check)


if __name__ == "__main__":
    main()
