# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NVIDIA's messages in the kernel log: Xid errors, and why nvidia_peermem does not load.

Sources: kern_gpu_error_cont_ga100.c and nv-tracepoint.h of the driver, docs.nvidia.com/deploy/xid-errors.
"""
from __future__ import annotations

import re

from .._pci.address import kernel_address

PEER_LOG_LIMIT = 20     # lines; a driver in trouble repeats itself
XID_LIMIT = 5000        # the newest errors; a ring of 16 MiB can hold a hundred thousand of one flood

# `(PCI:0000:01:00)`, `(PCI:0000:01:00 GPU-I:05)`, `(PCI:0000:01:00.0)`; old drivers: `(0000:01:00)`
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)[^)]*\): (\d{1,6})\b")
_PEER = re.compile(r"nvidia[_-]peermem|nv_peer_mem|ib_(?:un)?register_peer_memory_client")


def parse_xids(lines: list[dict]) -> list[dict]:
    """The newest XID_LIMIT Xid errors among log lines `[{seconds, text}]`: `[{bdf, xid, seconds, text}]` in log order.

    `bdf` has no function, `0000:01:00`, as the driver writes it.
    """
    found = []
    for line in lines:
        xid = _XID.search(line["text"])
        address = kernel_address(xid[1].partition(".")[0]) if xid else None
        if address is not None:
            found.append({"bdf": address, "xid": int(xid[2]), "seconds": line["seconds"], "text": line["text"]})
    return found[-XID_LIMIT:]


def count_xids(lines: list[dict]) -> list[dict]:
    """How often each GPU reported each Xid: `[{bdf, xid, count}]`, in order of first occurrence."""
    counts: dict[tuple[str, int], int] = {}
    for xid in parse_xids(lines):
        counts[xid["bdf"], xid["xid"]] = counts.get((xid["bdf"], xid["xid"]), 0) + 1
    return [{"bdf": bdf, "xid": number, "count": count} for (bdf, number), count in counts.items()]


def parse_peer_lines(lines: list[dict]) -> list[str]:
    """The distinct lines about peer memory, at most the last PEER_LOG_LIMIT of them."""
    found = dict.fromkeys(line["text"] for line in lines if _PEER.search(line["text"]))
    return list(found)[-PEER_LOG_LIMIT:]
