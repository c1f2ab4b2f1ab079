#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: placement
short_description: Set the placement of VMs that the last audit proposed, or take it back
version_added: 1.0.0
description:
  - Hands the proposal of C(placement.json), which each audit writes, to M(gpuhost.tuning.guest_placement). Containers
    and processes are not changed; the report has their lines.
  - How it is taken back is recorded first, in C(placement-applied.json) beside it.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
author:
  - gpuhost.tuning contributors (@gpuhost)
attributes:
  check_mode:
    support: full
    details:
      - Neither the host nor the record is written.
  diff_mode:
    support: full
    details:
      - A line for each option that changes.
options:
  sysroot:
    description: Folder on the managed host that mirrors a host. There the outcome is V(skipped).
    type: path
    default: /
  report_dir:
    description: Folder on the controller for records and reports.
    type: str
    default: reports
  state:
    description: V(present) sets what is proposed, V(absent) takes back all that was set.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: gpuhost.tuning.guest_placement
"""

EXAMPLES = r"""
- name: Audit the host
  gpuhost.tuning.audit:

- name: Set what is proposed, from the next start of each VM on
  gpuhost.tuning.placement:

- name: Take it back
  gpuhost.tuning.placement:
    state: absent
"""

RETURN = r"""
changes:
  description: The RV(gpuhost.tuning.guest_placement#module:changes) of the VMs; empty where nothing is proposed.
  returned: always
  type: list
  elements: dict
msg:
  description: A line for each VM.
  returned: where a VM is proposed or recorded
  type: str
lines:
  description: What would have been printed. With Ansible's own stdout callback it is printed instead.
  returned: with another stdout callback
  type: list
  elements: str
"""
