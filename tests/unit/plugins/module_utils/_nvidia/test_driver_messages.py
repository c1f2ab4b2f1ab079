# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's modules say in the kernel log beside Xid errors."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.driver_messages import (
    parse_mismatches,
    parse_repeats,
    parse_resets,
    parse_sxids,
)


def lines(*texts):
    return [{"seconds": 100.0 + number, "text": text} for number, text in enumerate(texts)]


def test_b07_errors_of_switches_and_not_the_lines_that_go_on():
    assert parse_sxids(lines(
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Severity 5 Engine instance 28 Sub-engine instance 00",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Data {0x00000001, 0x00000001, 0x00000000}",
        "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
        "NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus.")) == [
        {"bdf": "0000:c3:00.0", "sxid": 24007, "fatal": True, "seconds": 100.0,
         "text": "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)"},
        {"bdf": "0000:c4:00.0", "sxid": 12028, "fatal": False, "seconds": 103.0,
         "text": "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error "
                 "(First)"}]


FOUR = ("NVRM: API mismatch: the client 'nvidia-smi' (pid 4711)", "NVRM: has the version 570.133.20, but",
        "NVRM: this kernel module has the version 570.86.15.  Please", "NVRM: make sure that this kernel module")


def test_a_program_of_another_version():
    wanted = [{"what": "api", "client": "nvidia-smi", "client_version": "570.133.20", "module_version": "570.86.15",
               "text": FOUR[0]}]
    assert parse_mismatches(lines(*FOUR, *FOUR)) == wanted
    assert parse_mismatches(lines("\n".join(FOUR))) == wanted
    assert parse_mismatches(lines("NVRM: API mismatch: the client has the version 550.54.14, but",
                                  "               NVRM: this kernel module has the version 545.23.08.  Please")) == [
        {"what": "api", "client": None, "client_version": "550.54.14", "module_version": "545.23.08",
         "text": "NVRM: API mismatch: the client has the version 550.54.14, but"}]
    assert [(entry["client_version"], entry["module_version"]) for entry in parse_mismatches(lines(FOUR[0]))] == [
        (None, None)]


def test_the_version_of_the_next_client_is_not_that_of_the_driver():
    """Logs of which only the first line of each message is left."""
    first = "NVRM: API mismatch: the client has the version 535.113.01, but"
    assert [(entry["client_version"], entry["module_version"]) for entry in parse_mismatches(lines(first, first))] == [
        ("535.113.01", None)]


def test_a_module_of_another_version():
    text = "nvidia-modeset: Version mismatch: nvidia.ko(570.133.20) nvidia-modeset.ko(570.86.15)"
    assert parse_mismatches(lines(text)) == [
        {"what": "modeset", "client": None, "client_version": "570.86.15", "module_version": "570.133.20",
         "text": text}]


def test_a_reset_that_is_due():
    assertion = "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62)"
    fatal = "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."
    xid = "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    requires = "NVRM: GPU 0000:01:00.0: GPU requires a reset"
    assert parse_resets(lines(assertion, fatal, xid, assertion, "NVRM: loading NVIDIA UNIX Open Kernel Module",
                              "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
                              "usb 1-2: reset required", requires)) == [assertion, fatal, requires]


def test_a_helper_that_says_the_same_hundreds_of_times():
    many = [f"nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context {number}, skipping"
            for number in range(100)]
    assert parse_repeats(lines(*many, *["NVRM: loading"] * 200, *["gdrdrv:gdrdrv_open: 1"] * 99)) == [
        {"module": "nvidia_peermem", "count": 100, "text": many[0]}]
