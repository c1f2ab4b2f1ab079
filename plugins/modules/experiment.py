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
  - Runs the user's benchmark alternately in two states of the host, before (A) and after (B) the planned changes, and
    reports for each metric the difference in percent with its confidence, or how many more runs are needed.
  - The order within each block of two runs is random. Before and after every run the setters check that each setting
    has the intended value. A run does not count, and its block is repeated, if something else changed a setting, if a
    GPU was too hot or throttled, or if another process started to use a GPU. The experiment ends if more than a quarter
    of all runs and more than three do not count.
  - At the end the chosen final state is set, after a failure the original one. This is also done after an interruption
    by Ctrl-C, C(SIGTERM) or C(SIGHUP), and if C(ansible-playbook) is killed. If the worker process is killed too or the
    connection is lost, P(gpuhost.tuning.restore#role) restores the settings from the journal on the host, and another
    experiment from this controller is refused until then.
  - One experiment at a time runs on a host from a controller.
  - MaxReadReq of GPUs and modules are compared only with O(mode=plan).
  - In check mode it only reports what would be compared, in which order and how long it takes.
  - The records are C(experiment.json) below O(report_dir) and the raw output of every run.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - It reports what would be compared and how long it takes, and changes nothing.
  diff_mode:
    support: none
    details:
      - Temporary changes are not part of the diff.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
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
    description: What it returns as RV(gpuhost.tuning.audit#module:left_alone). If it contains a reason, the experiment
      is refused.
    type: list
    elements: str
    default: []
  benchmark:
    description: The benchmark, as a mapping or the path of a YAML file with it.
    type: raw
    required: true
  overrides:
    description: The overrides that the audit was given. C(overrides.yml) includes them in addition to the changes that
      did not help.
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
    description: Only these changes, by check id or address. Empty means all.
    type: list
    elements: str
    default: []
  blocks:
    description: Blocks of two runs, one in each state, for each comparison. At least eight are needed, more for several
      comparisons. An experiment in which no effect could be significant is refused, with the number of blocks needed.
    type: int
    default: 10
  matters:
    description: Smallest difference of interest, in percent.
    type: float
    default: 2.0
  end:
    description:
      - Final state of the host, V(before) for its original state, V(after) for all changes, or V(best) for those that
        help in one metric and hurt in none. After a failure the original state is restored.
    type: str
    choices: [before, after, best]
    default: before
  seed:
    description: Seed of the order of runs. Random if omitted.
    type: int
  budget_minutes:
    description:
      - Maximum duration in minutes. An experiment that would take longer is refused. The duration of a run is taken
        from a record of the same benchmark on this host, or else from its timeout. When the time is up, no further
        block is started.
    type: float
  pause_seconds:
    description: Seconds to wait before a block with a run outside the limits is repeated.
    type: float
    default: 30.0
  allow_busy:
    description: Also write to GPUs that are in use by a process.
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
    - Each comparison with C(name), C(toggles), C(checks), C(values), and in C(metrics) the result of each metric.
  returned: always
  type: list
  elements: dict
budget:
  description: The expected cost, C(runs), C(warm_up), C(restarts), C(minutes), C(minutes_at_most) and C(gpus).
  returned: always
  type: dict
changes:
  description:
    - The outcome of each setting, as setters tell it, V(changed) where it is left at another value than before and
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
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
