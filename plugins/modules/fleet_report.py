#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_report
short_description: Make one page of all audited hosts
version_added: 0.1.0
description:
  - Reads the records of all hosts below O(report_dir) on the controller and writes C(index.html), a self-contained
    page, C(fleet.md), a summary, and C(findings.jsonl), a line for each finding of each host.
  - No host is contacted. The roles P(gpuhost.tuning.audit#role), P(gpuhost.tuning.tune_runtime#role) and
    P(gpuhost.tuning.verify#role) do this at the end, once for each batch of hosts.
  - Files are written on the controller, as the user who runs Ansible, also in check mode. This is never reported as a
    change.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  tell_rollout:
    description:
      - Show the table of the last rollout over several hosts too, where it ended without one because it was killed, and
        record that it was shown.
    type: bool
    default: false
  csv:
    description: Write C(findings.csv) and C(facts.csv) of all hosts too, tables for a spreadsheet.
    type: bool
    default: false
    version_added: 1.0.0
  gather:
    description:
      - Folders of reports of other controllers, to be copied below O(report_dir) before the page is made. Of a host
        that is in several the newest audit counts; runs and histories of all are kept. These folders stay as they are.
    type: list
    elements: str
    default: []
    version_added: 1.0.0
  stats:
    description:
      - Set the statistic C(gpuhost_stats) of the hosts of this play, as M(ansible.builtin.set_stats) does, for a
        workflow that branches on it. This is the playbook that they are of.
    type: str
    choices: [audit, tune_runtime, verify]
    version_added: 1.0.0
  run_id:
    description: The run that they are of, for O(stats).
    type: str
    version_added: 1.0.0
seealso:
  - module: gpuhost.tuning.audit
"""

EXAMPLES = r"""
- name: Make the page of the fleet
  gpuhost.tuning.fleet_report:
    report_dir: /srv/gpuhost/reports
  run_once: true
"""

RETURN = r"""
page:
  description: Path of C(index.html).
  returned: success
  type: str
hosts:
  description: How many hosts are on it.
  returned: success
  type: int
rollout:
  description: The lines of that table; empty where there is none to show.
  returned: with O(tell_rollout)
  type: list
  elements: str
gathered:
  description: The hosts of which something was copied, each with the folders that it was taken from.
  returned: with O(gather)
  type: dict
msg:
  description: The same in words, with the number of records that could not be used.
  returned: always
  type: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
