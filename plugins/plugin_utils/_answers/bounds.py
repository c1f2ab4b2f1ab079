# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Upper bounds on a host's answer: a host that sends more is broken or hostile."""
from __future__ import annotations

ANSWER_BYTES = 64 << 20     # of the packed facts, and of the JSON in them; 128 CPUs and 8 GPUs have 127 kB
VALUES = 500_000            # in the facts as a whole; such a host has about 10,000
DEVICES = 1_024             # GPUs and the PCI ports above them
CPUS = 8_192                # the maximum of CONFIG_NR_CPUS on x86
GUESTS = 4_096              # containers and virtual machines
ENTRIES = 65_536            # of any other list or mapping
CHARACTERS = 65_536         # of one string
NUMBER = 1 << 64            # beyond the kernel's largest numbers
MESSAGE = 2_000             # characters of a host's own error message
SECONDS = 120.0             # for everything one task reads from a host, unless gpuhost_timeout is set
MEMORY_BYTES = 256 << 20    # that a worker may allocate in addition once it has the answer


def too_much(what: str, found: int | str, limit: int) -> str:
    """The message for every bound."""
    return f"the host returned {found} {what}, at most {limit} are accepted: its data was not used"
