#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: restore_plan
short_description: Plan the restore of a host from its journal
version_added: 0.1.0
description:
  - Reads the journal of the host and returns the original values, each guarded so that it is written only if the
    current value was set by this collection.
  - Nothing is written on the host. Give each kind of RV(values) to its module, as the role
    P(gpuhost.tuning.restore#role) does.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Directory on the controller with the records of earlier runs.
    type: str
    default: reports
  run_id:
    description: Restore only this run. If omitted, every tunable is restored to its baseline.
    type: str
  force:
    description: Addresses to restore even if something else changed them, for example V(sysctl:vm.swappiness).
    type: list
    elements: str
    default: []
  leave:
    description: Addresses of GPUs to skip.
    type: list
    elements: str
    default: []
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Plan the restore
  gpuhost.tuning.restore_plan:
  register: way_back

- name: Restore the sysctls
  gpuhost.tuning.sysctl_snapshot:
    values: "{{ way_back['values'].sysctl }}"
    run_id: "{{ way_back.run_id }}"
  when: way_back['values'].sysctl is defined
"""

RETURN = r"""
values:
  description: The guarded values by kind and name. Kinds with nothing to restore are left out.
  returned: success
  type: dict
run_id:
  description: An id for the restoring run.
  returned: success
  type: str
persisted:
  description: The addresses among them that are persisted with another value, which comes back at the next boot.
  returned: success
  type: list
  elements: str
left_alone:
  description: With O(run_id), what is left alone, each with C(address) and C(reason).
  returned: success
  type: list
  elements: dict
said:
  description: How much there is to restore, or why there is nothing.
  returned: success
  type: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
