# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.result import (
    empty_gpu,
    empty_pair,
    gpu_record,
    group_record,
    pair_record,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.steps import order

A, B, C, D = (f"0000:{bus}:00.0" for bus in ("01", "21", "41", "61"))
DIRECTION = {"gb_s": 50.5, "settled": True, "by_size": [{"bytes": 4096, "gb_s": 50.5, "settled": True}]}
PEER = {**DIRECTION, "latency_us": 2.5}
GPU = {"name": "a GPU", "uuid": "GPU-1", "numa_node": 0, "bound": True, "sizes": [4096], "h2d": DIRECTION,
       "d2h": DIRECTION, "d2d": DIRECTION, "link": {"speed_gt_s": 32.0, "width": 16}, "wrong": []}
PAIR = {"can_access": True, "enabled": True, "performance_rank": 0, "native_atomics": False, "sizes": [4096],
        "read": PEER, "write": PEER, "wrong": []}
LINK = {"speed_gt_s": 32.0, "width": 16}


def judge(**changed):
    """`link_expected` is what both ends can do; everything else is in the answer of the child."""
    expected = changed.pop("link_expected", LINK)
    return gpu_record(empty_gpu({"bdf": A, "uuid": None, "link_expected": expected}), {**GPU, **changed})


@pytest.mark.parametrize("changed, verdict", [
    ({}, "healthy"),
    ({"link": {"speed_gt_s": 16.0, "width": 16}}, "slow"),
    ({"link": {"speed_gt_s": 32.0, "width": 8}}, "slow"),
    ({"link": None}, "healthy"),
    ({"link": {"speed_gt_s": 16.0, "width": 16}, "link_expected": None}, "healthy"),
    ({"d2h": {**DIRECTION, "settled": False}}, "inconclusive"),
    ({"sizes": []}, "inconclusive"),
    ({"wrong": [{"copied": "h2d, d2d and d2h", "first_offset": 8, "wrong_bytes": 1, "bytes": 4096}]}, "wrong_data"),
])
def test_verdict_of_a_gpu(changed, verdict):
    assert judge(**changed)["verdict"] == verdict


def test_wrong_data_counts_more_than_anything_else():
    wrong = [{"copied": "d2h", "first_offset": 8, "wrong_bytes": 1, "bytes": 4096}]
    assert judge(wrong=wrong, link={"speed_gt_s": 2.5, "width": 1})["verdict"] == "wrong_data"


def test_a_pair_is_never_slow_here():
    """What it should be follows from the path, which the controller knows."""
    slow = {**PEER, "gb_s": 0.1}
    assert pair_record(empty_pair(A, B), {**PAIR, "read": slow, "write": slow})["verdict"] == "healthy"


def break_at(document, path, value):
    broken = copy.deepcopy(document)
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return broken


@pytest.mark.parametrize("path, value", [
    (("h2d", "gb_s"), "fast"), (("h2d", "gb_s"), float("nan")), (("h2d", "gb_s"), -1), (("h2d", "gb_s"), True),
    (("h2d",), None), (("h2d", "by_size"), 5), (("numa_node",), "zero"), (("name",), ["x"]), (("link", "width"), None),
    (("wrong",), [{"copied": "d2h"}]), (("h2d", "by_size"), [{"bytes": 1.5, "gb_s": 1, "settled": True}]),
])
def test_an_answer_of_another_form_is_refused(path, value):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        gpu_record(empty_gpu({"bdf": A, "uuid": None, "link_expected": LINK}), break_at(GPU, path, value))


@pytest.mark.parametrize("path, value", [(("read", "latency_us"), None), (("performance_rank",), "best"),
                                         (("wrong",), "none")])
def test_so_is_that_of_a_pair(path, value):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        pair_record(empty_pair(A, B), break_at(PAIR, path, value))


def test_one_gpu_then_a_second_then_their_pair_then_the_rest():
    steps = [step.bdfs for step in order([A, B, C, D], pairs=True)]
    assert steps[:3] == [(A,), (B,), (A, B)]
    assert steps[3:5] == [(C,), (D,)]
    assert len(steps) == len(set(steps)) == 4 + 12
    assert [step.bdfs for step in order([A], pairs=True)] == [(A,)]
    assert [step.bdfs for step in order([A, B], pairs=False)] == [(A,), (B,)]


def test_copies_at_once_come_last_and_from_few_to_many():
    steps = list(order([A, B, C], pairs=True, concurrent=True))[3 + 6:]
    kernels, steps = steps[-6:], steps[:-6]
    assert [step.name for step in kernels[:2]] == [f"{A} -> {B} by a kernel", f"{A} -> {C} by a kernel"]
    assert {step.request["step"] for step in kernels} == {"kernel"}
    assert [step.name for step in steps] == [
        f"host <-> {A}", f"host <-> {B}", f"host <-> {C}", f"{A} <-> {B}", f"{A} <-> {C}", f"{B} <-> {C}", "shift by 1",
        "shift by 2"]
    assert steps[-1].request == {"step": "pairs", "pairs": [(A, C), (B, A), (C, B)]}
    # Of two GPUs the only shift is both ways of their pair.
    assert [step.name for step in order([A, B], pairs=True, concurrent=True)][4:] == [
        f"host <-> {A}", f"host <-> {B}", f"{A} <-> {B}", f"{A} -> {B} by a kernel", f"{B} -> {A} by a kernel"]
    assert [step.name for step in order([A], pairs=False, concurrent=True)] == [A, f"host <-> {A}"]


def group(**changed):
    step = next(step for step in order([A, B, C], pairs=True, concurrent=True) if step.name == "shift by 1")
    return group_record(step.group, {"sizes": [4096], "gb_s": 90.0, "ways": [30.0, 29.0, 31.0], "settled": True,
                                     "missing": [], "copies": 12, "wrong": [], **changed})


def test_copies_at_once_have_a_sum_and_a_figure_each():
    found = group()
    assert (found["verdict"], found["gb_s"], found["copies"]) == ("healthy", 90.0, 12)
    assert found["flows"] == [{"from": A, "to": B, "gb_s": 30.0}, {"from": B, "to": C, "gb_s": 29.0},
                              {"from": C, "to": A, "gb_s": 31.0}]
    assert found["said"] == ("90 GB/s together, the slowest 29, and the data of all 12 copies was correct")


def test_a_pair_without_peer_access_takes_no_part():
    found = group(missing=[[B, C]], ways=[30.0, 31.0])
    assert [flow["gb_s"] for flow in found["flows"]] == [30.0, 31.0]
    assert found["said"].endswith(f"; left out: the driver allows no peer access from {B} to {C}")
    assert group(missing=[[B, C], [C, A]], ways=[30.0])["verdict"] == "unsupported"


@pytest.mark.parametrize("changed", [{"ways": [1.0]}, {"ways": None}, {"gb_s": "much"}, {"missing": [[1, 2]]},
                                     {"missing": ["x"]}, {"wrong": "none"}, {"copies": -1}])
def test_an_answer_of_another_form_is_refused_for_copies_at_once_too(changed):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        group(**changed)
