#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bandwidth
short_description: Measure how fast a host copies to, from and between its GPUs
version_added: 0.1.0
description:
  - Reads the host with M(gpuhost.tuning.host_info), measures it with M(gpuhost.tuning.gpu_bandwidth) where that is
    safe, and puts each figure beside what the path allows. C(bandwidth.json), and the evidence for checks that an audit
    shows, are written below O(report_dir) on the controller, as the user who runs Ansible. That is never reported as a
    change.
  - A measurement is the heaviest load that a link gets. It is refused where the driver reported an error of a GPU in
    this boot and where high availability keeps guests of the host; transfers between GPUs are left out where they may
    hang. O(despite) opens these three. Where a GPU hung in this boot, or answers with all ones, nothing opens it.
  - The task fails where data were wrong, where a GPU hung and where the measurement was stopped. What is slow is a
    finding, not a failure.
  - It has not been run on real NVIDIA hardware yet.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - The host is read and what would be refused is told, but nothing is measured.
  diff_mode:
    support: N/A
    details:
      - It changes nothing.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Folder on the managed host that mirrors a host's file system. V(/) is the host itself. A folder cannot
      be measured, the task is skipped then.
    type: str
    default: /
  report_dir:
    description: Folder on the controller. A relative one starts where the command was started.
    type: str
    default: reports
  run_id:
    description: Id of the run, of the form C(20261129T183000Z-4f2a). A new one is made where it is not given.
    type: str
  devices:
    description: PCI addresses of the GPUs to measure. All that the driver serves where it is empty.
    type: list
    elements: str
    default: []
  pairs:
    description: Measure transfers between GPUs too.
    type: bool
    default: true
  concurrent:
    description:
      - Measure copies at once too, each GPU with the host both ways, and with O(pairs) both ways of each pair and all
        writes of a shift. That is the heaviest load that the links of a host get.
    type: bool
    default: true
  sizes:
    description: Bytes of the copies. The module has its own where it is empty.
    type: list
    elements: int
    default: []
  tool:
    description: What measures, the driver's library or NVIDIA's program C(nvbandwidth) where the host has it.
    type: str
    choices: [driver, nvbandwidth]
    default: driver
  container:
    description: Number of the container in which to measure, or V(docker:) or V(podman:) and its name.
    type: str
  timeout:
    description: Seconds that one step may take.
    type: int
  library:
    description: File name of the driver's library.
    type: str
  allow_busy:
    description: Measure although programs use the GPUs. Both then get other figures than alone.
    type: bool
    default: false
  despite:
    description:
      - What to measure in spite of.
      - V(p2p_risk), that transfers between GPUs may hang, because the IOMMU translates and a port redirects.
      - V(xid), that the driver reported an error of a GPU in this boot.
      - V(ha), that the cluster fences the host if it hangs, and starts its guests elsewhere.
    type: list
    elements: str
    choices: [p2p_risk, xid, ha]
    default: []
  slow_below:
    description: Percent of what is expected, below which a copy is slow.
    type: int
    default: 80
seealso:
  - module: gpuhost.tuning.gpu_bandwidth
  - module: gpuhost.tuning.audit
"""

EXAMPLES = r"""
- name: Measure copies and transfers between the GPUs
  gpuhost.tuning.bandwidth:

- name: Measure in the container that serves
  gpuhost.tuning.bandwidth:
    container: "101"
    allow_busy: true
"""

RETURN = r"""
run_id:
  description: Id of the run.
  returned: measured
  type: str
  sample: 20261129T183000Z-4f2a
record:
  description: Path of C(bandwidth.json) of this run on the controller.
  returned: measured
  type: str
summary:
  description: How many GPUs, ordered pairs of them and groups of copies at once have which verdict.
  returned: measured
  type: dict
  sample: {slow: 1, healthy: 71}
slow:
  description: One sentence for each GPU, pair and group that is slow, which it was twice.
  returned: measured
  type: list
  elements: str
not_measured:
  description: What was left out, each with C(subject) and C(reason).
  returned: measured
  type: list
  elements: dict
lines:
  description: What would have been printed. With Ansible's own stdout callback it is printed instead.
  returned: with another stdout callback
  type: list
  elements: str
"""
