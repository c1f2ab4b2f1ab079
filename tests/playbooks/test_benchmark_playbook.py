# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's benchmark on this machine, and a load generator that runs here against a planted host."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import jsonschema
import pytest
import yaml

from checkout import REPOSITORY
from hosts.nvidia import Gpu, smi_xml
from hosts.story_before import GPUS, story_before

SCHEMA = json.loads((REPOSITORY / "plugins" / "plugin_utils" / "schemas" / "benchmark.json").read_text())
ONCE_MORE = """\
import json, os, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print("warming", os.environ["HF_TOKEN"], file=sys.stderr)
print("some log line")
print(json.dumps({"speed": 100 + number, "ttft": {"p50": 10.5}, "cwd": os.getcwd()}))
"""


@pytest.fixture
def bench(controller):
    """The mapping of a benchmark whose speed is 101 at its first run, 102 at the next and so on; its keys can be
    changed."""
    script = controller.folder / "bench.py"
    script.write_text(ONCE_MORE)

    def make(**changes):
        return {"name": "small", "command": ["python3", str(script), str(controller.folder / "count")],
                "repetitions": 3, "environment": {"HF_TOKEN": "hf_aBcDeFgH"},
                "metrics": {"speed": {"json": "speed", "better": "higher", "unit": "tok/s"},
                            "ttft": {"json": "ttft.p50", "better": "lower", "unit": "ms"}}, **changes}

    return make


def record(controller, host):
    """The newest record of a host, valid by its schema and the same as that of its run."""
    folder = controller.reports / host
    document = json.loads((folder / "benchmark.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert json.loads((folder / document["run_id"] / "benchmark.json").read_text()) == document
    return document


def test_this_machine(controller, bench, machine_at_rest):
    variables = {"gpuhost_benchmark": bench()}
    would = controller.play("benchmark.yml", {"here": None}, "--check", variables=variables).succeeded()
    assert "here: would run 1 warm-up run and 3 that count of 'small' on the host, at most 600 s each" in \
        would.stdout
    assert not (controller.reports / "here" / "benchmark.json").exists()
    assert not (controller.folder / "count").exists()

    run = controller.play("benchmark.yml", {"here": None}, "-vvv", variables=variables).succeeded()
    assert run.changed("here") == 0
    result = run.one("here", action="benchmark")
    assert result["summary"] == {"speed": {"median": 103, "low": 102, "high": 104, "runs": 3},
                                 "ttft": {"median": 10.5, "low": 10.5, "high": 10.5, "runs": 3}}
    assert (result["runs"], result["discarded"], result["changed"]) == (4, 0, False)
    assert "here: run 1: speed 101 tok/s, ttft 10.5 ms (warm-up)" in run.stdout
    assert "  speed   103     102 to 104    tok/s  higher  3" in run.stdout

    document = record(controller, "here")
    assert [(one["number"], one["warm_up"], one["values"]["speed"], one["rc"]) for one in document["runs"]] == [
        (1, True, 101, 0), (2, False, 102, 0), (3, False, 103, 0), (4, False, 104, 0)]
    assert document["boot_id"] == pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert document["runs"][0]["conditions"]["after"]["load1"] >= 0
    raw = controller.reports / "here" / document["run_id"] / "raw"
    assert sorted(path.name for path in raw.iterdir()) == sorted(
        f"00{number}.{stream}" for number in (1, 2, 3, 4) for stream in ("stdout", "stderr"))
    assert (raw / "002.stderr").read_text() == "warming ********\n"
    # Neither on the terminal nor in any file that is kept.
    assert "hf_aBcDeFgH" not in run.output
    assert [path for path in controller.reports.rglob("*") if path.is_file() and b"hf_aBcDeFgH" in path.read_bytes()
            ] == []

    report = (controller.reports / "here" / "system-improve.md").read_text()
    assert "## Your own benchmark: small" in report
    assert "| speed | 103 | 102 to 104 | tok/s | higher | 3 |" in report


def test_an_interrupted_benchmark_is_ended_and_what_it_measured_is_kept(controller, bench):
    """As a terminal does it: the signal goes to all that was started in the foreground."""
    pidfile = controller.folder / "pid"
    benchmark = bench(warm_up=0, command=[
        "sh", "-c", f'if test -e first; then echo $$ > {pidfile}; sleep 60; true; fi; touch first; '
                    'echo \'{"speed": 7, "ttft": {"p50": 1}}\''], chdir=str(controller.folder))
    given = {"gpuhost_benchmark": benchmark, "gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)}
    play = subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "benchmark.yml"), "-i",
         str(controller.inventory({"here": None})), "-e", json.dumps(given)], env=controller.environment(),
        cwd=controller.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)
    wait_until(lambda: pidfile.exists() and pidfile.read_text().strip())
    os.killpg(play.pid, signal.SIGINT)
    assert play.wait(60) != 0
    wait_until(lambda: not pathlib.Path(f"/proc/{pidfile.read_text().strip()}").exists())
    (path,) = controller.reports.glob("here/*/benchmark.json")
    document = json.loads(path.read_text())
    assert ([run["values"]["speed"] for run in document["runs"]], document["stopped"]) == (
        [7], "still running")


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_from_the_controller(controller, bench, make_tree):
    """The command runs where ansible-playbook was started; the planted hosts say how they were doing meanwhile."""
    cool, hot = story_before(make_tree("cool"), cores=1), story_before(make_tree("hot"), cores=1)
    hot.program("nvidia-smi.xml", smi_xml([Gpu(*gpu, smi={"temperature": 91}) for gpu in GPUS.items()], "570.133.20"))
    own = bench(where="controller", warm_up=0, repetitions=2, output="out.json",
                command=["sh", "-c", 'python3 bench.py count$$ > out.json; pwd'])
    (controller.folder / "mine.yml").write_text(yaml.safe_dump(own))
    variables = {"gpuhost_benchmark": "mine.yml", "gpuhost_run_id": "20261130T010203Z-00ff"}
    run = controller.play("benchmark.yml", {"cool": cool, "hot": hot}, "--forks", "1", cwd=controller.folder,
                          variables=variables).failed()
    assert run.one("cool", action="benchmark")["summary"]["speed"] == {
        "median": 101, "low": 101, "high": 101, "runs": 2}
    document = record(controller, "cool")
    assert (document["where"], document["run_id"], document["stopped"]) == ("controller", "20261130T010203Z-00ff", None)
    gpus = document["runs"][0]["conditions"]["before"]["gpus"]
    assert [(gpu["bdf"], gpu["temperature_c"]) for gpu in gpus] == [(bdf, 45) for bdf in sorted(GPUS)]
    raw = controller.reports / "cool" / document["run_id"] / "raw"
    assert (raw / "001.stdout").read_text() == f"{controller.folder}\n"
    assert json.loads((raw / "001.file").read_text().splitlines()[-1])["speed"] == 101

    message = run.one("hot", action="benchmark")
    reason = f"{min(GPUS)} had 91 degrees before it, the limit is 85"
    assert message["msg"] == f"no run of 'small' counts: {reason}. Wait, or change the limits"
    hot_runs = record(controller, "hot")["runs"]
    assert [(one["discarded"], one["values"]["speed"]) for one in hot_runs] == [(reason, 101.0), (reason, 101.0)]


