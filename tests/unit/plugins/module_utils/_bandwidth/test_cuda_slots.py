# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_slots import Tally


def test_where_a_copy_is_wrong_is_looked_for_once_for_each_way():
    """A reading may have hundreds of wrong copies, and a step a minute."""
    asked = []

    def find(offset):
        return lambda: asked.append(offset) or {"first_offset": offset, "wrong_bytes": 1, "bytes": 4096}

    tally = Tally("write")
    tally.copies = 9
    for name, offset in (("write", 8), ("write", 16), ("d2h", 24), ("write", 32)):
        tally.add(name, find(offset))
    assert asked == [8, 24]
    assert tally.found() == [
        {"copied": "write", "first_offset": 8, "wrong_bytes": 1, "bytes": 4096, "wrong_copies": 3, "copies": 9},
        {"copied": "d2h", "first_offset": 24, "wrong_bytes": 1, "bytes": 4096, "wrong_copies": 1, "copies": 9}]
