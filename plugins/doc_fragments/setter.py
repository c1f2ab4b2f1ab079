# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations


class ModuleDocFragment:

    DOCUMENTATION = r"""
options:
  sysroot:
    description:
      - Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
      - A folder is written to only if it contains the file C(.gpuhost-sysroot).
    type: path
    default: /
  run_id:
    description:
      - Name of the run that the journal gives to each write. One for the whole play lets the run be verified and
        taken back as a whole. Letters, digits, dots, hyphens and underscores.
      - A new one is made if it is not set.
    type: str
  on_refusal:
    description:
      - What happens when the kernel, the hardware or a safety rule refuses a value.
      - With V(keep) the others are set all the same, and the task fails at the end with a line for each tunable.
      - With V(undo) everything that this task changed is taken back in reverse order, and the task fails. Where a
        refusal is known before the first write, nothing is written.
      - V(report) is as V(keep), but the task does not fail. Look at the outcomes in RV(ignore:changes).
      - Values that change together are always set together or not at all.
    type: str
    choices: [keep, undo, report]
    default: keep
  lock_timeout:
    description: Seconds to wait for another run that is writing on the same host. Then every change is refused, and
      the reason says which run holds the host and since when.
    type: float
    default: 10.0
notes:
  - Every write is recorded before and after in C(/run/gpuhost/journal.jsonl), and read back. A value that is there
    already is not written, and then neither the journal nor its lock is opened.
  - Nothing outlives a reboot, and nothing is written below C(/etc).
"""
