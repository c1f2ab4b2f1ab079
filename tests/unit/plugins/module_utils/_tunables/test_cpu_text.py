# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.cpulist import format_cpulist
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables import cpu_text

LISTS = st.sets(st.integers(0, 511), min_size=1, max_size=8).map(format_cpulist)


@pytest.mark.parametrize(("given", "normal"), [
    ("0-31", "0-31"), (5, "5"), ("3,1,0-2", "0-3"), ("0-3\n", "0-3"), ("none", "none"),
    ("0-63 4711=4", "0-63 4711=4"), ("0-63  20=1 9=4", "0-63 9=4 20=1"),
    ("0-63 9=0-63", "0-63"), ("0-7 ns=1", "0-7 ns=1"), ("none ns=0-3", "none ns=0-3"), ("0-7 ns=0-7", "0-7"),
])
def test_normal_form(given, normal):
    assert cpu_text.parse_value(given) == normal


@pytest.mark.parametrize("given", [
    "", " ", "\n", True, None, 1.5, ["0-3"], "all", "0-", "3-1", "-1", "0x3", "0 1", "0-3 x=1", "0-3 =1", "0-3 9=",
    "0-3 09=1", "0-3 9=1 9=2", "0-3 9=none", "none 9=1", "0-3 9=1 ns=2", "0-3 ns=none", "0-70000",
    "0-3 mon=1", "0-3\x00",
])
def test_what_is_no_list_of_cpus(given):
    with pytest.raises(ValueError):
        cpu_text.parse_value(given)


@hypothesis.given(LISTS, st.dictionaries(st.integers(1, 1 << 22).map(str), LISTS, max_size=5))
def test_text_and_back(general, others):
    made = cpu_text.make(general, others)
    again = cpu_text.parse(made.text())
    assert again == made
    assert {name: again.of(name) for name in others} == others
