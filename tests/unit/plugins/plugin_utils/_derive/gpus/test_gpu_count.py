# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.gpus.gpu_count import gpu_count, unusable_gpus

from neutral_facts import ABSENT, lacking, ok

FIRST, SECOND = "0000:03:00.0", "0000:04:00.0"
STATUS_6 = "nvidia-smi ended with status 6: No devices were found"


def gpu(bdf, **changed):
    return {"bdf": bdf, "vendor": "10de", "driver": "nvidia", "virtual_function": False, "state": "ok",
            "users": ok([]), **changed}


def listed(*bdfs, excluded=()):
    return ok([{"bdf": bdf, "excluded": bdf in excluded} for bdf in bdfs])


def smi(*bdfs, state="ok", reason=None):
    return {"state": state, "reason": reason, "gpus": [{"bdf": bdf} for bdf in bdfs]}


def failure(bdf, text="RmInitAdapter failed! (0x62:0x40:2119)", *causes):
    return {"bdf": bdf, "seconds": 9.5, "text": f"NVRM: GPU {bdf}: {text}", "causes": list(causes)}


def counted(gpus, proc_gpus, answered, *failures):
    nvidia = {"proc_gpus": proc_gpus, "smi": answered, "init_failures": ok(list(failures))}
    return gpu_count(gpus, nvidia, unusable_gpus(gpus, nvidia))


BOTH = [gpu(FIRST), gpu(SECOND)]


@pytest.mark.parametrize("gpus, proc_gpus, answered, counts, missing", [
    (BOTH, listed(FIRST, SECOND), smi(FIRST, SECOND), (2, 2, 2, 2), []),
    (BOTH, listed(FIRST, SECOND), smi(FIRST), (2, 2, 2, 1), [f"{SECOND} is bound to the driver but missing in "
                                                             "nvidia-smi"]),
    (BOTH, listed(FIRST), smi(FIRST, SECOND), (2, 2, 1, 2),
     [f"{SECOND} is bound to the driver, which does not list it"]),
    ([gpu(FIRST)], listed(FIRST, SECOND), smi(FIRST, SECOND), (1, 1, 2, 2),
     [f"{SECOND} is listed by the driver but no longer on the bus"]),
    # Out of use on purpose: what the driver was told to exclude. Not counted: a virtual function.
    (BOTH, listed(FIRST, SECOND, excluded=(SECOND,)), smi(FIRST), (2, 2, 2, 1), []),
    ([gpu(FIRST), gpu(SECOND, virtual_function=True)], listed(FIRST), smi(FIRST), (1, 1, 1, 1), []),
    # Without nvidia-smi the bus and the driver are all there is.
    (BOTH, listed(FIRST, SECOND), smi(state="absent"), (2, 2, 2, None), []),
])
def test_gpus_by_source(gpus, proc_gpus, answered, counts, missing):
    found = counted(gpus, proc_gpus, answered)
    assert tuple(found[key] for key in ("bus", "bound", "driver", "smi")) == counts
    assert found["missing"] == ok(missing)


@pytest.mark.parametrize("proc_gpus, answered, why", [
    (listed(FIRST, SECOND), smi(state="timeout", reason="timeout: nvidia-smi did not end within 20 s"),
     "nvidia-smi: timeout: nvidia-smi did not end within 20 s"),
    (listed(FIRST, SECOND), smi(state="failed", reason="nvidia-smi ended with status 15: no output"),
     "nvidia-smi: nvidia-smi ended with status 15: no output"),
    (listed(FIRST, SECOND), smi(state="not_run", reason=f"{SECOND} reads all ones: nvidia-smi may hang"),
     f"nvidia-smi was not run: {SECOND} reads all ones: nvidia-smi may hang"),
    (lacking("denied"), smi(FIRST, SECOND), "denied"),
    (ABSENT, smi(FIRST, SECOND), "absent"),
])
def test_a_count_of_which_one_part_is_not_known_is_lost(proc_gpus, answered, why):
    assert counted(BOTH, proc_gpus, answered)["missing"] == {"status": why, "value": None}


@pytest.mark.parametrize("driver, state, says", [
    ("vfio-pci", "passed_through", f"1 bound for a guest (vfio-pci): {SECOND}"),
    ("pci-stub", "ok", f"1 bound for a guest (pci-stub): {SECOND}"),
    ("nouveau", "ok", f"1 bound to another driver (nouveau): {SECOND}"),
    (None, "passed_through", f"1 assigned to a guest, without a driver: {SECOND}"),
    (None, "ok", f"1 without a driver: {SECOND}"),
])
def test_gpus_on_the_bus_that_the_driver_does_not_have_are_counted_with_the_reason(driver, state, says):
    found = counted([gpu(FIRST), gpu(SECOND, driver=driver, state=state)], listed(FIRST), smi(FIRST))
    assert (found["bus"], found["bound"], found["elsewhere"], found["missing"]) == (2, 1, says, ok([]))


def test_no_device_found_means_every_gpu_with_or_without_a_line_in_the_log():
    found = counted(BOTH, listed(FIRST, SECOND), smi(state="failed", reason=STATUS_6), failure(SECOND))
    assert found["missing"] == ok([
        f"{FIRST} is bound to the driver but not usable: {STATUS_6}",
        f"{SECOND} is bound to the driver but not usable: {STATUS_6}; the kernel log says: NVRM: GPU {SECOND}: "
        "RmInitAdapter failed! (0x62:0x40:2119)"])


def test_an_error_that_names_a_gpu_is_about_that_one():
    words = f"nvidia-smi ended with status 255: Unable to determine the device handle for GPU {SECOND}: Unknown Error"
    assert counted(BOTH, listed(FIRST, SECOND), smi(state="failed", reason=words))["missing"] == ok(
        [f"{SECOND} is bound to the driver but not usable: {words}"])


@pytest.mark.parametrize("answered, users, dead", [
    (smi(FIRST, SECOND), ok([]), False),                        # it answers now
    (smi(FIRST), ok([{"pid": 1}]), True),
    (smi(state="absent"), ok([]), True),
    (smi(state="not_run", reason="x"), ok([]), True),
    (smi(state="timeout", reason="x"), ok([]), True),
    (smi(state="timeout", reason="x"), ok([{"pid": 1}]), False),       # an open that succeeded
    (smi(state="absent"), lacking("denied"), True),
])
def test_a_line_of_the_log_counts_until_the_gpu_is_seen_at_work(answered, users, dead):
    gpus = [gpu(FIRST), gpu(SECOND, users=users)]
    nvidia = {"proc_gpus": listed(FIRST, SECOND), "smi": answered, "init_failures": ok([failure(SECOND)])}
    assert (SECOND in unusable_gpus(gpus, nvidia)) is dead


def test_gpus_of_which_the_same_is_said_share_a_sentence():
    found = counted(BOTH, listed(FIRST, SECOND), smi(state="absent"), failure(FIRST), failure(SECOND))
    assert found["missing"] == ok([
        f"2 GPUs ({FIRST}, {SECOND}) are bound to the driver but not usable: no output of nvidia-smi (not installed, "
        f"or not recorded); the kernel log says: NVRM: GPU {FIRST}: RmInitAdapter failed! (0x62:0x40:2119)"])


def test_other_codes_are_another_sentence():
    found = counted(BOTH, listed(FIRST, SECOND), smi(), failure(FIRST), failure(SECOND, "RmInitAdapter failed! (0x1)"))
    assert len(found["missing"]["value"]) == 2
