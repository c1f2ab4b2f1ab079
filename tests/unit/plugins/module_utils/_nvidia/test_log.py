# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.log import parse_peer_lines, parse_xids


def lines(*texts):
    return [{"seconds": float(number), "text": text} for number, text in enumerate(texts)]


@pytest.mark.parametrize(("place", "bdf"), [
    ("(PCI:0000:01:00)", "0000:01:00"),
    ("(PCI:0000:01:00 GPU-I:05)", "0000:01:00"),
    ("(PCI:0000:C1:00.0)", "0000:c1:00"),
    ("(PCI:10000:e1:00 GPU-I:01, GPU-CI:00)", "10000:e1:00"),
    ("(0000:05:00)", "0000:05:00"),
])
def test_forms_of_an_xid(place, bdf):
    text = f"NVRM: Xid {place}: 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    assert parse_xids([{"seconds": 812.5, "text": text}]) == [{"bdf": bdf, "xid": 79, "seconds": 812.5, "text": text}]


def test_numbers_and_order_are_kept():
    found = parse_xids(lines(
        "NVRM: Xid (PCI:0000:41:00): 13, pid=4711, name=python3, Graphics Exception",
        "pcieport 0000:40:01.1: AER: Corrected error received",
        "NVRM: Xid (PCI:0000:01:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
        "NVRM: Xid (PCI:0000:01:00): 154 GPU recovery action changed"))
    assert [(entry["bdf"], entry["xid"], entry["seconds"]) for entry in found] == [
        ("0000:41:00", 13, 0.0), ("0000:01:00", 119, 2.0), ("0000:01:00", 154, 3.0)]


@pytest.mark.parametrize("text", [
    "NVRM: Xid (PCI:nonsense): 79, x", "NVRM: Xid (): 79", "NVRM: Xid (PCI:0000:01:00): none", "Xid errors: see manual",
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1589)"])
def test_other_lines_are_no_xid(text):
    assert parse_xids(lines(text)) == []


def test_time_may_be_unknown():
    assert parse_xids([{"seconds": None, "text": "NVRM: Xid (PCI:0000:01:00): 31, x"}])[0]["seconds"] is None


def test_lines_of_a_symbol_mismatch():
    """A-22: built against another ib_core."""
    kept = ["nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
            "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"]
    assert parse_peer_lines(lines("mlx5_core 0000:21:00.0: firmware version: 28.39.1002", *kept)) == kept


def test_lines_of_a_missing_symbol():
    """A-23: an ib_core without the interface; the older module has another name."""
    kept = ["nv_peer_mem: Unknown symbol ib_register_peer_memory_client (err 0)",
            "nv_peer_mem: Unknown symbol ib_unregister_peer_memory_client (err 0)"]
    assert parse_peer_lines(lines(*kept)) == kept


def test_a_line_that_repeats_itself_is_kept_once_and_the_newest_stay():
    again = "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"
    assert parse_peer_lines(lines(*[again] * 500)) == [again]
    many = parse_peer_lines(lines(*(f"nvidia_peermem: event {number}" for number in range(30))))
    assert (len(many), many[0], many[-1]) == (20, "nvidia_peermem: event 10", "nvidia_peermem: event 29")
