# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of nvidia-smi -q gives what its XML gives, from driver 352 to 580."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import smi, smi_recorded, smi_text

from bug_report import GENERATIONS, GPU
from bug_report import smi_text as printed

WITH_DEVICE_MAX = ("525", "535", "580")
FIELDS = {
    "bdf": GPU, "minor": 0, "memory_mib": 24564, "bar1_mib": 256, "bar1_used_mib": 3, "pstate": "P2",
    "persistence": "Disabled", "display": "Disabled", "display_server": None, "vbios": "95.02.18.80.87",
    "utilization": 42, "processes": 2,
    "trouble": None, "compute_mode": "Default", "mig": None, "mig_pending": None, "ecc": "Enabled",
    "ecc_pending": "Disabled", "power_draw_w": 210.25, "power_limit_w": 400.0, "power_default_w": 450.0,
    "clock_reasons": ["sw_power_cap", "hw_slowdown", "hw_thermal_slowdown"], "ecc_errors": 4, "ecc_errors_ever": 9,
    "pages_pending": None, "rows_pending": True, "rows_failed": False, "repairs_pending": ["tpc"],
}


def read(tree, text):
    tree.file("/recorded/nvidia-smi.txt", text)
    return smi_recorded.read_text(Host(str(tree.root)))


@pytest.mark.parametrize("generation", [name for name in GENERATIONS if name != "304"])
def test_every_field_that_an_audit_uses(tree, generation):
    driver = GENERATIONS[generation][1]
    told = read(tree, printed(generation, driver))
    assert (told["state"], told["reason"], told["driver_version"]) == ("ok", None, driver)
    [gpu] = told["gpus"]
    assert {name: gpu[name] for name in FIELDS} == FIELDS
    assert gpu["device_max_gen"] == (4 if generation in WITH_DEVICE_MAX else None)


def test_the_clock_and_the_temperature():
    root = smi_text.parse_text(printed("535", "1.2"))
    gpu = root.find("gpu")
    assert (gpu.findtext("clocks/sm_clock"), gpu.findtext("temperature/gpu_temp")) == ("2100 MHz", "71 C")
    assert gpu.findtext("pci/pci_gpu_link_info/pcie_gen/current_link_gen") == "3"


@pytest.mark.parametrize("text", [
    "No devices were found", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 530.30",
    "Unable to determine the device handle for GPU 0000:04:00.0: GPU is lost.  Reboot the system to recover this GPU",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.", "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
])
def test_failures_are_told_in_their_own_words(tree, text):
    told = read(tree, f"\n{text}\n")
    assert (told["state"], told["reason"], told["gpus"]) == ("failed", text.splitlines()[0], [])


def test_a_gpu_that_is_missing_beside_others(tree):
    text = printed("535", "535.1").replace("Attached GPUs                          : 1", "Attached GPUs : 2")
    lost = "Unable to determine the device handle for GPU0000:0A:00.0: Unknown Error"
    told = read(tree, f"{lost}\n{text}")
    assert (told["state"], told["reason"]) == ("failed", lost)
    assert [gpu["bdf"] for gpu in told["gpus"]] == [GPU]


def test_a_report_that_ends_early(tree):
    text = printed("535", "535.1").replace("Attached GPUs                          : 1", "Attached GPUs : 2")
    assert read(tree, text)["reason"] == "its report ends before the last GPU that it counts"


def test_only_a_recorded_host_is_read_so(tree):
    assert smi_recorded.read_text(Host("/")) is None
    assert smi_recorded.read_text(Host(str(tree.root))) is None
    assert smi.fact(smi.FAILED, "x")["gpus"] == []


def test_depth_and_length_are_bounded():
    deep = smi_text.HEAD + "\n" + "\n".join(f"{' ' * depth}a{depth}" for depth in range(2000))
    assert smi_text.parse_text(deep) is not None


def test_a_display_server_in_the_text():
    text = (f"{smi_text.HEAD}\n\nGPU 00000000:01:00.0\n    Processes\n        GPU instance ID                   : N/A\n"
            "        Process ID                        : 1151\n            Type                          : G\n"
            "            Name                          : /usr/lib/xorg/Xorg\n"
            "            Used GPU Memory               : 4 MiB\n")
    [gpu] = smi.fact_of(smi_text.parse_text(text))["gpus"]
    assert (gpu["display_server"], gpu["processes"]) == ("Xorg", 1)
