# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reading on the target, started as a target starts it: from the payload that Ansible sends."""
from __future__ import annotations

import json
import os
import pathlib
import sys

from measure import Command, in_turns, table

from ansible_run import Controller
from hosts.reference import reference
from hosts.tree import Tree

HERE = pathlib.Path(__file__).resolve().parent


def measure(controller: Controller, rounds: int) -> str:
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
