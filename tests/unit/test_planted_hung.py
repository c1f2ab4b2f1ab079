# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host on which a GPU hung during a measurement: what the plan leaves out then."""
from __future__ import annotations

import copy

from hosts.sick import sick
from hosts.story_before import GPUS
from verdicts import judged, skipped

HUNG = "hung at 2026-11-30T03:00:00Z during a measurement (run r9, d2h): it is not touched until the host is rebooted"


def planned(facts, check):
    return {subject for (name, subject), found in judged(facts).items() if name == check and found["fix"]["planned"]}


def test_the_plan_leaves_a_gpu_that_hung_alone(facts_of):
    facts = copy.deepcopy(facts_of(sick))
    before = planned(facts, "pcie_maxreadreq")
    hung = min(before)
    facts["nvidia"]["hung"] = {"status": "ok", "value": [
        {"bdf": hung, "since": "2026-11-30T03:00:00Z", "run_id": "r9", "what": "d2h"}]}
    assert len(GPUS) >= len(before) > 1
    assert planned(facts, "pcie_maxreadreq") == before - {hung}
    assert skipped(facts, judged(facts), "pcie_maxreadreq")[hung] == f"{hung} {HUNG}"


def test_the_plan_loads_no_helper_of_a_driver_whose_gpu_hung(facts_of):
    facts = copy.deepcopy(facts_of(sick))
    facts["rdma"]["devices"] = [{"name": "mlx5_0", "bdf": None, "vendor": None, "netdevs": []}]
    facts["nvidia"]["peermem"] = {"loaded": False, "symbol": {"status": "ok", "value": True}, "log": []}
    facts["nvidia"]["library_version"] = facts["nvidia"]["cuda_library_version"] = facts["nvidia"]["driver_version"]
    assert planned(facts, "nvidia_peermem") == {None}
    facts["nvidia"]["hung"] = {"status": "ok", "value": [
        {"bdf": "0000:41:00.0", "since": "2026-11-30T03:00:00Z", "run_id": "r9", "what": "d2h"}]}
    assert judged(facts)["nvidia_peermem", None]["fix"]["not_planned_because"] == f"0000:41:00.0 {HUNG}"
