# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan import health
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import recheck

from neutral_facts import epyc, ok

GPU = epyc()["gpus"][0]["bdf"]


def test_a_device_that_is_worse_off_than_before_the_run():
    before = {"guard": health.observe(epyc())}
    after = copy.deepcopy(epyc())
    assert recheck.harm(before, after) == []
    after["gpus"][0]["driver"] = None
    assert recheck.harm(before, after) == [f"{GPU}: its driver was nvidia and is none"]


@pytest.mark.parametrize(("reading", "message"), [
    (ok("4096\t87380 6291456"), []),
    (ok("4096 87380 212992"), ["and is 4096 87380 212992 now"]),
    ({"status": "denied", "value": None}, ["and is not readable now: denied"]),
])
def test_a_value_that_is_another_now(reading, message):
    facts = {"tunables": {"sysctl:net.ipv4.tcp_rmem": reading}}
    assert recheck.drift({"sysctl:net.ipv4.tcp_rmem": "4096 87380 6291456"}, facts) == [
        f"sysctl:net.ipv4.tcp_rmem: was set to 4096 87380 6291456, {text}" for text in message]


def test_numbers_and_values_that_were_not_answered():
    assert recheck.drift({"pcie_maxreadreq:0000:41:00.0": 4096}, {"tunables": {
        "pcie_maxreadreq:0000:41:00.0": ok(4096)}}) == []
    assert recheck.drift({"sysctl:vm.swappiness": "10"}, {"tunables": {}}) == [
        "sysctl:vm.swappiness: was set to 10, and is not readable now: absent"]
