# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make gpu-check, on the stand-in: its parts, but for the playbooks, which take minutes."""
from __future__ import annotations

import argparse

import pytest
from gpu_check import __main__ as gpu_check
from gpu_check.compare import compare, unproven

A, B = "0000:01:00.0", "0000:21:00.0"


@pytest.fixture
def check(standin, tmp_path):
    return gpu_check.Check(argparse.Namespace(library=str(standin.gpus(A, B).path), sysroot=str(tmp_path),
                                              report_dir=str(tmp_path / "reports")))


def test_which_functions_the_library_has(check):
    found = check._probe("functions")
    assert found["cuInit"] == "cuInit"
    assert found["cuEventElapsedTime"] == "cuEventElapsedTime_v2"


def test_a_process_that_waits_in_the_driver_is_killed_and_the_gpu_answers(check, monkeypatch):
    monkeypatch.setattr(gpu_check, "HANG_LIMIT", 1.5)
    assert check._hang([A]) == {"limit": 1.5, "after": f"and {A} answers"}


@pytest.mark.parametrize("behaviour, words", [
    ("on cuStreamWaitValue32_v2 1 error 801", "the process did not wait: a stream cannot be blocked until all copies "
                                              "are queued"),
    ("on cuInit 1 error 100", "the process did not wait: ")])
def test_a_process_that_does_not_wait_proves_nothing(check, standin, behaviour, words):
    standin.does(behaviour)
    with pytest.raises(gpu_check.Problem, match=words):
        check._hang([A])


def test_a_copy_is_what_the_smallest_experiment_measures(check, monkeypatch):
    # 1 MiB at 50 GB/s, and 2 us before it.
    assert check._probe("copy", A)["gb_s"] == pytest.approx((1 << 20) / (2e-6 + (1 << 20) / 50e9) / 1e9, rel=0.01)


def test_a_part_that_fails_leaves_the_others(check, capsys):
    assert gpu_check.part("hang", lambda: check._hang([])) == {"problem": "no GPU was measured"}
    assert capsys.readouterr().out == "hang ...\n"
    with pytest.raises(gpu_check.Problem, match=r"python.* ended with status 1: .*cannot be used"):
        gpu_check.call([gpu_check.sys.executable, str(gpu_check.PROBE), "answers", "libcuda-of-nobody.so.1", A], 30)


def gpu(**rates):
    return {"bdf": A, "verdict": "healthy", **{way: rates.get(way) and {"gb_s": rates[way]} for way in (
        "h2d", "d2h", "d2d")}}


def test_our_figures_beside_those_of_nvbandwidth():
    pair = {"from": A, "to": B, "verdict": "healthy", "read": None, "write": {"gb_s": 45.0, "latency_us": 1.5}}
    ours = {"gpus": [gpu(h2d=55.0, d2h=50.0, d2d=1500.0)], "pairs": [pair], "concurrent": [], "stopped": None}
    theirs = {"gpus": [gpu(h2d=50.0, d2h=50.0)], "pairs": [{**pair, "write": {"gb_s": 50.0}}]}
    compared = compare(ours, theirs)
    assert compared == [
        {"what": f"{A} h2d", "ours": 55.0, "nvbandwidth": 50.0, "percent": 110.0},
        {"what": f"{A} d2h", "ours": 50.0, "nvbandwidth": 50.0, "percent": 100.0},
        {"what": f"{A} -> {B} write", "ours": 45.0, "nvbandwidth": 50.0, "percent": 90.0}]
    lines = unproven({
        "functions": {"cuInit": "cuInit", "cuNew": None}, "bandwidth": ours, "nvbandwidth": theirs,
        "comparison": [*compared, {"percent": 80.0}], "hang": {"limit": 5, "after": "and it answers"},
        "audit": {"failing": "1 P1"}, "experiment": {"problem": "no GPU was measured"}})
    assert lines == [
        "functions: 1 of 2 are there; missing: cuNew", "bandwidth: 2 healthy", "latency in a held stream: 1.5 us",
        "nvbandwidth: 4 figures compared, 1 more than 10 % apart",
        "hang: a process that waits in the driver was killed after 5 s, and it answers", "audit: 1 P1",
        "experiment: no GPU was measured"]