@pytest.mark.one_core
def test_what_fails_is_one_message_and_is_kept(controller, bench, make_tree):
    """One play for several failures: each host has its own benchmark."""
    tree = story_before(make_tree("folder"), cores=1)
    never = str(controller.folder / "never")
    hosts = {
        "hangs": bench(command=["sleep", "60"], timeout=1),
        "dies": bench(command=["sh", "-c", "echo working; kill -KILL $$"]),
        "babbles": bench(command=["echo", "Model loaded, all fine"]),
        "lacks": bench(command=["echo", '{"speed": null, "ttft": {"p50": 1}}']),
        "stopped": bench(where="lxc:4711"),
        "wrong": bench(comand=["x"]),
        "unwritten": bench(command=["true"], output=never),
    }
    inventory = {name: {"gpuhost_benchmark": benchmark} for name, benchmark in hosts.items()}
    inventory["folder"] = {"gpuhost_benchmark": bench(), "gpuhost_sysroot": str(tree.root)}
    inventory["nothing"] = {"gpuhost_bandwidth": False}
    run = controller.play("benchmark.yml", inventory, "--forks", "4").failed()
    message = {name: run.one(name, action="benchmark").get("msg", "") for name in inventory}
    first = "run 1 of 'small': "
    assert message["hangs"] == f"{first}timeout: sleep did not end within 1 s and was ended"
    assert message["dies"] == f"{first}sh was killed by SIGKILL: working"
    assert message["babbles"].startswith(
        f"{first}metric speed: wanted a number by json 'speed' in stdout, found no JSON. "
        "stdout begins 'Model loaded, all fine'")
    assert "found nothing (null). " in message["lacks"]
    assert message["stopped"].startswith(f"{first}container 4711 ")
    assert message["wrong"] == "gpuhost_benchmark: unknown key 'comand': did you mean 'command'?"
    assert message["unwritten"].startswith(f"{first}true ended, but it did not write {never}")
    assert message["folder"].startswith(f"{first}skipped: python3 needs a live host")
    assert run.of("nothing", action="benchmark")[0].outcome == "skipped"
    for name in ("hangs", "dies", "babbles", "lacks", "stopped", "unwritten", "folder"):
        document = record(controller, name)
        assert (document["stopped"], document["summary"], len(document["runs"])) == (message[name], {}, 1)
    assert not (controller.reports / "wrong" / "benchmark.json").exists()
