# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from hypothesis import given
from hypothesis import strategies as st

CPUS = st.sets(st.integers(0, 8191), max_size=300)


@pytest.mark.parametrize(("text", "cpus"), [
    ("", []),
    ("\n", []),
    ("0", [0]),
    ("0-3,8", [0, 1, 2, 3, 8]),
    ("7,0-1", [0, 1, 7]),
    ("3-3", [3]),
    ("1-2,2-3", [1, 2, 3]),
    (" 0-1 \n", [0, 1]),
])
def test_lists(text, cpus):
    assert parse_cpulist(text) == cpus


def test_the_gap_of_an_offline_cpu():
    cpus = parse_cpulist("0-238,240-255")
    assert len(cpus) == 255
    assert 239 not in cpus


@pytest.mark.parametrize("text", [
    "a", "1,", ",1", "1-", "-1", "3-1", "1--2", "1-2-3", "0x1", "1 2", "0-9999999999", "65536", "٣", "²", "1,,2"])
def test_other_text_is_an_error_that_shows_it(text):
    with pytest.raises(ValueError) as caught:
        parse_cpulist(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(("cpus", "text"), [
    ([], ""),
    ([5], "5"),
    ([0, 1, 2, 3, 8], "0-3,8"),
    ([8, 3, 2, 3], "2-3,8"),
    ([77, 140, 12], "12,77,140"),
])
def test_shortest_text(cpus, text):
    assert format_cpulist(cpus) == text


@given(CPUS)
def test_there_and_back(cpus):
    assert parse_cpulist(format_cpulist(cpus)) == sorted(cpus)


@given(st.text(alphabet="0123456789-, \n", max_size=30))
def test_any_text_is_a_list_or_a_value_error(text):
    try:
        cpus = parse_cpulist(text)
    except ValueError:
        return
    assert cpus == sorted(set(cpus))


def test_public_lists_agree(field_files):
    """What lscpu prints as ranges, numactl -H prints one by one."""
    lscpu, numactl = (
        dict(line.split(":", 1) for line in (field_files / "numa" / name).read_text().splitlines() if ":" in line)
        for name in ("rtxpro6000x8_esc8000a-e13p__lscpu_offline-cpu239.txt",
                     "rtxpro6000x8_esc8000a-e13p__numactl-H_offline-cpu239.txt"))
    for node in (0, 1):
        ranges = lscpu[f"NUMA node{node} CPU(s)"].strip()
        single = [int(cpu) for cpu in numactl[f"node {node} cpus"].split()]
        assert parse_cpulist(ranges) == single
        assert format_cpulist(single) == ranges
