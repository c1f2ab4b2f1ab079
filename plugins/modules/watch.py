#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: watch
short_description: Say what changed on hosts since they were last watched
version_added: 1.0.0
description:
  - Reads the newest audits of hosts on the controller and says what is new, mended or set otherwise since the last time
    it did, and how many errors devices had meanwhile. A value that goes up and down by itself is no change.
  - It writes C(last-watch.json), for each host C(watch.json), and files for the textfile collector of Prometheus'
    node_exporter.
  - With O(schedule) it also writes a systemd timer of the user, below C(~/.config/systemd/user), or shows the line for
    cron or the rrule for AWX, which run the playbook that it is of again. It enables nothing.
  - No host is asked for anything. What it writes on the controller is never reported as a change.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  hosts:
    description: Names of the hosts, as the inventory has them.
    type: list
    elements: str
    required: true
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  textfile_dir:
    description: Folder of the textfile collector. Without it that is C(prometheus) below O(report_dir).
    type: str
  fail_on_change:
    description: Fail where a finding is new or mended, or a setting changed.
    type: bool
    default: false
  schedule:
    description: How the watch comes again.
    type: str
    choices: [timer, cron, awx]
  minutes:
    description: How often the schedule has it, 1 to 1440.
    type: int
    default: 60
seealso:
  - module: gpuhost.tuning.audit
"""

EXAMPLES = r"""
- name: Say what changed on all hosts
  gpuhost.tuning.watch:
    hosts: "{{ ansible_play_hosts_all }}"
    report_dir: /srv/gpuhost/reports
  run_once: true
"""

RETURN = r"""
hosts:
  description:
    - What changed by host. C(since) is when it was last watched, null for the first time, C(changes) is a list of
      findings with C(kind) V(new), V(mended) or V(changed), C(rates) is a list of errors with C(what), C(place),
      C(number) and C(hours).
  returned: always
  type: dict
missing:
  description: Hosts that were not audited by this run, with the reason. They fail the task.
  returned: always
  type: dict
different:
  description: Whether a finding is new or mended, or a setting changed.
  returned: always
  type: bool
textfiles:
  description: Folder with the files for Prometheus.
  returned: always
  type: str
units:
  description: Folder of the systemd units.
  returned: with O(schedule=timer)
  type: str
command:
  description: The command that the schedule runs.
  returned: with O(schedule)
  type: list
  elements: str
say:
  description: How to enable the schedule.
  returned: with O(schedule)
  type: list
  elements: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
