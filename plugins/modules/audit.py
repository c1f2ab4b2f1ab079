#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Read a host, judge it and write its report
version_added: 0.1.0
description:
  - Reads the host like M(gpuhost.tuning.host_info), evaluates the facts on the controller with the checks of the
    catalogue, and writes C(audit.json) and C(system-improve.md) below O(report_dir), and beside them C(junit.xml),
    C(gpuhost.prom) for the textfile collector of Prometheus' node_exporter, and C(findings.jsonl).
  - The host is only read. Files are written on the controller, as the user who runs Ansible, also in check mode. This
    is never reported as a change.
  - Results of experiments and bandwidth measurements are read from the host's directory below O(report_dir). The report
    shows them, and findings include them as C(measured_here). They change no verdict and no plan.
  - With O(stage=before) it also makes a plan and writes C(before.json) and C(plan.json) of a run. With O(stage=after)
    it writes C(after.json) and C(outcome.json), and the report shows what the run changed.
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
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  profile:
    description: Name of a shipped profile, or the path of your own profile.
    type: str
    default: inference
  checks:
    description: Files or directories with your own checks, which are evaluated in addition to the shipped ones.
    type: list
    elements: str
    default: []
  waivers:
    description:
      - Findings that are accepted for a time. A list of mappings with C(check), C(reason) and C(expires), and
        optionally C(subject) and C(host), or the path of a YAML file with such a list.
    type: raw
    default: []
  overrides:
    description:
      - "Other values or priorities, by check id, for example C({swappiness: {value: 1}})."
    type: dict
    default: {}
  values:
    description:
      - Values to set in addition to the profile, by kind and address, or the path of a file with them. The plan of an
        earlier run is such a file.
    type: raw
    default: {}
  only:
    description: Evaluate only these check ids.
    type: list
    elements: str
    default: []
  skip:
    description: Check ids to exclude.
    type: list
    elements: str
    default: []
  include:
    description: Contested check ids, or C(guest_affinity), to plan in addition to those of the profile.
    type: list
    elements: str
    default: []
  dedicated:
    description: The host is dedicated to one workload, so that changes that could affect other workloads may be
      planned.
    type: bool
    default: false
  allow_busy:
    description: Also plan changes of GPUs that are in use by a process.
    type: bool
    default: false
  link_samples:
    description:
      - Number of additional samples of the link state of every GPU, 50 milliseconds apart, at most V(100). Useful under
        load, as one sample shows only the state at one moment.
    type: int
    default: 0
  fail_on:
    description: Fail on findings of this priority or higher. Empty means never.
    type: str
    choices: ["", P0, P1, P2]
    default: ""
  csv:
    description: Write C(findings.csv) and C(facts.csv) beside C(audit.json), tables for a spreadsheet.
    type: bool
    default: false
    version_added: 1.0.0
  stage:
    description:
      - What the audit is for. V(before) and V(after) belong to a run that changes the host. V(compare) also tells what
        a run would plan now, without a record of a run.
    type: str
    choices: [audit, compare, before, after]
    default: audit
  run_id:
    description: Id of the run, in the form V(20261129T183000Z-4f2a). Generated if omitted.
    type: str
  changes:
    description: With O(stage=after), what the setters returned as C(changes).
    type: list
    elements: dict
    default: []
  variables:
    description:
      - Options that variables give, each with the names of variables of which the first one that is set counts. What
        the task itself gives counts before them.
      - It takes the place of templates with C(default) of Jinja. Each of those is compiled again for every host, and
        treats a variable that cannot be resolved like one that is not set. Here such a variable fails the task.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Audit the host
  gpuhost.tuning.audit:

- name: Audit, and stop the pipeline when something is broken
  gpuhost.tuning.audit:
    fail_on: P0

- name: Audit with a waiver and another value
  gpuhost.tuning.audit:
    overrides:
      swappiness:
        value: 1
    waivers:
      - check: pcie_maxreadreq
        reason: measured, no gain on this host
        expires: "2027-06-30"

- name: Audit with the profile that the inventory names, if it does
  gpuhost.tuning.audit:
    variables:
      profile: [my_profile, gpuhost_profile]
"""

RETURN = r"""
run_id:
  description: Id of this run.
  returned: success
  type: str
  sample: 20261129T183000Z-4f2a
summary:
  description:
    - How many findings have which verdict (C(verdicts)) and fail without a waiver (C(failing)), and by priority how
      many things there are to do (C(things)), in how many places (C(places)). Findings fixed by one action count as one
      thing.
  returned: success
  type: dict
gate:
  description:
    - Whether the host is worse than O(fail_on). V(limit) is null where none is set, V(exceeded) tells whether the task
      fails for it, V(things) counts what is to do at that priority or above, and V(checks) names them.
    - A task that fails without it failed for another reason. C(last-run.json) in O(report_dir) says the same of every
      host, V(ok), V(findings), V(failed), V(unreachable) or V(not audited).
  returned: success, and where the limit is exceeded
  type: dict
  sample: {limit: P1, exceeded: true, things: 2, checks: [iommu_acs, cpu_governor]}
report:
  description: Path of C(system-improve.md) on the controller.
  returned: success
  type: str
short:
  description: Path of C(system-improve-short.md), the report in 30 lines without names, to be pasted into a thread.
  returned: for a host that M(gpuhost.tuning.import_report) made
  type: str
record:
  description: Path of C(audit.json) on the controller.
  returned: success
  type: str
plan:
  description: The values to be set, by kind and address. Kinds without a change are left out.
  returned: with O(stage=before) or O(stage=compare)
  type: dict
planned:
  description: The changes of the plan, one by one, the skipped ones with their reason included.
  returned: with O(stage=before) or O(stage=compare)
  type: list
  elements: dict
driver_mismatch:
  description: A sentence with the versions if the loaded NVIDIA driver and its libraries have different versions, else
    null.
  returned: with O(stage=compare)
  type: str
left_alone:
  description:
    - Why nothing is changed on this Proxmox VE node now, for example that the cluster has no quorum. Every planned
      change is refused then. Empty for a host that may be changed, and for one that needs no change.
  returned: with O(stage=before)
  type: list
  elements: str
harm:
  description: Device regressions found by the health check after the run, each with C(device) and C(what).
  returned: with O(stage=after)
  type: list
  elements: dict
refused:
  description: A line for every change that was refused, C(sysctl:vm.swappiness) and what was wanted and found first.
  returned: with O(stage=after)
  type: list
  elements: str
notes:
  description: Other changes observed during the run.
  returned: with O(stage=after)
  type: list
  elements: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
