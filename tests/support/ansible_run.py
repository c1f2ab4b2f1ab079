# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run Ansible as users do, in a separate process, and return the result of every task.

    controller.play("audit.yml", {"pve1": tree}, "--check", variables={"gpuhost_profile": "conservative"})
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkout import REPOSITORY, environment

CALLBACKS = REPOSITORY / "tests" / "playbooks" / "callback_plugins"


class TaskResult(NamedTuple):
    """What one task returned for one host; `outcome` is ok, failed, skipped or unreachable."""

    play: str
    task: str
    action: str
    host: str
    outcome: str
    ignored: bool
    result: dict[str, Any]


class Run(NamedTuple):
    """A finished ansible-playbook. `stats` is the recap: `{host: {ok, changed, failures, unreachable, ...}}`."""

    returncode: int
    stdout: str
    stderr: str
    results: list[TaskResult]
    stats: dict[str, dict[str, int]]

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def of(self, host: str, task: str = "", action: str = "") -> list[TaskResult]:
        """The results of `host` for tasks whose name contains `task` and whose action equals or ends with `action`."""
        return [one for one in self.results
                if one.host == host and task in one.task and f".{one.action}".endswith(f".{action}" if action else "")]

    def one(self, host: str, task: str = "", action: str = "") -> dict[str, Any]:
        """The result of the only such task."""
        found = self.of(host, task, action)
        assert len(found) == 1, f"{len(found)} tasks match, not one: {[one.task for one in found]}\n{self.output}"
        return found[0].result

    def changed(self, host: str) -> int:
        return self.stats[host]["changed"]

    def succeeded(self) -> Run:
        assert self.returncode == 0, f"exit status {self.returncode}\n{self.output}"
        return self

    def failed(self) -> Run:
        assert self.returncode == 2, f"exit status {self.returncode}, not 2 (failed hosts)\n{self.output}"
        return self


class Controller:
    """A controller with its own folder for inventory, reports and Ansible's temporary files."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.reports = folder / "reports"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        # A link with the name that Ansible requires, so that a plain checkout works.
        namespace = folder / "collections" / "ansible_collections" / "gpuhost"
        namespace.mkdir(parents=True)
        (namespace / "tuning").symlink_to(REPOSITORY)

    def inventory(self, hosts: Mapping[str, Any]) -> pathlib.Path:
        """An inventory of planted hosts: `{name: its Tree, its folder, None for this machine, or variables}`."""
        path = self.folder / "inventory.json"
        path.write_text(json.dumps({"all": {"hosts": {name: self._variables(host) for name, host in hosts.items()}}}))
        return path

    def _variables(self, host: Any) -> dict[str, Any]:
        variables: dict[str, Any] = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        if isinstance(host, Mapping):
            return variables | dict(host)
        if host is not None:
            variables["gpuhost_sysroot"] = str(host if isinstance(host, (str, os.PathLike)) else host.root)
        return variables

    def environment(self, **changes: str) -> dict[str, str]:
        return environment(
            ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"), ANSIBLE_HOME=str(self.folder / "ansible"),
            ANSIBLE_COLLECTIONS_PATH=str(self.folder / "collections"), ANSIBLE_REMOTE_TEMP=str(self.temporary),
            ANSIBLE_NOCOLOR="1", LC_ALL="C.UTF-8") | changes

    def ansible(self, program: str, *words: str, cwd: pathlib.Path | None = None, timeout: float = 300,
                **variables: str) -> subprocess.CompletedProcess[str]:
        """`ansible-<program> words`, with the Ansible of the Python that runs the tests."""
        return subprocess.run(
            [sys.executable, "-m", "ansible", program, *words], cwd=cwd or self.folder, timeout=timeout, text=True,
            env=self.environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def play(self, playbook: str, hosts: Mapping[str, Any], *words: str, variables: Mapping[str, Any] | None = None,
             cwd: pathlib.Path | None = None, timeout: float = 300, **environment: str) -> Run:
        """Run a playbook for `hosts`: a name in playbooks/, a path, or gpuhost.tuning.<name>.

        Deprecation warnings and tracebacks fail the test.
        """
        path = REPOSITORY / "playbooks" / playbook
        given = {"gpuhost_become": False, "gpuhost_report_dir": str(self.reports), **(variables or {})}
        record = self.folder / "results.jsonl"
        record.unlink(missing_ok=True)
        done = self.ansible(
            "playbook", str(path) if path.exists() else playbook, "-i", str(self.inventory(hosts)),
            "-e", json.dumps(given), *words, cwd=cwd, timeout=timeout,
            ANSIBLE_CALLBACK_PLUGINS=str(CALLBACKS), ANSIBLE_CALLBACKS_ENABLED="task_results,gpuhost.tuning.fleet",
            GPUHOST_TASK_RESULTS=str(record), **environment)
        run = Run(done.returncode, done.stdout, done.stderr, *_parse(record))
        for sign in ("[DEPRECATION WARNING]", "Traceback (most recent call last)"):
            assert sign not in run.output, run.output
        return run


def _parse(record: pathlib.Path) -> tuple[list[TaskResult], dict[str, dict[str, int]]]:
    lines = record.read_text().splitlines() if record.exists() else []
    documents = [json.loads(line) for line in lines]
    stats = next((document["stats"] for document in documents if "stats" in document), {})
    return [TaskResult(**document) for document in documents if "stats" not in document], stats
