# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.init_log import attribute, parse_init_failures

GPU, OTHER = "0000:f5:00.0", "0000:06:00.0"
FAILED = f"NVRM: GPU {GPU}: RmInitAdapter failed! (0x62:0x40:2119)"


def parsed(*texts):
    return parse_init_failures([{"seconds": float(number), "text": text} for number, text in enumerate(texts)])


def gpus(**minors):
    return [{"bdf": bdf, "minor": minor} for bdf, minor in ((GPU, minors.get("gpu")), (OTHER, minors.get("other")))]


def test_two_lines_are_one_failure_with_its_causes():
    assert parsed("e1000e: eth0 is up", "NVRM: GPU7 _kgspBootGspRm: unexpected WPR2 already up",
                  "NVRM: GPU7 RmInitAdapter: Cannot initialize GSP firmware RM", FAILED,
                  f"NVRM: GPU {GPU}: rm_init_adapter failed, device minor number 5", "x") == [
        {"bdf": GPU, "minor": 5, "seconds": 3.0, "text": FAILED,
         "causes": ["NVRM: GPU7 _kgspBootGspRm: unexpected WPR2 already up",
                    "NVRM: GPU7 RmInitAdapter: Cannot initialize GSP firmware RM"]}]


def test_each_try_is_one_and_only_the_last_three_lines_are_its_cause():
    found = parsed(FAILED, *(f"NVRM: line {number}" for number in range(5)), FAILED)
    assert [(one["seconds"], one["causes"]) for one in found] == [
        (0.0, []), (6.0, ["NVRM: line 2", "NVRM: line 3", "NVRM: line 4"])]


@pytest.mark.parametrize("text, bdf, minor", [
    ("NVRM: RmInitAdapter failed! (0x26:0xffff:1227)", None, None),
    ("NVRM: rm_init_adapter failed for device bearing minor number 3", None, 3),
    (f"NVRM: GPU 0000{GPU.upper()}: RmInitAdapter failed! (0x22:0x56:884)", GPU, None),
    (f"NVRM: GPU {GPU}: rm_init_adapter failed, device minor number 0", GPU, 0),
    ("NVRM: GPU5 RmInitAdapter failed! (0x22:0x56:884)", None, None),
])
def test_forms_of_other_versions(text, bdf, minor):
    [found] = parsed(text)
    assert (found["bdf"], found["minor"], found["text"]) == (bdf, minor, text)


@pytest.mark.parametrize("text", [
    "NVRM: GPU7 RmInitAdapter: Cannot initialize GSP firmware RM", "RmInitAdapter failed!", "NVRM: Xid (PCI:0000:01:00"
    "): 79, GPU has fallen off the bus.", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.06", ""])
def test_other_lines_are_no_failure(text):
    assert parsed(text) == []


def test_what_an_earlier_load_of_the_driver_could_not_do_is_history():
    assert parsed(FAILED, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", "NVRM: fine") == []


def test_failures_of_two_gpus_are_kept_apart():
    other = FAILED.replace(GPU, OTHER)
    assert [one["bdf"] for one in parsed(FAILED, other, f"NVRM: GPU {OTHER}: rm_init_adapter failed, device minor "
                                         "number 0")] == [GPU, OTHER]


def test_old_drivers_name_the_minor_number_alone():
    failures = parsed("NVRM: RmInitAdapter failed! (0x26:0xffff:1227)",
                      "NVRM: rm_init_adapter failed for device bearing minor number 4",
                      "NVRM: rm_init_adapter failed for device bearing minor number 9")
    assert [one["bdf"] for one in attribute(failures, gpus(gpu=4, other=0))] == [GPU, None]


def test_a_line_that_names_nothing_is_that_of_the_only_gpu():
    failures = parsed("NVRM: RmInitAdapter failed! (0x26:0xffff:1227)")
    assert [one["bdf"] for one in attribute(failures, gpus(gpu=0)[:1])] == [GPU]
    assert [one["bdf"] for one in attribute(failures, gpus(gpu=0, other=1))] == [None]
    assert [one["bdf"] for one in attribute(failures, [])] == [None]
