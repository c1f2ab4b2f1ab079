# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All runs of a benchmark, whatever comes between them, and a command that runs on the controller."""
from __future__ import annotations

import json

import jsonschema
import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.definition import parse_benchmark
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.executor import executor
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.series import Series
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError

from checkout import REPOSITORY

SCHEMA = json.loads((REPOSITORY / "plugins" / "plugin_utils" / "schemas" / "benchmark.json").read_text())
RUN = "20261130T010203Z-00ff"
STATE = {"boot_id": "b1", "load1": 0.5, "thp": "madvise", "governor": "performance", "memory_available_mib": 9,
         "users": [], "gpus": []}


def benchmark(**changes):
    return parse_benchmark({"name": "small", "command": ["bench"], "warm_up": 1, "repetitions": 2, "metrics": {
        "speed": {"json": "speed", "better": "higher", "unit": "tok/s"}}, **changes})


def answer(speed, boot="b1", load=0.5):
    state = {**STATE, "boot_id": boot, "load1": load}
    return {"rc": 0, "stdout": json.dumps({"speed": speed}), "stderr": "", "seconds": 1.5,
            "started": "2026-11-30T00:00:00Z", "conditions": {"before": state, "after": state}}


class Host:
    """Answers to each run with the next of `answers`; an error is raised."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def __call__(self, _arguments):
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def series(tmp_path):
    """Makes a series of this benchmark whose lines are kept in `said`."""
    def make(loud=False, **changes):
        made = Series(benchmark(**changes), tmp_path / "pve1", RUN, message.append, loud=loud)
        made.message = message
        return made

    message: list[str] = []
    return make


def record(tmp_path):
    document = json.loads((tmp_path / "pve1" / "benchmark.json").read_text())
    jsonschema.validate(document, SCHEMA)
    return document


def test_all_runs(series, tmp_path):
    made = series(loud=True)
    made.measure(Host(answer(90), answer(100), answer(110)))
    assert made.message[0] == "pve1: run 1: speed 90 tok/s (warm-up)"
    assert made.message[1] == "pve1: run 2: speed 100 tok/s"
    assert made.answer()["summary"] == {"speed": {"median": 105, "low": 100, "high": 110, "runs": 2}}
    assert record(tmp_path)["stopped"] is None


def test_a_reboot_in_between_ends_it(series, tmp_path):
    made = series()
    with pytest.raises(ValueError, match=r"^the host was rebooted between run 1 and run 2: "):
        made.measure(Host(answer(90), answer(100, boot="b2"), answer(110)))
    document = record(tmp_path)
    assert document["stopped"].startswith("the host was rebooted between run 1 and run 2: ")
    assert len(document["runs"]) == 2


@pytest.mark.parametrize(("lost", "message"), [
    (ConnectionError("the host via ssh"), "ConnectionError: the host via ssh"),
    (KeyboardInterrupt(), "it was interrupted"), (RecordError("disk full"), "RecordError: disk full")])
def test_what_was_measured_until_then_is_kept(series, tmp_path, lost, message):
    made = series()
    with pytest.raises(type(lost)):
        made.measure(Host(answer(90), answer(100), lost))
    document = record(tmp_path)
    assert (document["stopped"], document["summary"]["speed"]["runs"]) == (message, 1)
    assert f"record: {made.path()}" in made.message[-1]


def test_the_record_of_a_run_is_whole_while_the_next_one_runs(series, tmp_path):
    seen = []

    def execute(_arguments):
        path = tmp_path / "pve1" / RUN / "benchmark.json"
        seen.append(json.loads(path.read_text()) if path.exists() else None)
        return answer(100)

    series().measure(execute)
    assert seen[0] is None
    assert [(len(document["runs"]), document["stopped"]) for document in seen[1:]] == [
        (1, "still running"), (2, "still running")]


def test_a_first_run_that_cannot_be_started_is_kept_too(series, tmp_path):
    with pytest.raises(ValueError, match=r"container 101 is not running"):
        series().measure(Host({"failed": True, "msg": "container 101 is not running: start it"}))
    document = record(tmp_path)
    assert (document["measured_at"], document["boot_id"], document["runs"][0]["raw"]) == (None, None, None)
    assert document["stopped"] == "run 1 of 'small': container 101 is not running: start it"


def test_no_run_that_counts_is_a_failure(series):
    made = series(limits={"load1": 1})
    made.measure(Host(answer(90), answer(100, load=3), answer(110, load=4)))
    message = made.answer()
    assert message["failed"]
    assert message["msg"] == ("no run of 'small' counts: the load was 3 before it, the limit is 1; "
                              "the load was 4 before it, the limit is 1. Wait, or change the limits")
    assert (message["runs"], message["discarded"], message["summary"]) == (3, 2, {})


# -- on the controller -------------------------------------------------------------------------------------------------

def ask(arguments):
    assert arguments == {}, "the host is only asked how it is doing"
    return {"conditions": {"before": STATE, "after": STATE}}


def here(ask, *argv, **more):
    return executor("controller", ask)({"argv": list(argv), "timeout": 30, **more})


def test_the_host_is_asked_before_and_after(tmp_path):
    found = here(ask, "pwd", chdir=str(tmp_path), environment={})
    assert (found["stdout"], found["conditions"]) == (f"{tmp_path}\n", {"before": STATE, "after": STATE})
    assert "failed" not in found
    assert "conditions" not in here(None, "true", conditions=False)


def test_a_command_on_the_controller_that_fails(tmp_path):
    found = here(ask, "sh", "-c", "echo half; exit 3")
    assert (found["failed"], found["msg"], found["stdout"]) == (True, "sh ended with status 3: half", "half\n")
    assert here(ask, "no-such-program")["msg"].startswith("no-such-program was not found")


def test_a_host_that_cannot_be_asked():
    failed = {"failed": True, "msg": "sysroot /x is not a directory on this host"}
    assert here(Host(failed), "true") == failed
    found = here(Host(ask({}), failed), "true")
    assert (found["failed"], found["msg"], found["conditions"]["after"]) == (True, failed["msg"], None)


def test_elsewhere_the_module_is_asked():
    assert executor("lxc:101", ask) is ask
