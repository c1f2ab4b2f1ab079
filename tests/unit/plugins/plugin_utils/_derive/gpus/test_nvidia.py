# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.gpus.nvidia import hung, library_mismatch

import neutral_facts as neutral
from neutral_facts import ABSENT, ok

FIRST, SECOND = "0000:03:00.0", "0000:04:00.0"


def nvidia(**changed):
    return {**neutral.epyc()["nvidia"], **changed}


@pytest.mark.parametrize("changed, says", [
    ({}, None),
    ({"library_version": ok("600.1.1")}, "the loaded driver is 595.58.03, libnvidia-ml is 600.1.1"),
    ({"cuda_library_version": ok("600.1.1")}, "the loaded driver is 595.58.03, libcuda is 600.1.1"),
    ({"library_version": ok("600.1.1"), "cuda_library_version": ok("600.1.1")},
     "the loaded driver is 595.58.03, libnvidia-ml is 600.1.1 and libcuda is 600.1.1"),
    ({"library_version": ABSENT, "cuda_library_version": ABSENT}, None),
    ({"driver_version": ABSENT, "library_version": ok("600.1.1")}, None),
    ({"library_version": ABSENT, "smi": {"state": "failed", "reason": "Driver/library version mismatch", "gpus": []}},
     "the loaded driver is 595.58.03, nvidia-smi reports: Driver/library version mismatch"),
    ({"smi": {"state": "failed", "reason": "Unknown Error", "gpus": []}}, None),
])
def test_driver_and_libraries(changed, says):
    assert library_mismatch(nvidia(**changed)) == says


def test_a_gpu_that_hung_and_the_driver_of_all():
    mark = {"bdf": FIRST, "since": "2026-11-30T03:00:00Z", "run_id": "r9", "what": "d2h of 64 MiB"}
    assert hung(nvidia()) is None
    message = hung(nvidia(hung=ok([mark])))
    assert message == hung(nvidia(hung=ok([mark])), FIRST) == (
        "0000:03:00.0 hung at 2026-11-30T03:00:00Z during a measurement (run r9, d2h of 64 MiB): it is not touched "
        "until the host is rebooted")
    assert hung(nvidia(hung=ok([mark])), SECOND) is None
