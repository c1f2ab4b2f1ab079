#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: sysctl_snapshot
short_description: Read sysctls, or set them until the next boot
version_added: 0.1.0
description:
  - Without a wanted value only reads.
  - Reads and writes the files below C(/proc/sys) directly, many in one call, and writes no configuration file.
  - Numbers are compared as numbers, so tabs and spaces between them are equivalent. The snapshot keeps the text as the
    kernel prints it.
  - V(vm.dirty_ratio) and V(vm.dirty_bytes), V(vm.dirty_background_ratio) and V(vm.dirty_background_bytes), and
    V(vm.overcommit_ratio) and V(vm.overcommit_kbytes) are one setting each, as a ratio and as a size. They are read,
    set and restored together.
  - Keys that the kernel changes are not read. Keys that cannot be reverted before the next boot, such as
    V(kernel.modules_disabled), and those that set a program for the kernel to run are never written.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.journalled
  - gpuhost.tuning.setter
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  keys:
    description:
      - Keys to read, with dots or slashes. The first separator decides, as in C(sysctl), so both
        V(net.ipv4.conf.eth0/100.rp_filter) and V(net/ipv4/conf/eth0.100/rp_filter) mean the interface C(eth0.100).
    type: list
    elements: str
    default: []
  values:
    description:
      - Wanted values by key. A value is a number, a text, or one of the two mappings below. Booleans are rejected,
        so quote V(on) and V(yes).
      - >-
        C({at_least: 16777216}) sets the number only where the current one is lower, and never lowers it.
      - >-
        C({set: 60, only_from: 10}) sets the value only where the current one is that of C(only_from).
      - The RV(snapshot) of an earlier call can be given here to restore the old values.
    type: dict
    default: {}
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Read two sysctls
  gpuhost.tuning.sysctl_snapshot:
    keys:
      - vm.swappiness
      - kernel.numa_balancing
  register: found

- name: Set several until the next boot
  gpuhost.tuning.sysctl_snapshot:
    values:
      kernel.numa_balancing: 0
      vm.swappiness: 10
      net.core.rmem_max:
        at_least: 16777216
  register: tuned

- name: Restore what was there
  gpuhost.tuning.sysctl_snapshot:
    values: "{{ tuned.snapshot }}"
"""

RETURN = r"""
run_id:
  description: Name of the run in the journal.
  returned: success or refusal
  type: str
  sample: 20261129T183000Z-4f2a
readings:
  description: What the tunables are at the end.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the tunable.
      returned: always
      type: str
      sample: sysctl:vm.swappiness
    status:
      description: V(ok), V(absent), V(denied), V(read_only) or V(unparsable).
      returned: always
      type: str
    value:
      description: The text as the kernel prints it, null unless the status is V(ok).
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
      description: Kind and name of the tunable.
      returned: always
      type: str
    before:
      description: The value before, null where it could not be read.
      returned: always
      type: str
    wanted:
      description: The wanted value, null for a tunable that the kernel changed as well.
      returned: always
      type: raw
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
      sample: EINVAL (Invalid argument)
    certainty:
      description: In check mode V(certain) or V(kernel_decides).
      returned: always
      type: str
    inexact:
      description: Addresses that the kernel changes as well and that cannot be restored exactly.
      returned: always
      type: list
      elements: str
snapshot:
  description: The values before, by key, in the form that O(values) takes. It holds the other name of a pair too.
  returned: success or refusal
  type: dict
  sample: {"vm.swappiness": "60"}
msg:
  description: A line for each change.
  returned: success or refusal
  type: str
  sample: "sysctl:vm.swappiness: changed: 60 -> 10"
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._change.setter import ARGUMENTS, run_setter
from ..module_utils._host.host import Host
from ..module_utils._kinds.sysctl import SysctlKind


def main() -> None:
    module = AnsibleModule(
        argument_spec={**ARGUMENTS, "keys": {"type": "list", "elements": "str", "default": [], "no_log": False}},
        supports_check_mode=True,
    )
    host = Host(module.params["sysroot"])
    run_setter(module, SysctlKind(host), host, module.params["keys"], module.params["values"])


if __name__ == "__main__":
    main()
