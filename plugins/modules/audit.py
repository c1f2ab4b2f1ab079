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
  - Reads the host as M(gpuhost.tuning.host_info) does, judges the facts on the controller with the checks of the
    catalogue, and writes C(audit.json) and C(system-improve.md) below O(report_dir), and beside them C(junit.xml),
    C(gpuhost.prom) for the textfile collector of Prometheus' node_exporter, and C(findings.jsonl).
  - The host is only read. Files are written on the controller, as the user who runs Ansible, in check mode too. That
    is never reported as a change.
  - What was measured on the host, by an experiment or of bandwidth, is read from its folder below O(report_dir). The
    report shows it, and findings carry it as C(measured_here). It changes no verdict and no plan.
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
    description: Folder on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Folder on the controller. A relative one starts where the command was started.
    type: str
    default: reports
  profile:
    description: Name of a shipped profile, or the path of a file with your own.
    type: str
    default: inference
  checks:
    description: Files or folders with checks of your own, which are judged beside the shipped ones.
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
      - Values that are wanted besides those of the profile, by kind and address, or the path of a file with them.
        A plan of an earlier run is such a file.
    type: raw
    default: {}
  only:
    description: Judge these check ids alone.
    type: list
    elements: str
    default: []
  skip:
    description: Leave these check ids out.
    type: list
    elements: str
    default: []
  include:
    description: Contested check ids to plan although the profile does not.
    type: list
    elements: str
    default: []
  dedicated:
    description: The host serves one workload alone, so that what would hurt neighbours may be planned.
    type: bool
    default: false
  allow_busy:
    description: Plan changes of GPUs that a process holds open too.
    type: bool
    default: false
  link_samples:
    description:
      - How often to look at the link of every GPU beyond the one look of every audit, 50 milliseconds apart and at most
        V(100) times. Of use while there is load - one look shows one phase of a link.
    type: int
    default: 0
  fail_on:
    description: Fail when something of this priority or above is to be improved. Empty for never.
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
    description: Id of the run, in the form V(20261129T183000Z-4f2a). One is made when it is missing.
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
      - It takes the place of templates with C(default) of Jinja. Each of those is compiled anew for every host, and
        takes a variable whose value cannot be had for one that nobody set. Here such a variable fails the task.
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
      many things there are to do (C(things)), in how many places (C(places)). Findings that one action settles are one
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
  description: The versions in words where the loaded NVIDIA driver and its libraries differ, null where they are one.
  returned: with O(stage=compare)
  type: str
left_alone:
  description:
    - Why nothing is changed on this Proxmox VE node now, for example that the cluster is not quorate. Every planned
      change is refused then. Empty for a host that may be changed, and for one that needs no change.
  returned: with O(stage=before)
  type: list
  elements: str
harm:
  description: What the guard found worse on a device than before the run, each with C(device) and C(what).
  returned: with O(stage=after)
  type: list
  elements: dict
refused:
  description: A line for every change that was refused, C(sysctl:vm.swappiness) and what was wanted and found first.
  returned: with O(stage=after)
  type: list
  elements: str
notes:
  description: What else changed while the run lasted.
  returned: with O(stage=after)
  type: list
  elements: str
lines:
  description: What would have been printed. With Ansible's own stdout callback it is printed instead.
  returned: with another stdout callback
  type: list
  elements: str
"""
