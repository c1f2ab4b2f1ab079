# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How much of an answer of a host is taken. A host that answers with more is broken, or means harm."""
from __future__ import annotations

ANSWER_BYTES = 64 << 20     # of the packed facts, and of the JSON in them; 128 CPUs and 8 GPUs have 127 kB
VALUES = 500_000            # in the facts as a whole; such a host has about 10,000
DEVICES = 1_024             # GPUs and the PCI ports above them
CPUS = 8_192                # CONFIG_NR_CPUS of x86 goes up to that
GUESTS = 4_096              # containers and virtual machines
ENTRIES = 65_536            # of any other list or mapping
CHARACTERS = 65_536         # of one text
NUMBER = 1 << 64            # the largest that a kernel has
MESSAGE = 2_000             # characters of what a host said of its own failure
SECONDS = 120.0             # for all that one task asks of a host, where gpuhost_timeout says nothing else
MEMORY_BYTES = 256 << 20    # that a worker may take beyond what it has once the answer is there


def too_much(what: str, found: int | str, limit: int) -> str:
    """The one message of every bound."""
    return f"the host returned {found} {what}, at most {limit} are accepted: its data was not used"
