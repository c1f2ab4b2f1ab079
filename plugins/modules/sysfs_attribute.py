#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: sysfs_attribute
short_description: Read sysfs attributes, or set those on an allow-list until the next boot
version_added: 0.1.0
description:
  - Without a wanted value only reads.
  - Writes only files on an allow-list that no option extends. It contains the files C(scaling_governor),
    C(energy_performance_preference), C(scaling_max_freq), C(scaling_min_freq) and C(boost) of cpufreq policies,
    C(cpufreq/boost), C(intel_pstate/no_turbo), C(disable) of idle states, C(enabled), C(defrag), C(shmem_enabled) and
    C(khugepaged) of transparent huge pages, C(ksm/run) with V(0) and V(1), the policy of C(pcie_aspm) and
    C(current_clocksource).
  - Everything else is refused. This includes C(remove), C(rescan), C(reset), C(bind),
    C(unbind), C(new_id), C(driver_override), C(rom), C(resource*), C(config), C(numa_node), C(online), C(smt), the
    type of IOMMU groups, EFI variables, control groups, tracing and watchdogs.
  - Of a file such as C(always [madvise] never) the word in brackets is the value.
  - The files of one cpufreq policy are written in the order governor, preference, boost, limits, and together or not
    at all. Boost of all policies at once comes before their limits too, which the kernel may reset with it.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.journalled
  - gpuhost.tuning.setter
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  paths:
    description:
      - Files to read, or shell patterns for them. Besides the files that may be written these are all below
        C(/sys/devices/system), C(/sys/kernel/mm), C(/sys/kernel/security), C(/sys/module) and C(/sys/class/dmi/id).
        Files of devices are not read, for that may wake the device.
    type: list
    elements: str
    default: []
  values:
    description:
      - Wanted values by path, or by a shell pattern that stands for every file it fits. A file named itself comes
        before a pattern. Booleans are rejected, so quote V(on) and V(yes).
      - >-
        C({set: madvise, only_from: always}) sets the value only where the current one is that of C(only_from).
      - The RV(snapshot) of an earlier call can be given here to restore the old values.
    type: dict
    default: {}
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Read the governor of every policy
  gpuhost.tuning.sysfs_attribute:
    paths:
      - /sys/devices/system/cpu/cpufreq/policy*/scaling_governor

- name: Let all processors run at full speed until the next boot
  gpuhost.tuning.sysfs_attribute:
    values:
      /sys/devices/system/cpu/cpufreq/policy*/scaling_governor: performance

- name: Give huge pages to those who ask
  gpuhost.tuning.sysfs_attribute:
    values:
      /sys/kernel/mm/transparent_hugepage/enabled: madvise
  register: tuned

- name: Restore what was there
  gpuhost.tuning.sysfs_attribute:
    values: "{{ tuned.snapshot }}"
"""

RETURN = r"""
run_id:
  description: Name of the run in the journal.
  returned: success or refusal
  type: str
  sample: 20261129T183000Z-4f2a
readings:
  description: What the tunables are at the end, one for each file that a pattern fits.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and path of the tunable, links followed.
      returned: always
      type: str
      sample: sysfs:/sys/kernel/mm/transparent_hugepage/enabled
    status:
      description: V(ok), V(absent), V(denied), V(read_only) or V(unparsable).
      returned: always
      type: str
    value:
      description: The text, or the word in brackets, null unless the status is V(ok).
      returned: always
      type: str
    detail:
      description: Why there is no value.
      returned: always
      type: str
changes:
  description: The outcome of each wanted value, and of tunables that the kernel changed as well.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and path of the tunable.
      returned: always
      type: str
    before:
      description: The value before, null where it could not be read.
      returned: always
      type: str
    wanted:
      description: The wanted value, null for a tunable that the kernel changed as well.
      returned: always
      type: str
    after:
      description: The value that was read back, in check mode the one to be expected.
      returned: always
      type: str
    outcome:
      description: V(unchanged), V(would_change), V(changed), V(refused), V(reverted) or V(skipped).
      returned: always
      type: str
    reason:
      description: Why, for everything but a plain change.
      returned: always
      type: str
    error:
      description: The error of the system call, if one refused.
      returned: always
      type: str
      sample: EBUSY (Device or resource busy)
    certainty:
      description: In check mode V(certain) or V(kernel_decides).
      returned: always
      type: str
    inexact:
      description: Addresses that the kernel changes as well and that cannot be restored exactly.
      returned: always
      type: list
      elements: str
      sample: ["sysctl:vm.min_free_kbytes"]
snapshot:
  description: The values before, by path, in the form that O(values) takes.
  returned: success or refusal
  type: dict
  sample: {"/sys/kernel/mm/transparent_hugepage/enabled": "always"}
msg:
  description: A line for each change.
  returned: success or refusal
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._change.setter import ARGUMENTS, run_setter
from ..module_utils._host.host import Host
from ..module_utils._kinds.sysfs import SysfsKind


def main() -> None:
    module = AnsibleModule(
        argument_spec={**ARGUMENTS, "paths": {"type": "list", "elements": "str", "default": []}},
        supports_check_mode=True,
    )
    host = Host(module.params["sysroot"])
    run_setter(module, SysfsKind(host), host, module.params["paths"], module.params["values"])


if __name__ == "__main__":
    main()
