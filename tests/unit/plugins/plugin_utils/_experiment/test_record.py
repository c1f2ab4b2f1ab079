# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the record of an experiment says: its effects, its verdicts for the audit, whether it came to an end."""
from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.definition import parse_benchmark
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.plan import make_arms
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.record import (
    begin,
    evaluate,
    helpful,
    hold,
    measured_entries,
    overall,
    result_lines,
    seconds_a_run,
    unfinished,
    write,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.toggles import Excluded
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import HostFolder, RecordError

from planted_setters import RUN_ID, toggle

BENCHMARK = {"name": "serve", "command": ["bench"], "metrics": {
    "rate": {"json": "rate", "better": "higher"}, "latency": {"json": "latency", "better": "lower"}}}
NOISE = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.05, 0.15, -0.15)
TOGGLES = [toggle("governor", {"sysctl:one": "1"}), toggle("swappiness", {"sysctl:two": "2"})]


def experiment(mode="one_at_a_time", rates=(100.0, 110.0), latencies=(20.0, 20.0), blocks=10):
    """A document in which every arm has these values in A and B, but for a noise of some tenths of a percent."""
    arms = make_arms(mode, TOGGLES)
    document = begin("pve1", RUN_ID, parse_benchmark(BENCHMARK), arms, [Excluded("module:x", "not fair")],
                     mode=mode, boot_id="boot", measured_at="2026-11-29T18:30:00Z")
    for arm in arms:
        for block in range(blocks):
            states = "AB" if block % 2 else "BA"
            for state in states:
                of = "AB".index(state)
                document["runs"].append({
                    "number": len(document["runs"]) + 1, "arm": arm.name, "block": block + 1, "state": state,
                    "discarded": None, "warm_up": False, "values": {
                        "rate": rates[of] + NOISE[(block + 3 * of) % 10],
                        "latency": latencies[of] * (1 + NOISE[(block + 7 * of) % 10] / 100)}})
    evaluate(document, 2.0)
    return document, arms


def test_every_arm_has_an_effect_on_every_metric():
    document, _arms = experiment()
    assert [arm["name"] for arm in document["arms"]] == ["governor", "swappiness"]
    rate, latency = (document["arms"][0]["metrics"][name] for name in ("rate", "latency"))
    assert (rate["verdict"], latency["verdict"]) == ("helps", "no measurable effect")
    assert 9.5 < rate["percent"] < 10.5
    assert document["arms"][0]["toggles"] == ["sysctl:one"]
    assert document["arms"][0]["values"] == {"sysctl": {"one": "1"}}
    assert document["discarded"] == 0


def test_one_metric_that_hurts_outweighs_one_that_helps():
    document, _arms = experiment(latencies=(20.0, 25.0))
    assert overall(document["arms"][0]) == "hurts"
    assert helpful(document) == frozenset()
    assert helpful(experiment()[0]) == {"governor", "swappiness"}
    assert helpful(experiment(rates=(100.0, 100.0))[0]) == frozenset()


def test_few_blocks_claim_nothing():
    document, arms = experiment(blocks=1)
    assert {found["verdict"] for arm in document["arms"] for found in arm["metrics"].values()} == {"inconclusive"}
    assert {entry["verdict"] for entry in measured_entries(document, arms)} == {"inconclusive"}


@pytest.mark.parametrize(("mode", "company"), [
    ("one_at_a_time", ""), ("leave_one_out", " (with 1 other)"), ("plan", " (with 1 other)")])
def test_what_the_audit_is_told(mode, company):
    document, arms = experiment(mode)
    entries = measured_entries(document, arms)
    assert [(entry["check"], entry["subject"], entry["verdict"]) for entry in entries] == [
        ("governor", None, "helps"), ("swappiness", None, "helps")]
    assert entries[0]["said"].startswith("serve: rate: helps: +")
    assert entries[0]["said"].endswith(company)
    assert ("with" in entries[0]["said"]) == bool(company)


def test_a_line_for_each_arm_and_metric():
    document, _arms = experiment()
    document["runs"][0]["discarded"] = "too\x1b[2Jhot"
    document["drift"] = [{"address": "sysctl:vm.min_free_kbytes", "before": "67584", "after": "90112"}]
    lines = result_lines(document)
    assert [line.split()[:3] for line in lines[:4]] == [
        ["governor", "rate", "helps:"], ["governor", "latency", "no"], ["swappiness", "rate", "helps:"],
        ["swappiness", "latency", "no"]]
    assert lines[4:] == [
        "  not compared: module:x: not fair", "  1 run did not count: too\\x1b[2Jhot",
        "  sysctl:vm.min_free_kbytes was 67584 and is 90112: the kernel recalculates it with a change, and it is not "
        "written back"]


def test_an_experiment_that_did_not_end_is_found_in_its_boot_alone(tmp_path):
    folder = HostFolder(str(tmp_path), "pve1")
    assert unfinished(folder, "boot") is None
    document, _arms = experiment()
    write(folder, document, newest=True)
    assert unfinished(folder, "boot")["run_id"] == RUN_ID
    assert unfinished(folder, "another boot") is None
    write(folder, {**document, "ended": "finished"}, newest=True)
    assert unfinished(folder, "boot") is None
    (folder.path / "experiment.json").write_text("{}")
    with pytest.raises(RecordError, match=r"experiment.json is not the record of an experiment: move it away"):
        unfinished(folder, "boot")


def test_what_a_run_took_is_known_from_the_same_benchmark_alone(tmp_path):
    folder, benchmark = HostFolder(str(tmp_path), "pve1"), parse_benchmark(BENCHMARK)
    assert seconds_a_run(folder, benchmark) is None
    folder.path.mkdir()
    record = {"name": "serve", "argv": ["bench"], "runs": [
        {"seconds": 12.0, "discarded": None}, {"seconds": 14.0, "discarded": None},
        {"seconds": 99.0, "discarded": "hot"}]}
    (folder.path / "benchmark.json").write_text(json.dumps(record))
    assert seconds_a_run(folder, benchmark) == 14.0
    (folder.path / "benchmark.json").write_text(json.dumps({**record, "argv": ["bench", "-n", "1"]}))
    assert seconds_a_run(folder, benchmark) is None


HOLDER = """
import pathlib, sys, time
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.record import hold
with hold(pathlib.Path(sys.argv[1]), "20261129T183000Z-4f2a"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_experiment_at_a_time(tmp_path):
    lock = tmp_path / "pve1" / ".experiment.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as other:
        assert other.stdout.readline() == "held\n"
        message = f"in progress: run 20261129T183000Z-4f2a, process {other.pid}. Wait"
        with pytest.raises(RecordError, match=message), hold(lock, RUN_ID):
            pass
        other.kill()
    with hold(lock, RUN_ID):     # the kernel let go of it
        assert RUN_ID in lock.read_text()
