# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.nvidia import gpu_count, hung, library_mismatch

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
     "the loaded driver is 595.58.03, nvidia-smi says: Driver/library version mismatch"),
    ({"smi": {"state": "failed", "reason": "Unknown Error", "gpus": []}}, None),
])
def test_driver_and_libraries(changed, says):
    assert library_mismatch(nvidia(**changed)) == says


def gpu(bdf, **changed):
    return {"bdf": bdf, "driver": "nvidia", "virtual_function": False, **changed}


def listed(*bdfs, excluded=()):
    return ok([{"bdf": bdf, "excluded": bdf in excluded} for bdf in bdfs])


def smi(*bdfs, state="ok"):
    return {"state": state, "reason": None, "gpus": [{"bdf": bdf} for bdf in bdfs]}


@pytest.mark.parametrize("gpus, proc_gpus, answered, counts, missing", [
    ([gpu(FIRST), gpu(SECOND)], listed(FIRST, SECOND), smi(FIRST, SECOND), (2, 2, 2), []),
    ([gpu(FIRST), gpu(SECOND)], listed(FIRST, SECOND), smi(FIRST), (2, 2, 1),
     [f"{SECOND} is with the driver and not in nvidia-smi"]),
    ([gpu(FIRST), gpu(SECOND)], listed(FIRST), smi(FIRST), (2, 1, 1),
     [f"{SECOND} is bound to the driver, which does not list it"]),
    ([gpu(FIRST)], listed(FIRST, SECOND), smi(FIRST, SECOND), (1, 2, 2),
     [f"{SECOND} is with the driver and no longer on the bus"]),
    # Not counted: what the driver was told to exclude, another driver's, a virtual function.
    ([gpu(FIRST), gpu(SECOND)], listed(FIRST, SECOND, excluded=(SECOND,)), smi(FIRST), (2, 2, 1), []),
    ([gpu(FIRST), gpu(SECOND, driver="vfio-pci")], listed(FIRST), smi(FIRST), (1, 1, 1), []),
    ([gpu(FIRST), gpu(SECOND, virtual_function=True)], listed(FIRST), smi(FIRST), (1, 1, 1), []),
    # Who does not answer lacks none.
    ([gpu(FIRST)], listed(FIRST), smi(state="timeout"), (1, 1, None), []),
    ([gpu(FIRST)], ABSENT, smi(FIRST), (1, None, 1), []),
])
def test_gpus_by_source(gpus, proc_gpus, answered, counts, missing):
    found = gpu_count(gpus, {"proc_gpus": proc_gpus, "smi": answered})
    assert ((found["bus"], found["driver"], found["smi"]), found["missing"]) == (counts, missing)


def test_a_gpu_that_hung_and_the_driver_of_all():
    mark = {"bdf": FIRST, "since": "2026-11-30T03:00:00Z", "run_id": "r9", "what": "d2h of 64 MiB"}
    assert hung(nvidia()) is None
    message = hung(nvidia(hung=ok([mark])))
    assert message == hung(nvidia(hung=ok([mark])), FIRST) == (
        "0000:03:00.0 hung at 2026-11-30T03:00:00Z while it was measured (run r9, d2h of 64 MiB): it is left alone "
        "until the host is rebooted")
    assert hung(nvidia(hung=ok([mark])), SECOND) is None
