# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations


class ModuleDocFragment:

    DOCUMENTATION = r"""
options: {}
requirements:
  - Python 3.9 or newer on the managed host
attributes:
  action_group:
    description: Use C(group/gpuhost.tuning.gpuhost) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - gpuhost.tuning.gpuhost
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  platform:
    description: Target operating systems that can be operated against.
    support: full
    platforms: linux
"""

    # Plugins that only read.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - It only reads.
  diff_mode:
    support: N/A
    details:
      - It changes nothing.
"""

    # Plugins that write through the journal.
    JOURNALLED = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - Nothing is written on the host, the journal included. What can be refused without a write is predicted as
        refused. What only a write can tell has the C(certainty) V(kernel_decides).
      - A refusal does not fail the task in check mode.
  diff_mode:
    support: full
    details:
      - A line for each tunable that changes, C(address = value).
"""

    # Plugins that evaluate or report on the controller.
    CONTROLLER = r"""
options: {}
requirements:
  - jmespath on the controller
  - jsonschema on the controller
"""
