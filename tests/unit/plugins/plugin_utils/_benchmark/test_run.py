# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of a benchmark in the form of the record, whatever the module answers, and the figures of all runs."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark import run as benchmark_run
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.definition import parse_benchmark
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.run import (
    RunFailed,
    document,
    measure_once,
    restart,
    same_boot,
    summary,
    write_newest,
    write_run,
)

GPU = {"bdf": "0000:41:00.0", "temperature_c": 50.0, "sm_mhz": 1980, "throttle": [], "power_w": 300.0}
STATE = {"boot_id": "b1", "load1": 0.5, "gpus": [GPU], "users": []}
SERVER = {"pid": 100, "command": "vllm", "container": "101"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "20261130T000000Z-0000"


def benchmark(**changes):
    return parse_benchmark({"name": "small", "command": ["bench"], "metrics": {
        "speed": {"json": "speed", "better": "higher", "unit": "tok/s"}}, **changes})


def answer(speed=10, before=None, after=None, **changes):
    return {"rc": 0, "stdout": json.dumps({"speed": speed}), "stderr": "", "file": None, "seconds": 1.5,
            "started": "2026-11-30T00:00:00Z", "left_running": [],
            "conditions": {"before": STATE | (before or {}), "after": STATE | (after or {})}, **changes}


def measure(folder, result, **changes):
    asked = []
    run = measure_once(lambda arguments: asked.append(arguments) or result, benchmark(**changes), 3, folder)
    assert asked == [benchmark(**changes).module_arguments()]
    return run


def test_a_run_that_counts(folder):
    result = answer()
    assert measure(folder, result) == {
        "number": 3, "warm_up": False, "started": "2026-11-30T00:00:00Z", "seconds": 1.5, "rc": 0,
        "values": {"speed": 10.0}, "conditions": result["conditions"], "discarded": None, "raw": "raw/003.stdout"}
    assert (folder / "raw" / "003.stdout").read_text() == '{"speed": 10}'
    assert not (folder / "raw" / "003.file").exists()


def test_figures_in_a_file(folder):
    result = answer(stdout="done", file='{"speed": 7}')
    assert measure(folder, result, output="/tmp/result.json")["values"] == {"speed": 7.0}
    assert (folder / "raw" / "003.file").read_text() == '{"speed": 7}'


@pytest.mark.parametrize(("result", "message"), [
    (answer(failed=True, msg="timeout: bench did not end within 5 s"),
     "run 3 of 'small': timeout: bench did not end within 5 s"),
    ({"failed": True, "msg": "container 101 is not running"}, "run 3 of 'small': container 101 is not running"),
    ({"skipped": True, "msg": "skipped: needs a live host"}, "run 3 of 'small': skipped: needs a live host"),
    (answer(after={"boot_id": "b2"}), "run 3 of 'small': the host was rebooted during the run"),
    (answer(stdout="Killed"), "found no JSON. stdout begins 'Killed'. Let the command print JSON, or use a pattern "
                              "(all of it: 20261130T000000Z-0000/raw/003.stdout)"),
])
def test_what_did_not_come_to_a_good_end(folder, result, message):
    with pytest.raises(RunFailed) as raised:
        measure(folder, result)
    assert message in str(raised.value)
    assert raised.value.run["discarded"] == str(raised.value)
    assert raised.value.run["values"] == {}
    assert (raised.value.run["raw"] is None) is ("stdout" not in result)


@pytest.mark.parametrize(("limits", "before", "after", "message"), [
    ({}, {"gpus": [{**GPU, "temperature_c": 86}]}, {}, "0000:41:00.0 had 86 degrees before it, the limit is 85"),
    ({}, {}, {"gpus": [{**GPU, "temperature_c": 85.5}]}, "0000:41:00.0 had 85.5 degrees after it, the limit is 85"),
    ({}, {}, {"gpus": [{**GPU, "temperature_c": 85}]}, None),
    ({"temperature_c": None}, {"gpus": [{**GPU, "temperature_c": 99}]}, {}, None),
    ({}, {"gpus": [{**GPU, "temperature_c": None, "throttle": None}]}, {"gpus": None, "users": None}, None),
    ({"load1": 2}, {"load1": 2.5}, {}, "the load was 2.5 before it, the limit is 2"),
    ({"load1": 2}, {"load1": 2}, {"load1": 64}, None),
    ({"load1": 2}, {"load1": None}, {}, None),
    ({}, {}, {"gpus": [{**GPU, "throttle": ["gpu_idle", "hw_thermal_slowdown"]}]},
     "0000:41:00.0 was throttled after it: hw_thermal_slowdown"),
    ({"throttle": ["sw_power_cap"]}, {}, {"gpus": [{**GPU, "throttle": ["hw_slowdown"]}]}, None),
    ({}, {"users": [SERVER]}, {"users": [{**SERVER, "pid": 200}]}, None),
    ({}, {"users": []}, {"users": [SERVER]}, "vllm (pid 100) in 101 started to use a GPU meanwhile"),
    ({}, {"users": None}, {"users": [SERVER]}, None),
    ({"users": ["vllm"]}, {"users": [SERVER]}, {"users": [SERVER]}, None),
    ({"users": ["sglang::scheduler_TP0"]}, {"users": [{**SERVER, "command": "sglang::schedul"}]}, {}, None),
    ({"users": []}, {"users": [{**SERVER, "container": None}]}, {}, "vllm (pid 100) used a GPU"),
])
def test_a_run_outside_the_limits_is_kept_and_does_not_count(folder, limits, before, after, message):
    run = measure(folder, answer(before=before, after=after), limits=limits)
    assert (run["discarded"], run["values"]) == (message, {"speed": 10.0})


def test_what_the_benchmark_itself_left_running_is_no_other_user(folder):
    result = answer(after={"users": [SERVER]}, left_running=[{"pid": 100, "command": "vllm"}])
    assert measure(folder, result)["discarded"] is None


def test_a_boot_that_cannot_be_told_is_no_reboot(folder):
    assert measure(folder, answer(before={"boot_id": None}))["values"] == {"speed": 10.0}


def test_it_settles_before_it_runs(folder, monkeypatch):
    slept = []
    monkeypatch.setattr(benchmark_run.time, "sleep", slept.append)
    measure(folder, answer(), settle_seconds=30)
    assert slept == [30]


def runs(*speeds, **changes):
    return [{"number": number, "warm_up": False, "discarded": None, "values": {"speed": speed}, "started": "then",
             "conditions": {"before": STATE, "after": STATE}, **changes} for number, speed in enumerate(speeds, 1)]


def test_only_runs_that_count_are_summarised():
    every = [*runs(1, warm_up=True), *runs(10, 40, 20, 15), *runs(99, discarded="too hot")]
    assert summary(every, benchmark().metrics) == {"speed": {"median": 17.5, "low": 10, "high": 40, "runs": 4}}
    assert summary(runs(1, warm_up=True), benchmark().metrics) == {}


def test_a_reboot_between_two_runs_is_told():
    rebooted = runs(1, 2, 3)
    assert same_boot(rebooted) is None
    rebooted[2] = {**rebooted[2], "conditions": {"before": {**STATE, "boot_id": "b2"}}}
    assert same_boot(rebooted).startswith("the host was rebooted between run 2 and run 3: ")


def test_the_record_is_kept_with_its_run_and_as_the_newest(tmp_path):
    made = document("pve1", "20261130T000000Z-0000", benchmark(), runs(1, 2), None)
    assert {key: made[key] for key in ("schema", "host", "boot_id", "measured_at", "name", "argv", "where", "metrics",
                                       "summary", "stopped")} == {
        "schema": "gpuhost.benchmark/1", "host": "pve1", "boot_id": "b1", "measured_at": "then", "name": "small",
        "argv": ["bench"], "where": "host", "metrics": [{"name": "speed", "better": "higher", "unit": "tok/s"}],
        "summary": {"speed": {"median": 1.5, "low": 1, "high": 2, "runs": 2}}, "stopped": None}
    write_run(tmp_path, made)
    assert json.loads((tmp_path / "20261130T000000Z-0000" / "benchmark.json").read_text()) == made
    assert not (tmp_path / "benchmark.json").exists()
    write_newest(tmp_path, made)
    assert json.loads((tmp_path / "benchmark.json").read_text()) == made


# -- the user's server -------------------------------------------------------------------------------------------------

RESTART = {"command": ["restart"], "ready": {"command": ["ask"], "every": 0.1, "timeout": 1}}


def test_a_restart_waits_until_the_server_answers(folder):
    asked = []

    def execute(arguments):
        asked.append(arguments["argv"])
        if len(asked) < 4 and arguments["argv"] == ["ask"]:
            return {"failed": True, "msg": "ask ended with status 7", "stdout": "no\n"}
        return {"rc": 0, "stdout": "yes\n"}

    restart(execute, benchmark(restart=RESTART), folder, 2)
    assert asked == [["restart"], ["ask"], ["ask"], ["ask"]]
    assert (folder / "raw" / "002.ready").read_text() == "yes\n"


def test_a_server_that_does_not_come_back_is_one_error(folder):
    def execute(arguments):
        return {"failed": arguments["argv"] == ["ask"], "msg": "ask ended with status 7: refused"}

    with pytest.raises(RunFailed, match=r"^the server was not ready 1 s after its restart before run 2: the server: "
                                        r"ask ended with status 7: refused$"):
        restart(execute, benchmark(restart=RESTART), folder, 2)
    with pytest.raises(RunFailed, match=r"^the restart before run 2: restart is not installed$"):
        restart(lambda _arguments: {"failed": True, "msg": "restart is not installed"}, benchmark(restart=RESTART),
                folder, 2)
    with pytest.raises(ValueError, match=r"'small' has no restart command for its server"):
        restart(execute, benchmark(), folder, 2)
