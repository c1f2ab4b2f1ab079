# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_bandwidth on what only shows when copies are made as they are used: many, each looked at, and several at once."""
from __future__ import annotations

import json
from itertools import permutations

import pytest

from bandwidth_fixtures import SIZES, A, B, C, hasten, plant
from standin.cuda import Standin, build

D = "0000:61:00.0"
NOTHING_LEFT = dict.fromkeys(("contexts", "peers", "memory", "pinned", "streams", "events", "modules",
                             "misuses"), 0)


@pytest.fixture
def gpus():
    return (A, B, C)


@pytest.fixture
def measure(call, tree, standin, monkeypatch, gpus):
    hasten(monkeypatch, plant(tree, gpus))

    def run(*behaviour, library=standin, **arguments):
        library.gpus(*gpus).does(*behaviour)
        return call("gpu_bandwidth", {"library": str(library.path), "sizes": SIZES, "run_id": "r1", "timeout": 20,
                                      **arguments})
    return run


def groups(result):
    return {group["name"]: group for group in result["concurrent"]}


def test_everything_is_given_back(measure, standin):
    result = measure(concurrent=True)
    assert {one["verdict"] for one in [*result["gpus"], *result["pairs"], *result["concurrent"]]} == {"healthy"}
    assert list(groups(result)) == [
        f"host <-> {A}", f"host <-> {B}", f"host <-> {C}", f"{A} <-> {B}", f"{A} <-> {C}", f"{B} <-> {C}", "shift by 1",
        "shift by 2", *(f"{one} -> {other} by a kernel" for one, other in permutations((A, B, C), 2))]
    assert standin.left() == NOTHING_LEFT


# -- every copy is looked at -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source, target, copied", [("host", A, "h2d"), (A, A, "d2d"), (A, "host", "d2h")])
def test_data_that_is_spoiled_now_and_then_is_found(measure, source, target, copied):
    """Every third copy, and never the last one of a reading alone."""
    gpu, = measure(f"flip {source} {target} 100 2 3", devices=[A], pairs=False)["gpus"]
    assert gpu["verdict"] == "wrong_data"
    assert copied in {one["copied"] for one in gpu["wrong"]}
    wrong = next(one for one in gpu["wrong"] if one["copied"] == copied)
    assert (wrong["first_offset"], wrong["wrong_bytes"]) == (100, 2)
    if copied != "d2h":     # what is fetched back to be looked at counts as d2h too
        assert [one["copied"] for one in gpu["wrong"]] == [copied]
        assert abs(wrong["wrong_copies"] - wrong["copies"] / 3) <= 1


def test_data_that_is_spoiled_now_and_then_between_two_gpus_is_found_in_every_step_that_they_are_in(measure):
    result = measure(f"flip {A} {B} 0 1 3", concurrent=True)
    bad = {f"{pair['from']} -> {pair['to']}" for pair in result["pairs"] if pair["verdict"] == "wrong_data"}
    bad |= {name for name, group in groups(result).items() if group["verdict"] == "wrong_data"}
    # A pair that is not sound is not copied by kernels.
    assert bad == {f"{A} -> {B}", f"{B} -> {A}", f"{A} <-> {B}", "shift by 1"}
    assert not {f"{A} -> {B} by a kernel", f"{B} -> {A} by a kernel"} & set(groups(result))
    assert {gpu["verdict"] for gpu in result["gpus"]} == {"healthy"}
    assert groups(result)[f"{A} <-> {B}"]["said"].startswith(f"{A} -> {B}: ")


# -- a latency is one --------------------------------------------------------------------------------------------------


def test_a_latency_is_that_of_the_copy_and_not_of_the_call(measure):
    """A call takes 30 us, a copy of a few bytes 2."""
    pair, *_rest = measure("launch 30", devices=[A, B])["pairs"]
    assert pair["write"]["latency_us"] == pytest.approx(2.0, abs=0.01)
    # In a stream that is not held a copy begins when it is called.
    assert pair["write"]["by_size"][0]["gb_s"] < 65536 / 30e-6 / 1e9


