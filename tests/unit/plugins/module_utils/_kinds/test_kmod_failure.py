# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.kmod_failure import classify

MODPROBE = "modprobe: ERROR: could not insert '{}': {}\n"


@pytest.mark.parametrize(("name", "text", "log", "kind"), [
    ("nvidia_peermem", "Invalid argument", [
        "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
        "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"], "symbol_mismatch"),
    ("nvidia_peermem", "Invalid argument", ["nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"],
     "symbol_mismatch"),
    ("nvidia_peermem", "Unknown symbol in module, or unknown parameter (see dmesg)", [
        "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err 0)"], "symbol_missing"),
    ("nvidia_peermem", "Unknown symbol in module, or unknown parameter (see dmesg)", [
        "nvidia_peermem: Unknown symbol ib_unregister_peer_memory_client (err -2)"], "symbol_missing"),
    ("nvidia_peermem", "Invalid argument", [], "stub"),
    ("gdrdrv", "Invalid argument", [], "unknown"),
    ("nvidia_peermem", "Key was rejected by service", [], "signature_rejected"),
    ("nvidia_fs", "Required key not available", [], "signature_rejected"),
    ("nvidia_fs", "Operation not permitted", [
        "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"], "signature_rejected"),
    ("nvidia_uvm", "No such device", ["NVRM: No NVIDIA devices probed."], "no_device"),
    ("gdrdrv", "Device or resource busy", [], "in_use"),
    ("gdrdrv", "Exec format error", [
        "gdrdrv: version magic '6.8.12-8-pve SMP' should be '6.8.12-9-pve SMP'"], "wrong_version"),
    ("nvidia_uvm", "Invalid argument", ["NVRM: API mismatch: the client has the version 520.56.06, but"],
     "wrong_version"),
    ("gdrdrv", "Cannot allocate memory", [], "unknown")])
def test_classes(name, text, log, kind):
    failure = classify(name, MODPROBE.format(name, text), log)
    assert (failure.kind, failure.message, failure.log) == (kind, text, log)


def test_a_module_that_is_not_there():
    message = "modprobe: FATAL: Module gdrdrv not found in directory /lib/modules/6.8.12-9-pve"
    failure = classify("gdrdrv", message, [])
    assert (failure.kind, failure.message) == ("not_installed", message)


def test_rmmod_of_a_module_in_use():
    message = "rmmod: ERROR: Module nvidia_peermem is in use by: ib_core"
    assert classify("nvidia_peermem", message, []).kind == "in_use"


def test_lines_of_others_are_left_out_and_both_spellings_kept():
    log = ["usb 1-1: new device", "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected", "eth0: link up"]
    failure = classify("nvidia_peermem", MODPROBE.format("nvidia_peermem", "Invalid argument"), log)
    assert failure.log == ["nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected"]
    assert failure.kind == "unknown"


def test_the_reason_quotes_the_kernel_and_says_what_helps():
    lines = ["nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
             "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"]
    assert classify("nvidia_peermem", MODPROBE.format("nvidia_peermem", "Invalid argument"), lines).reason() == (
        f"symbol_mismatch: Invalid argument; kernel: {lines[0]}; kernel: {lines[1]}; "
        "rebuild the driver after installing MLNX_OFED or DOCA-OFED, for the ib_core that is loaded")
