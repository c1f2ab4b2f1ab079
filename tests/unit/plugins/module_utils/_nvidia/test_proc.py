# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.proc import (
    parse_information,
    parse_parameters,
    parse_version,
)

VERSIONS = {
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.61.05  Thu Sep 29 05:30:25 UTC 2022\n"
    "GCC version:  gcc version 11.3.0 (Ubuntu 11.3.0-1ubuntu1~22.04) \n": ("proprietary", "520.61.05"),
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n":
        ("proprietary", "550.54.15"),
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (root@pve1)  "
    "Sun Mar 30 11:00:00 UTC 2025\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n":
        ("open", "570.133.20"),
    "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build  (dvs@x)":
        ("open", "580.65.06"),
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157": ("proprietary", "390.157"),
}


@pytest.mark.parametrize("text", VERSIONS)
def test_version_and_flavour(text):
    assert parse_version(text) == VERSIONS[text]


@pytest.mark.parametrize("text", ["", "GCC version:  gcc version 12.2.0", "NVRM version: NVIDIA UNIX Kernel Module\n"])
def test_text_without_a_version_is_rejected(text):
    with pytest.raises(ValueError, match="no line with"):
        parse_version(text)


def test_versions_from_the_field(field_files):
    text = (field_files / "nvidia" / "proc_driver_nvidia_version__samples.txt").read_text()
    found = [parse_version(line) for line in text.splitlines() if line.startswith("NVRM")]
    assert found == [("proprietary", "520.56.06"), ("proprietary", "550.90.07"), ("proprietary", "580.173.02"),
                     ("open", "570.158.01")]


def test_parameters_lose_their_quotes_and_nothing_else():
    text = ('RmLogonRC: 1\nRegistryDwords: "ForceP2P=0x11;RMPcieP2PType=2;a:b"\nGpuBlacklist: ""\nExcluded: "\n'
            "no colon here\n\n")
    assert parse_parameters(text) == [
        {"name": "RmLogonRC", "value": "1"}, {"name": "RegistryDwords", "value": "ForceP2P=0x11;RMPcieP2PType=2;a:b"},
        {"name": "GpuBlacklist", "value": ""}, {"name": "Excluded", "value": '"'}]


def test_parameters_from_the_field(field_files):
    text = (field_files / "nvidia" / "proc_driver_nvidia_params__open595-like_imexchannels.txt").read_text()
    found = {entry["name"]: entry["value"] for entry in parse_parameters(text)}
    assert len(found) == 41
    assert (found["ImexChannelCount"], found["TemporaryFilePath"], found["RegistryDwords"]) == ("2048", "/var/tmp", "")


def test_information_with_tabs_and_blanks():
    text = ("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 412\nGPU UUID: \t GPU-5e5f\nBus Location: \t 0000:19:00.0\n"
            "Device Minor: \t 11\nGPU Firmware: \t 550.54.15\nGPU Excluded:\t No\n")
    assert parse_information(text) == {
        "model": "NVIDIA H100 80GB HBM3", "minor": 11, "uuid": "GPU-5e5f", "firmware": "550.54.15",
        "excluded": False}


def test_information_of_a_gpu_that_was_never_used():
    text = ("Model:           NVIDIA GeForce RTX 4090\nGPU UUID:        GPU-????????-????-????-????-????????????\n"
            "Video BIOS:      ??.??.??.??.??\nDevice Minor:    0\nGPU Firmware:    N/A\n")
    assert parse_information(text) == {
        "model": "NVIDIA GeForce RTX 4090", "minor": 0, "uuid": None, "firmware": "N/A", "excluded": None}


@pytest.mark.parametrize("text", ["", "no fields\n", "Model:\nDevice Minor: x\nGPU UUID:\n", "\0\xff\n:::\n"])
def test_information_that_says_nothing(text):
    assert parse_information(text) == {"model": None, "minor": None, "uuid": None, "firmware": None,
                                       "excluded": None}
