#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: experiment
short_description: Measure which planned changes help, by alternating between before and after
version_added: 0.1.0
description:
  - Runs the benchmark of the user in two states of the host in turn, before (A) and after (B) the planned changes, and
    says for each metric by how many percent they differ, how sure that is, or how many more runs would tell.
  - The order within each block of two runs is drawn by chance. Before and behind every run the setters look whether
    each setting is what it is to be. A run during which somebody else changed one, during which a GPU was too hot or
    throttled, or during which somebody else came to a GPU does not count, and its block is run again. After more such
    runs than a quarter of all, and more than three, the experiment gives up.
  - At the end the settings are brought to the state that was chosen, after a failure to what they were before. That is
    done too when it is interrupted by Ctrl-C, C(SIGTERM) or C(SIGHUP), and when C(ansible-playbook) is killed. Where
    the worker process is killed too or the connection is lost, P(gpuhost.tuning.restore#role) brings them back by the
    journal on the host, and another experiment from this controller is refused until then.
  - One experiment at a time runs on a host from a controller.
  - MaxReadReq of GPUs and modules are compared only with O(mode=plan).
  - In check mode it only says what would be compared, in which order and at what cost.
  - The records are C(experiment.json) below O(report_dir) and the raw output of every run.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - It says what would be compared and at what cost, and changes nothing.
  diff_mode:
    support: none
    details:
      - What is set for a time and taken back makes no difference.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Folder on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Folder on the controller. A relative one starts where the command was started.
    type: str
    default: reports
  run_id:
    description: Id of the run, as M(gpuhost.tuning.audit) with O(gpuhost.tuning.audit#module:stage=before) returns it.
    type: str
    required: true
  changes:
    description: What the same audit returns as RV(gpuhost.tuning.audit#module:planned).
    type: list
    elements: dict
    required: true
  left_alone:
    description: What it returns as RV(gpuhost.tuning.audit#module:left_alone). With a reason in it nothing is begun.
    type: list
    elements: str
    default: []
  benchmark:
    description: What to measure with, as a mapping or the path of a YAML file with it.
    type: raw
    required: true
  overrides:
    description: The overrides that the audit was given. C(overrides.yml) holds them beside what did not help.
    type: dict
    default: {}
  mode:
    description:
      - V(plan) compares the host with all changes and without any.
      - V(one_at_a_time) compares each change alone with none. Changes of one check, and those that the kernel couples,
        are made together. At most eight can be told apart.
      - V(leave_one_out) compares all changes with all but one.
    type: str
    choices: [plan, one_at_a_time, leave_one_out]
    default: plan
  only:
    description: Of the changes only these, by check id or address. Empty for all.
    type: list
    elements: str
    default: []
  blocks:
    description: Blocks of two runs, one in each state, for each comparison. Fewer than eight tell nothing, and of
      several comparisons more are needed. An experiment in which nothing could stand is refused with the number that
      would do.
    type: int
    default: 10
  matters:
    description: Percent below which a difference is of no interest.
    type: float
    default: 2.0
  end:
    description:
      - How the host is left, V(before) as it was, V(after) with all changes, or V(best) with those that help by one
        metric and hurt by none. After a failure it is left as it was.
    type: str
    choices: [before, after, best]
    default: before
  seed:
    description: Number that decides the order of the runs. One is drawn when it is missing.
    type: int
  budget_minutes:
    description:
      - Minutes that it may take. One that would take longer is not begun. What a run takes is known from a record of
        the same benchmark on this host, else its time limit counts. When the time is up, no further block is begun.
    type: float
  pause_seconds:
    description: Seconds to wait before a block is run again that had a run outside the limits.
    type: float
    default: 30.0
  allow_busy:
    description: Write to GPUs that a process holds open too.
    type: bool
    default: false
seealso:
  - module: gpuhost.tuning.audit
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Plan
  gpuhost.tuning.audit:
    stage: before
  register: before

- name: Tell which of the changes help
  gpuhost.tuning.experiment:
    run_id: "{{ before.run_id }}"
    changes: "{{ before.planned }}"
    left_alone: "{{ before.left_alone }}"
    mode: one_at_a_time
    blocks: 12
    benchmark:
      name: llama-bench
      command: [/opt/llama.cpp/llama-bench, -m, /srv/model.gguf, -o, json]
      metrics:
        tokens_per_second:
          json: "[0].avg_ts"
          better: higher
"""

RETURN = r"""
arms:
  description:
    - Each comparison with C(name), C(toggles), C(checks), C(values), and in C(metrics) what came of each metric.
  returned: always
  type: list
  elements: dict
budget:
  description: What it was said to cost, C(runs), C(warm_up), C(restarts), C(minutes), C(minutes_at_most) and C(gpus).
  returned: always
  type: dict
changes:
  description:
    - What became of each setting, as setters tell it, V(changed) where it is left at another value than before and
      V(reverted) where it is back.
  returned: always
  type: list
  elements: dict
ended:
  description: How it ended.
  returned: always
  type: str
  sample: finished
record:
  description: Path of C(experiment.json) on the controller, null in check mode.
  returned: always
  type: str
lines:
  description: What would have been printed. With Ansible's own stdout callback it is printed instead.
  returned: with another stdout callback
  type: list
  elements: str
"""
