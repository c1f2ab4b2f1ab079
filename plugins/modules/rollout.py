#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: Roll a change out to a fleet in batches, with a gate after each
version_added: 0.1.0
description:
  - The tasks around the role P(gpuhost.tuning.tune_runtime#role) in a play with C(serial), as in the playbook
    C(gpuhost.tuning.tune_runtime).
  - The record of a rollout is below C(.rollouts) in O(report_dir), on the controller. It has the outcome of every host,
    also after an interruption.
  - Only O(stage=again) contacts a host, and only reads it.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  stage:
    description:
      - V(begin) opens a batch. In the first one it makes the id of the run, later it finds it. It fails unless the gate
        after the batch before was passed. Register it as C(rollout_batch), and set C(run_once).
      - V(soak) waits, and returns the hosts to look at again. There is nothing to wait for after the last batch, after
        one that changed nothing, and in check mode. Set C(run_once).
      - V(again) looks at O(host), to which the task is delegated, whether it is still as the run left it. It does not
        fail when that host does, it puts it down.
      - V(gate) fails when more hosts than O(max_failed) were refused, failed, restored or lost, or are unreachable or
        unknown. With C(run_once) that ends the play.
      - V(restored) records that the run on this host was taken back.
    type: str
    required: true
    choices: [begin, soak, again, gate, restored]
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  run_id:
    description: Id of the run, in the form V(20261129T183000Z-4f2a). Generated if omitted.
    type: str
  folder:
    description: The RV(folder) that the stage V(begin) returned.
    type: str
  host:
    description: With O(stage=again), the name of the host in the inventory.
    type: str
  soak_seconds:
    description: With O(stage=soak), how long to wait.
    type: int
    default: 30
  look_again:
    description: With O(stage=soak), how many hosts are rechecked at most.
    type: int
    default: 100
  max_failed:
    description: How many hosts may fail before the rollout stops.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Begin the batch
  gpuhost.tuning.rollout:
    stage: begin
  register: rollout_batch
  run_once: true

- name: Pass the gate to the next batch
  gpuhost.tuning.rollout:
    stage: gate
    folder: "{{ rollout_batch.folder }}"
    max_failed: 2
  run_once: true
"""

RETURN = r"""
run_id:
  description: Id of the run, the same for all batches.
  returned: with O(stage=begin)
  type: str
folder:
  description: Where the rollout is recorded.
  returned: with O(stage=begin)
  type: str
batch:
  description: Number of the batch, from 1.
  returned: with O(stage=begin)
  type: int
hosts:
  description: The hosts to recheck.
  returned: with O(stage=soak)
  type: list
  elements: str
seconds:
  description: How long it waited.
  returned: with O(stage=soak)
  type: int
host:
  description: The host that was rechecked.
  returned: with O(stage=again)
  type: str
state:
  description: Its state, for example V(changed) or V(drifted).
  returned: with O(stage=again)
  type: str
reasons:
  description: What is no longer as the run left it.
  returned: with O(stage=again)
  type: list
  elements: str
failed_hosts:
  description: The hosts that count against O(max_failed).
  returned: with O(stage=gate)
  type: list
  elements: str
passed:
  description: Whether the next batch may start.
  returned: with O(stage=gate)
  type: bool
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
