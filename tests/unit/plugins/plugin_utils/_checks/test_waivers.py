# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.waivers import Waiver, parse_waivers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError

GOOD = {"check": "numa_balancing", "reason": " agreed ", "expires": "2026-12-31"}


def test_a_waiver_of_every_host_and_subject():
    assert parse_waivers([GOOD]) == [Waiver("numa_balancing", None, None, "agreed", datetime.date(2026, 12, 31))]


@pytest.mark.parametrize("day", ["2026-12-31", datetime.date(2026, 12, 31), datetime.datetime(2026, 12, 31, 8, 0)])
def test_yaml_may_have_made_a_date_of_the_day(day):
    assert parse_waivers([{**GOOD, "expires": day}])[0].expires == datetime.date(2026, 12, 31)


@pytest.mark.parametrize("given, message", [
    (GOOD, "gpuhost_waivers: must be a list of {check, subject, host, reason, expires}"),
    ("numa_balancing", "gpuhost_waivers: must be a list of {check, subject, host, reason, expires}"),
    ([GOOD, "x"], "gpuhost_waivers: number 2: 'x' is not a mapping of check, subject, host, reason, expires"),
    ([{**GOOD, "expire": "x"}], "gpuhost_waivers: number 1: unknown key 'expire': did you mean 'expires'?"),
    ([{"reason": "r", "expires": "2026-12-31"}], "gpuhost_waivers: number 1: the key 'check' is missing"),
    ([{**GOOD, "check": "numa_balanced"}],
     "gpuhost_waivers: number 1: there is no check 'numa_balanced': did you mean 'numa_balancing'?"),
    ([{**GOOD, "subject": 2460.0}],
     "gpuhost_waivers: check numa_balancing: subject: 2460.0 is not text: quote it in YAML"),
    ([{**GOOD, "host": 7}], "gpuhost_waivers: check numa_balancing: host: 7 is not text: quote it in YAML"),
    ([{**GOOD, "reason": " "}], "gpuhost_waivers: check numa_balancing: reason: a waiver needs a reason"),
    ([{"check": "numa_balancing", "expires": "2026-12-31"}],
     "gpuhost_waivers: check numa_balancing: reason: a waiver needs a reason"),
    ([{"check": "numa_balancing", "reason": "r"}],
     "gpuhost_waivers: check numa_balancing: expires: None is not a date like 2026-12-31"),
    ([{**GOOD, "expires": "2026-02-30"}],
     "gpuhost_waivers: check numa_balancing: expires: '2026-02-30' is not a date like 2026-12-31"),
    ([{**GOOD, "expires": 20261231}],
     "gpuhost_waivers: check numa_balancing: expires: 20261231 is not a date like 2026-12-31"),
])
def test_a_mistake_is_one_message(given, message):
    with pytest.raises(CatalogueError) as caught:
        parse_waivers(given, ["numa_balancing"])
    assert str(caught.value) == message
