# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts, ok


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1 << 64, -(1 << 64)])
def test_a_number_that_no_kernel_has_is_no_value(value):
    assert as_facts(ok(value)) == {"status": "unparsable", "value": None}


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_nor_is_it_one_within_a_fact(value):
    assert json.dumps(as_facts({"seconds": [value, 1.5]}), allow_nan=False) == '{"seconds": [null, 1.5]}'


def test_numbers_stay_as_they_are():
    assert as_facts(ok(1.5)) == {"status": "ok", "value": 1.5}
    assert as_facts(ok(True)) == {"status": "ok", "value": True}
    assert as_facts(ok((1 << 64) - 1)) == {"status": "ok", "value": (1 << 64) - 1}