@pytest.mark.parametrize("behaviour, words", [
    ("on cuStreamWaitValue32_v2 1 error 801", "CUDA_ERROR_NOT_SUPPORTED"),
    ("on cuMemHostGetDevicePointer_v2 1 error 801", "CUDA_ERROR_NOT_SUPPORTED")])
def test_without_a_hold_there_is_no_latency(measure, standin, behaviour, words):
    result = measure(behaviour, devices=[A, B], concurrent=True)
    assert result["pairs"][0]["verdict"] == "healthy"
    assert words in result["pairs"][0]["write"]["latency_why"]
    assert result["pairs"][0]["write"]["latency_us"] is None
    assert {group["verdict"] for group in result["concurrent"]} == {"healthy"}
    assert standin.left() == NOTHING_LEFT


def test_a_library_without_the_function_is_measured_without_a_latency(measure, tmp_path):
    folder = tmp_path / "older"
    folder.mkdir()
    older = Standin(build(tmp_path, without=("cuStreamWaitValue32_v2", "cuDeviceGetP2PAttribute")), folder)
    result = measure(library=older, devices=[A, B])
    pair = result["pairs"][0]
    assert (pair["verdict"], pair["performance_rank"], pair["write"]["latency_us"]) == ("healthy", None, None)
    assert pair["write"]["latency_why"] == ("a stream cannot be blocked until all copies are queued: the driver "
                                            "library lacks "
                                            "cuStreamWaitValue32_v2")
    assert older.left() == NOTHING_LEFT


# -- copies at once ----------------------------------------------------------------------------------------------------


def test_a_detour_shows_only_both_ways(measure):
    """Copies between A and B go up to the root and down again, over one link for both directions."""
    up = ("link up 45", f"path {A} {B} up", f"path {B} {A} up")
    result = measure(*up, concurrent=True)
    one_way = next(pair for pair in result["pairs"] if (pair["from"], pair["to"]) == (A, B))["write"]["gb_s"]
    both = groups(result)
    assert both[f"{A} <-> {B}"]["gb_s"] == pytest.approx(one_way, rel=0.15)
    assert both[f"{A} <-> {C}"]["gb_s"] == pytest.approx(2 * one_way, rel=0.1)


@pytest.mark.parametrize("gpus", [(A, B, C, D)])
def test_a_collapse_shows_only_when_two_gpus_of_a_switch_write_to_two_roots(measure, gpus):
    """A and B share a switch, whose uplink collapses when both write, one to the root of C and one to that of D."""
    behaviour = ["rate peer 52", "link up 52", "collapse up 2 6", f"root {C} c", f"root {D} d"]
    behaviour += [f"path {one} {other} up" for one in (A, B) for other in (C, D)]
    found = groups(measure(*behaviour, concurrent=True))
    # By 2: A writes to C and B to D. By 1 only B leaves the switch, by 3 only A.
    collapsed = {(flow["from"], flow["to"]): flow["gb_s"] for flow in found["shift by 2"]["flows"]}
    assert collapsed[A, C] < 7 and collapsed[B, D] < 7 < collapsed[C, A]
    for name in ("shift by 1", "shift by 3", f"{A} <-> {C}", f"{B} <-> {D}"):
        assert min(flow["gb_s"] for flow in found[name]["flows"]) > 35, name


def test_a_hang_of_both_ways_is_one_of_that_step(measure, tree):
    """Two copies at once on one link never end."""
    result = measure(f"path {A} {C} up", f"path {C} {A} up", "jam up 2", concurrent=True, timeout=4)
    assert {pair["verdict"] for pair in result["pairs"]} == {"healthy"}
    found = groups(result)
    assert found[f"{A} <-> {C}"]["verdict"] == "hang"
    assert found[f"{A} <-> {C}"]["said"] == "no response within 4 s at 2 concurrent copies of 262144 bytes"
    assert found[f"{A} <-> {B}"]["verdict"] == "healthy"
    assert sorted(json.loads(tree.path("/run/gpuhost/hung.json").read_text())) == [A, C]
    assert [entry["subject"] for entry in result["not_measured"]] == [f"{B} <-> {C}", "shift by 1", "shift by 2"]


