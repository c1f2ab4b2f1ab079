# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.story_before import story_before


@pytest.fixture
def root(tree):
    return str(story_before(tree, cores=1).root)


def test_without_a_program_it_reads(call, root):
    answer = call("workload", {"sysroot": root, "run_id": "r1"})
    assert (answer["changed"], answer["run_id"], "rc" in answer) == (False, "r1", False)
    assert answer["conditions"]["before"] == answer["conditions"]["after"]
    assert answer["boot_id"] is not None
    assert answer["conditions"]["before"]["boot_id"] == answer["boot_id"]
    assert [gpu["temperature_c"] for gpu in answer["conditions"]["before"]["gpus"]] == [45] * 8


def test_a_program_on_this_machine(call):
    answer = call("workload", {"argv": ["echo", "token hf_aBcDeFgH, 8 threads"],
                               "environment": {"TOKEN": "hf_aBcDeFgH", "THREADS": "8"}})
    assert (answer["changed"], answer["rc"], answer["stdout"]) == (True, 0, "token ********, 8 threads\n")
    assert set(answer["conditions"]) == {"before", "after"}
    if "invocation" in answer:      # ansible-core 2.21 gives it only where it is asked for
        assert answer["invocation"]["module_args"]["environment"] == {"TOKEN": "not shown", "THREADS": "not shown"}


def test_a_number_in_the_environment_hides_no_figure(call):
    answer = call("workload", {"argv": ["echo", '{"speed": 8.5}'], "environment": {"THREADS": "8", "RETRIES": 5},
                               "timeout": 8})
    assert (answer["stdout"], answer["rc"]) == ('{"speed": 8.5}\n', 0)


def test_a_question_that_is_asked_often(call):
    answer = call("workload", {"argv": ["true"], "conditions": False})
    assert ("conditions" in answer, "boot_id" in answer, answer["rc"]) == (False, False, 0)


def test_a_program_that_fails_is_told_with_what_is_known(call):
    answer = call("workload", {"argv": ["sh", "-c", "echo half; exit 4"]})
    assert (answer["failed"], answer["msg"]) == (True, "sh ended with status 4: half")
    assert (answer["rc"], answer["stdout"], answer["changed"]) == (4, "half\n", True)
    assert answer["conditions"]["after"]["boot_id"] is not None


@pytest.mark.parametrize(("arguments", "message"), [
    ({"argv": []}, "argv is empty: give a command, or omit argv to read the state of the host"),
    ({"argv": ["no-such-program"]}, "no-such-program was not found"),
    ({"argv": ["true"], "sysroot": "/no/such"}, "sysroot /no/such is not a directory on this host"),
    ({"argv": ["true"], "container": "4711"}, "container 4711 "),
])
def test_what_cannot_be_run(call, arguments, message):
    answer = call("workload", arguments)
    assert answer["failed"]
    assert answer["msg"].startswith(message)


def test_no_program_is_run_for_a_folder_or_in_check_mode(call, root, tmp_path):
    touch = ["touch", str(tmp_path / "touched")]
    answer = call("workload", {"argv": touch, "sysroot": root})
    assert (answer["skipped"], answer["msg"]) == (True, f"skipped: touch needs a live host, and {root} is a directory")
    answer = call("workload", {"argv": touch}, check=True)
    assert (answer["changed"], answer["msg"]) == (True, "would run touch")
    assert not (tmp_path / "touched").exists()
