# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run all parts of the GPU check and write the results to one file: `python -m gpu_check --help`."""
from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from .compare import compare, unproven

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROBE = REPOSITORY / "tools" / "gpu_check" / "probe.py"
BIN = REPOSITORY / ".venv" / "bin"
SCHEMA = "gpuhost.gpu_check/1"
HANG_LIMIT = 5              # seconds until the process that waits in the driver is killed
DIES_WITHIN = 10
PART_LIMIT = 3600
BLOCKS = 8                  # enough to decide one comparison
HARMLESS = {"sysctl": {"vm.laptop_mode": "5"}}


class Problem(Exception):
    """A part could not be run; the message is one sentence."""


class Check:
    """Runs the parts. `root` is the sysroot: / on a machine with a GPU, a planted host when the stand-in is used."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.library = arguments.library
        self.root = arguments.sysroot
        self.folder = pathlib.Path(arguments.report_dir).resolve()
        self.inventory = ["-i", f"{REPOSITORY}/inventory/hosts.yml", "-l", "localhost"]

    def run(self) -> dict[str, Any]:
        report: dict[str, Any] = {
            "schema": SCHEMA, "at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "kernel": platform.release(), "python": platform.python_version(), "library": self.library,
            "sysroot": self.root}
        report["functions"] = part("functions", lambda: self._probe("functions"))
        report["bandwidth"] = part("bandwidth", lambda: self._bandwidth("driver"))
        gpus = [gpu["bdf"] for gpu in report["bandwidth"].get("gpus", [])]
        report["nvbandwidth"] = part("nvbandwidth", lambda: self._bandwidth("nvbandwidth"))
        report["comparison"] = compare(report["bandwidth"], report["nvbandwidth"])
        report["hang"] = part("hang", lambda: self._hang(gpus))
        report["audit"] = part("audit", self._audit)
        report["experiment"] = part("experiment", lambda: self._experiment(gpus))
        return report

    def _probe(self, *words: str, limit: float = 120) -> Any:
        return json.loads(call([sys.executable, str(PROBE), words[0], self.library, *words[1:]], limit))

    def _bandwidth(self, tool: str) -> dict[str, Any]:
        options = {"tool": tool, "concurrent": tool == "driver", "library": self.library}
        if self.root != "/":
            return self._on_planted_host(options)
        text = call([str(BIN / "ansible"), *self.inventory, "localhost", "-m", "gpuhost.tuning.gpu_bandwidth", "-a",
                     json.dumps(options)], PART_LIMIT)
        return json.loads(text[text.index("{"):])

    def _on_planted_host(self, options: dict[str, Any]) -> dict[str, Any]:
        from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.gpus import NotMeasurable
        from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.module import measure
        from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

        try:
            return measure(Host(self.root), {
                "devices": [], "pairs": True, "steps": [], "sizes": [1 << 16], "container": None, "timeout": 60,
                "allow_busy": False, "run_id": None, **options}, check_mode=False)
        except (NotMeasurable, ValueError) as problem:
            raise Problem(str(problem)) from problem

    def _hang(self, gpus: list[str]) -> dict[str, Any]:
        """A process waits forever in the driver; it must die when killed, and the GPU must still respond afterwards."""
        if not gpus:
            raise Problem("no GPU was measured")
        child = subprocess.Popen([sys.executable, str(PROBE), "hang", self.library, gpus[0]], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        try:
            _said, errors = child.communicate(timeout=HANG_LIMIT)
            raise Problem(f"the process did not wait: {errors.strip()[-300:] or 'it ended'}")
        except subprocess.TimeoutExpired:
            child.kill()
        try:
            child.wait(DIES_WITHIN)
        except subprocess.TimeoutExpired:
            raise Problem(f"process {child.pid} was killed and did not die within {DIES_WITHIN} s") from None
        finally:
            child.stdout.close()
            child.stderr.close()
        self._probe("answers", gpus[0])
        return {"limit": HANG_LIMIT, "after": f"and {gpus[0]} answers"}

    def _audit(self) -> dict[str, Any]:
        self._play("audit.yml", {})
        audit = json.loads((self.folder / "localhost" / "audit.json").read_text())
        failing = [f"{number} {priority}" for priority, number in audit["summary"]["failing"].items() if number]
        return {"failing": ", ".join(failing) or "nothing", "verdicts": audit["summary"].get("verdicts"),
                "unread": audit["facts"].get("unread")}

    def _experiment(self, gpus: list[str]) -> dict[str, Any]:
        """Test a change without effect on copies, with copies from the host: it must complete and find no effect."""
        if not gpus:
            raise Problem("no GPU was measured")
        benchmark = {"name": "copies from the host", "where": "controller", "starts_workload": True, "timeout": 120,
                     "command": [sys.executable, str(PROBE), "copy", self.library, gpus[0]],
                     "metrics": {"gb_s": {"json": "gb_s", "better": "higher", "unit": "GB/s"}}}
        self._play("experiment.yml", {
            "gpuhost_benchmark": benchmark, "gpuhost_values": HARMLESS, "gpuhost_experiment_blocks": BLOCKS,
            "gpuhost_experiment_changes": [f"{kind}:{name}" for kind, named in HARMLESS.items() for name in named]})
        document = json.loads((self.folder / "localhost" / "experiment.json").read_text())
        effects = [found for arm in document["arms"] for found in arm["metrics"].values()]
        return {"ended": document["ended"], "said": "; ".join(found["said"] for found in effects), "effects": effects,
                "runs": len(document["runs"]), "discarded": document["discarded"]}

    def _play(self, playbook: str, variables: dict[str, Any]) -> None:
        given = {"gpuhost_report_dir": str(self.folder), "gpuhost_sysroot": self.root, **variables}
        call([str(BIN / "ansible-playbook"), str(REPOSITORY / "playbooks" / playbook), *self.inventory, "-e",
              json.dumps(given)], PART_LIMIT)


def call(argv: list[str], limit: float) -> str:
    """Run a program and return its output. Raises Problem."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg")}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=limit, check=False, env=environment,
                              cwd=REPOSITORY)
    except subprocess.TimeoutExpired:
        raise Problem(f"{pathlib.Path(argv[0]).name} did not end within {limit:g} s") from None
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = next((line for line in lines if '"msg":' in line or "fatal:" in line), lines[-1] if lines else "")
        raise Problem(f"{pathlib.Path(argv[0]).name} ended with status {done.returncode}: {told[:500]}")
    return done.stdout


def part(name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of a part, or its problem, so that the other parts still run."""
    print(f"{name} ...", flush=True)
    try:
        return work()
    except Problem as problem:
        return {"problem": str(problem)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make gpu-check", description=__doc__)
    parser.add_argument("--library", default="libcuda.so.1", help="the CUDA driver library")
    parser.add_argument("--sysroot", default="/", help="a planted host, for a trial on the stand-in")
    parser.add_argument("--report-dir", default=str(REPOSITORY / "reports" / "gpu-check"))
    check = Check(parser.parse_args())
    report = check.run()
    check.folder.mkdir(parents=True, exist_ok=True)
    path = check.folder / "gpu-check.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print("\n".join(unproven(report)))
    print(f"all of it: {path}")
    return int(any("problem" in report[name] for name in ("functions", "bandwidth", "hang", "audit", "experiment")))


if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY / ".ansible" / "collections"))
    sys.exit(main())