def test_pairs_without_peer_access_take_no_part_in_a_shift(measure):
    found = groups(measure(f"no_peer {A} {B}", concurrent=True))
    assert found[f"{A} <-> {B}"]["verdict"] == "unsupported"
    assert [(flow["from"], flow["to"]) for flow in found["shift by 1"]["flows"]] == [(B, C), (C, A)]
    assert found["shift by 1"]["said"].endswith(f"; left out: the driver allows no peer access from {A} to {B}")


def test_copies_by_kernels(measure, standin):
    group = groups(measure(f"rate {A} {B} 20", concurrent=True))[f"{A} -> {B} by a kernel"]
    rate = 262144 / (2e-6 + 262144 / 20e9) / 1e9
    assert group["kind"] == "by_kernel"
    assert group["flows"] == [{"from": A, "to": B, "gb_s": pytest.approx(rate, rel=0.01)}]
    assert standin.left() == NOTHING_LEFT


def test_copies_by_kernels_are_looked_at_too(measure):
    found = groups(measure(f"flip {A} {B} 0 1", concurrent=True, steps=[f"{A} -> {B} by a kernel"]))
    assert found[f"{A} -> {B} by a kernel"]["verdict"] == "wrong_data"


@pytest.mark.parametrize("behaviour, reason", [
    ("on cuModuleLoadData 1 error 221", "the driver failed to compile the kernel: cuModuleLoadData: "
                                        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND (PTX JIT compiler library not found)"),
    ("on cuModuleLoadData 1 error 218", "the driver failed to compile the kernel: cuModuleLoadData: "
                                        "CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed)")])
def test_a_driver_that_compiles_no_kernel_leaves_them_out_and_says_so(measure, standin, behaviour, reason):
    result = measure(behaviour, concurrent=True)
    assert result["not_measured"] == [{"subject": "copies by a kernel", "reason": reason}]
    assert {group["kind"] for group in result["concurrent"]} == {"host_both_ways", "both_ways", "shift"}
    assert standin.left() == NOTHING_LEFT


def test_only_the_steps_that_are_named(measure):
    result = measure(concurrent=True, steps=[B, f"{C} -> {A}", f"host <-> {C}", "shift by 2"])
    assert [gpu["bdf"] for gpu in result["gpus"]] == [B]
    assert [(pair["from"], pair["to"]) for pair in result["pairs"]] == [(C, A)]
    assert list(groups(result)) == [f"host <-> {C}", "shift by 2"]


def test_a_step_that_there_is_none_of(measure):
    message = measure(steps=[A, "shift by 1"])["msg"]
    assert message.startswith(f"steps: shift by 1: unknown steps; the steps are {A}, {B}, ")


def test_a_gpu_with_instances_is_left_out_before_it_is_opened(measure, tree):
    """The driver's folders tell it where nvidia-smi cannot be run: a suspended GPU would be woken by it."""
    tree.file("/proc/driver/nvidia/capabilities/gpu1/mig/gi3/access", "DeviceFileMinor: 30")
    tree.file("/proc/driver/nvidia/capabilities/gpu2/mig/config", "DeviceFileMinor: 1")
    result = measure("on cuDeviceGetByPCIBusId 3 abort", pairs=False)
    assert [gpu["bdf"] for gpu in result["gpus"]] == [A, C]
    assert result["not_measured"][0] == {"subject": B, "reason": "MIG is enabled"}


def test_a_gpu_that_is_split_up_is_left_out_without_nvidia_smi(measure):
    result = measure(f"mig {B}", devices=[A, B])
    assert [gpu["bdf"] for gpu in result["gpus"]] == [A]
    assert result["not_measured"][0] == {"subject": B, "reason": "MIG is enabled"}
