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
  - Reads the host with M(gpuhost.tuning.host_info), measures it with M(gpuhost.tuning.gpu_bandwidth) if that is safe,
    and compares each result with what the path allows. C(bandwidth.json), and the evidence for checks that an audit
    shows, are written below O(report_dir) on the controller, as the user who runs Ansible. This is never reported as a
    change.
  - A measurement is the heaviest load a link can get. It is refused if the driver reported an error of a GPU since
    boot, and if high availability manages guests of the host; transfers between GPUs are skipped if they may hang.
    O(despite) overrides these three. If a GPU hung since boot, or reads all ones, no option overrides the refusal.
  - The task fails if data was corrupted, if a GPU hung or if the measurement was stopped. Slow copies are a finding,
    not a failure.
  - It has not been run on real NVIDIA hardware yet.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - The host is read and refusals are reported, but nothing is measured.
  diff_mode:
    support: N/A
    details:
      - It changes nothing.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Directory on the managed host that mirrors a host's file system. V(/) is the host itself. For a
      directory the task is skipped.
    type: str
    default: /
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  run_id:
    description: Id of the run, of the form C(20261129T183000Z-4f2a). Generated if omitted.
    type: str
  devices:
    description: PCI addresses of the GPUs to measure. Empty means all GPUs of the driver.
    type: list
    elements: str
    default: []
  pairs:
    description: Measure transfers between GPUs too.
    type: bool
    default: true
  concurrent:
    description:
      - Measure concurrent copies too, between each GPU and the host in both directions, and with O(pairs) both
        directions of each pair and all writes of a shift. This is the heaviest load for the links of a host.
    type: bool
    default: true
  sizes:
    description: Sizes of the copies in bytes. Empty means the module's default.
    type: list
    elements: int
    default: []
  tool:
    description: Measure with the driver library, or with NVIDIA's program C(nvbandwidth) if the host has it.
    type: str
    choices: [driver, nvbandwidth]
    default: driver
  container:
    description: Id of the container in which to measure, or V(docker:) or V(podman:) and its name.
    type: str
  timeout:
    description: Timeout of one step in seconds.
    type: int
  library:
    description: File name of the driver's library.
    type: str
  allow_busy:
    description: Measure even if programs use the GPUs. Both then affect each other's results.
    type: bool
    default: false
  despite:
    description:
      - Refusals to override.
      - V(p2p_risk), that transfers between GPUs may hang, because the IOMMU translates and a port redirects.
      - V(xid), that the driver reported an error of a GPU in this boot.
      - V(ha), that the cluster fences the host if it hangs, and starts its guests elsewhere.
    type: list
    elements: str
    choices: [p2p_risk, xid, ha]
    default: []
  slow_below:
    description: Percent of the expected bandwidth below which a copy is slow.
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
  description: How many GPUs, ordered pairs of them and groups of concurrent copies have which verdict.
  returned: measured
  type: dict
  sample: {slow: 1, healthy: 71}
slow:
  description: One sentence for each GPU, pair and group that was slow in two measurements.
  returned: measured
  type: list
  elements: str
not_measured:
  description: What was skipped, each with C(subject) and C(reason).
  returned: measured
  type: list
  elements: dict
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
