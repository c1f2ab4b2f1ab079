#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark
short_description: Run your own benchmark several times and record the results
version_added: 0.1.0
description:
  - Runs the command of O(benchmark) with M(gpuhost.tuning.workload) on the host or in one of its containers, or on the
    controller, several times, and extracts metrics from its output.
  - The first runs are for warm-up. A run outside the limits, for example on a hot GPU, is recorded but does not count.
  - Writes C(benchmark.json) and the command's output below O(report_dir) on the controller, as the user who runs
    Ansible. That is never reported as a change, and neither is what the command does.
  - A command that fails, hangs or is killed, a missing metric, a container that is not running and a reboot of the host
    end it with one message. The results so far are recorded.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - Nothing is run. The module reports what would be run.
  diff_mode:
    support: N/A
    details:
      - It changes nothing itself.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  benchmark:
    description:
      - A mapping with C(name), C(command) and C(metrics), or the path of a YAML file with such a mapping, on the
        controller. A relative one starts where the command was started.
      - The other keys, all with defaults, are C(where) (V(host), V(lxc:101) or V(controller)), C(chdir),
        C(environment), C(timeout), C(repetitions), C(warm_up), C(settle_seconds), C(output), C(records), C(restart),
        C(starts_workload) and C(limits).
      - Each metric has C(better) (V(higher) or V(lower)) and either C(json), a jmespath expression that yields a
        number, or C(pattern), a regular expression whose group C(value) is the number; C(unit) is shown beside it.
    type: raw
    required: true
  sysroot:
    description:
      - Directory on the managed host that mirrors a host's file system. V(/) is the host itself. For another one only a
        command that runs on the controller can be measured.
    type: str
    default: /
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  run_id:
    description: Id of this run, V(20261129T183000Z-4f2a) for example. Generated if omitted.
    type: str
seealso:
  - module: gpuhost.tuning.workload
"""

EXAMPLES = r"""
- name: Measure the model in its container
  gpuhost.tuning.benchmark:
    benchmark:
      name: small model
      where: lxc:101
      command: [llama-bench, -m, /models/small.gguf, -o, json]
      metrics:
        generated: {json: "[?n_gen > `0`].avg_ts | [0]", better: higher, unit: tok/s}

- name: Measure what a file says
  gpuhost.tuning.benchmark:
    benchmark: benchmarks/vllm_bench_serve.yml
"""

RETURN = r"""
summary:
  description: For each metric the C(median), the lowest (C(low)) and the highest (C(high)) value of the C(runs) that
    count.
  returned: where a run was made
  type: dict
  sample: {generated: {median: 141.2, low: 139.8, high: 141.9, runs: 5}}
runs:
  description: How many runs were made, including those for warm-up.
  returned: where a run was made
  type: int
discarded:
  description: How many of the others do not count.
  returned: where a run was made
  type: int
record:
  description: Path of C(benchmark.json) on the controller.
  returned: where a run was made
  type: str
  sample: reports/pve1/20261129T183000Z-4f2a/benchmark.json
run_id:
  description: Id of this run.
  returned: success
  type: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
