# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.gpus.nvidia_smi import smi_facts

import neutral_facts as neutral

BDF = "0000:01:00.0"


def derived(idle=True, **message):
    smi = {"state": "ok", "reason": None, "driver_version": "595.58.03",
           "gpus": [{**neutral.smi_gpu(BDF, 0), **message}]}
    return smi_facts({"bdf": BDF}, smi, idle)


def test_nothing_wrong():
    found = derived()
    assert found.pop("nvidia_smi")["value"]["persistence"] == "Enabled"
    assert found == {"slowdowns": [], "slowdowns_in_words": None, "memory_troubles": [], "pending_modes": [],
                     "recovery": "None"}


@pytest.mark.parametrize("smi, why", [
    ({"state": "timeout", "reason": "timeout: nvidia-smi did not end within 20 s", "gpus": []},
     "nvidia-smi: timeout: nvidia-smi did not end within 20 s"),
    ({"state": "absent", "reason": None, "gpus": []}, "nvidia-smi: absent"),
    ({"state": "ok", "reason": None, "gpus": [neutral.smi_gpu("0000:02:00.0", 1)]},
     "nvidia-smi does not list this GPU"),
])
def test_without_an_answer_nothing_follows(smi, why):
    found = smi_facts({"bdf": BDF}, smi, None)
    assert found.pop("nvidia_smi") == {"status": why, "value": None}
    assert set(found.values()) == {None}


@pytest.mark.parametrize("reasons, idle, slow", [
    (["gpu_idle"], True, []), (["sw_power_cap"], False, []), (["applications_clocks_setting", "sync_boost"], False, []),
    (["hw_slowdown", "hw_power_brake_slowdown"], True, ["hw_power_brake_slowdown"]),
    (["sw_thermal_slowdown"], False, ["sw_thermal_slowdown"]),
    (["hw_slowdown"], False, ["hw_slowdown"]), (["hw_slowdown"], True, []), (["hw_slowdown"], None, []),
    (None, False, None),
])
def test_reasons_of_slow_clocks_that_are_no_normal_work(reasons, idle, slow):
    assert derived(idle, clock_reasons=reasons)["slowdowns"] == slow


@pytest.mark.parametrize("message, troubles", [
    ({"ecc_errors": 3}, ["3 uncorrectable ECC errors since the driver was loaded"]),
    ({"ecc_errors_ever": 3}, []),
    ({"rows_failed": True, "rows_pending": True}, ["a row of memory could not be remapped",
                                                   "remapping of a memory row is pending until a reset"]),
    ({"pages_pending": True}, ["retirement of memory pages is pending until a reset"]),
    ({"repairs_pending": ["channel", "tpc"]}, ["the repair of a memory channel is pending until a reset",
                                               "the repair of a TPC is pending until a reset"]),
    ({"ecc_errors": None, "rows_pending": None, "rows_failed": None}, None),
    ({"ecc_errors": None, "rows_pending": None, "rows_failed": None, "repairs_pending": ["tpc"]},
     ["the repair of a TPC is pending until a reset"]),
])
def test_memory(message, troubles):
    assert derived(**message)["memory_troubles"] == troubles


@pytest.mark.parametrize("message, pending", [
    ({"mig_pending": "Enabled"}, ["MIG is Disabled and will be Enabled after a reset"]),
    ({"ecc_pending": "Disabled"}, ["ECC is Enabled and will be Disabled after a reset"]),
    ({"ecc_pending": None}, []), ({"mig": None, "mig_pending": None}, []),
    ({"mig": None, "ecc": None}, None),
])
def test_modes_that_wait(message, pending):
    assert derived(**message)["pending_modes"] == pending


def test_a_lost_gpu_counts_more_than_what_the_driver_asks_for():
    assert derived(trouble="GPU is lost", recovery_action="None")["recovery"] == "GPU is lost"
    assert derived(recovery_action="Drain P2P")["recovery"] == "Drain P2P"
    assert derived(recovery_action=None)["recovery"] is None
