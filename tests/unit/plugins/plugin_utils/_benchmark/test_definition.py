# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user may say of a benchmark, and what is said where it cannot be meant."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.definition import (
    THROTTLE,
    load_benchmark,
    parse_benchmark,
)

SMALL = {"name": "small", "command": ["bench", "--json"], "metrics": {"speed": {"json": "speed", "better": "higher"}}}


def with_(**changes):
    return {**SMALL, **changes}


def test_what_is_left_out_has_its_default():
    benchmark = parse_benchmark(SMALL)
    assert (benchmark.name, benchmark.argv, benchmark.where) == ("small", ["bench", "--json"], "host")
    assert (benchmark.timeout, benchmark.repetitions, benchmark.warm_up, benchmark.settle_seconds) == (600, 5, 1, 0)
    assert (benchmark.output, benchmark.records, benchmark.restart) == ("stdout", "last", None)
    assert [tuple(metric) for metric in benchmark.metrics] == [("speed", "higher", "", "speed", None)]
    assert tuple(benchmark.limits) == (85, None, THROTTLE, None)


def test_what_the_module_is_asked():
    assert parse_benchmark(SMALL).module_arguments() == {
        "argv": ["bench", "--json"], "timeout": 600, "environment": {}}
    inside = parse_benchmark(with_(where="lxc:101", chdir="/srv", output="result.json", environment={"A": "1"}))
    assert inside.module_arguments() == {
        "container": "101", "argv": ["bench", "--json"], "timeout": 600, "environment": {"A": "1"}, "chdir": "/srv",
        "output_file": "/srv/result.json"}


def test_the_server_of_a_load_generator_is_on_the_host():
    restart = {"command": ["systemctl", "restart", "vllm"], "ready": {"command": ["curl", "-f", "http://x/"]}}
    assert parse_benchmark(with_(where="controller", restart=restart)).restart.where == "host"
    inside = parse_benchmark(with_(where="lxc:101", restart=restart)).restart
    assert inside.module_arguments() == {
        "container": "101", "argv": ["systemctl", "restart", "vllm"], "timeout": 600, "conditions": False}
    assert inside.ready_arguments() == {
        "container": "101", "argv": ["curl", "-f", "http://x/"], "timeout": 60, "conditions": False}
    elsewhere = parse_benchmark(with_(where="controller", restart={**restart, "where": "lxc:7"})).restart
    assert elsewhere.module_arguments()["container"] == "7"


@pytest.mark.parametrize(("changes", "starts"), [
    ({}, True), ({"where": "lxc:101"}, True), ({"where": "controller"}, False),
    ({"restart": {"command": ["systemctl", "restart", "vllm"]}}, False),
    ({"where": "controller", "starts_workload": True}, True), ({"starts_workload": False}, False)])
def test_who_starts_what_is_measured(changes, starts):
    assert parse_benchmark(with_(**changes)).starts_workload is starts


@pytest.mark.parametrize(("changes", "message"), [
    ({"comand": ["x"]}, "gpuhost_benchmark: unknown key 'comand': did you mean 'command'?"),
    ({"command": "bench --json"}, "gpuhost_benchmark: command: a string, wanted an array"),
    ({"command": []}, "gpuhost_benchmark: command: "),
    ({"where": "ct:101"}, "gpuhost_benchmark: where: 'ct:101' does not match"),
    ({"where": "lxc:0101"}, "gpuhost_benchmark: where: 'lxc:0101' does not match"),
    ({"repetitions": 0}, "gpuhost_benchmark: repetitions: 0 is less than the minimum of 1"),
    ({"environment": {"THREADS": 8}}, "gpuhost_benchmark: environment.THREADS: a number, wanted a string"),
    ({"environment": {"FAST": True}}, "YAML reads an unquoted on, off, yes or no as a boolean: quote it in YAML"),
    ({"metrics": {}}, "gpuhost_benchmark: metrics: "),
    ({"metrics": {"speed": {"json": "a"}}}, "gpuhost_benchmark: metrics.speed: the key 'better' is missing"),
    ({"metrics": {"speed": {"better": "more", "json": "a"}}},
     "gpuhost_benchmark: metrics.speed.better: 'more' is none of higher, lower"),
    ({"metrics": {"speed": {"better": "lower"}}},
     "gpuhost_benchmark: metrics.speed: exactly one of the keys json, pattern is needed"),
    ({"metrics": {"speed": {"better": "lower", "json": "a", "pattern": "(?P<value>1)"}}},
     "gpuhost_benchmark: metrics.speed: exactly one of the keys json, pattern is needed"),
    ({"metrics": {"speed": {"better": "lower", "json": "a["}}},
     "gpuhost_benchmark: metric speed: 'a[' is not a jmespath expression: "),
    ({"metrics": {"speed": {"better": "lower", "pattern": "(?P<value>"}}},
     "gpuhost_benchmark: metric speed: '(?P<value>' is not a regular expression: "),
    ({"metrics": {"speed": {"better": "lower", "pattern": r"(\d+)"}}},
     r"gpuhost_benchmark: metric speed: '(\\d+)' has no group named value: capture the number with (?P<value>...)"),
    ({"valid": "a ="}, "gpuhost_benchmark: valid: 'a =' is not a jmespath expression: "),
    ({"chdir": "here"}, "gpuhost_benchmark: chdir: 'here' is not absolute"),
    ({"output": "result.json"}, "gpuhost_benchmark: output: 'result.json' is not stdout, stderr or an"),
    ({"limits": {"temprature_c": 80}}, "gpuhost_benchmark: limits: unknown key 'temprature_c'"),
    ({"restart": {"command": ["x"], "ready": {"comand": ["y"]}}}, "unknown key 'comand'"),
])
def test_what_cannot_be_meant_is_said_in_one_message(changes, message):
    with pytest.raises(ValueError, match=r".") as raised:
        parse_benchmark(with_(**changes))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_on_the_controller_paths_begin_where_the_command_was_started():
    benchmark = parse_benchmark(with_(where="controller", chdir="load", output="out.json"))
    assert benchmark.module_arguments()["output_file"] == "load/out.json"


def test_a_file_of_the_users(tmp_path, monkeypatch):
    (tmp_path / "mine.yml").write_text(json.dumps(SMALL))
    monkeypatch.chdir(tmp_path)
    assert load_benchmark("mine.yml") == parse_benchmark(SMALL)
    (tmp_path / "mine.yml").write_text("name: x\ncommand: [a]\nmetrics: {a: {better: sideways, json: a}}\n")
    with pytest.raises(ValueError, match=r"mine\.yml: metrics\.a\.better: 'sideways' is none of higher, lower"):
        load_benchmark("mine.yml")
    with pytest.raises(ValueError, match=r"other\.yml: cannot be read: No such file"):
        load_benchmark("other.yml")


def test_it_says_what_it_would_do():
    assert parse_benchmark(with_(where="lxc:101", warm_up=0, repetitions=1)).described() == \
        "1 run that counts of 'small' in lxc:101, at most 600 s each"
    assert parse_benchmark(with_(warm_up=2, timeout=10)).described() == \
        "2 warm-up runs and 5 that count of 'small' on the host, at most 10 s each"
