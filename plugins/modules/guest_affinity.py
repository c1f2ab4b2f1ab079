#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: guest_affinity
short_description: Read the CPUs of running Proxmox VE guests, or move guests to other CPUs until they stop
version_added: 1.1.0
description:
  - Without a wanted value only reads.
  - Of a VM it sets the affinity of every thread of its QEMU process, and lists the threads again until none is left. Of
    a container it sets C(cpuset.cpus) of its own control group C(lxc/ID), and of C(lxc/ID/ns) if that has a list.
    Nothing else of a control group is ever written.
  - What is set lasts until the guest stops. To place it at each start, use C(qm set ID --affinity LIST), or the line
    C(lxc.cgroup2.cpuset.cpus) in C(/etc/pve/lxc/ID.conf).
  - Threads that somebody pinned individually are recorded individually and restored so.
  - A guest is moved only to CPUs of the NUMA nodes that hold most of its memory, because memory that exists stays where
    it is. Each of these nodes must hold at least half of an even share. No option changes this rule.
  - A container without C(lxc.cgroup2.cpuset.cpus) in its configuration is refused while pvestatd runs, which sets the
    CPUs of such containers every ten seconds.
  - A container whose control group has no list of CPUs is refused too, because the kernel does not remove a list while
    the container runs.
  - Refused as well are a guest that is not running, is locked, has a running task or is changed by high availability;
    CPUs that do not exist, are offline, or are not available to its control group; and hosts with control groups of
    version 1.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.journalled
  - gpuhost.tuning.setter
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  guests:
    description:
      - Guests to read, C(vm:ID) or C(lxc:ID). Without O(guests) and O(values) all running guests are read.
    type: list
    elements: str
    default: []
  values:
    description:
      - Wanted CPU lists by guest, such as V(0-31) or V(0-15,64-79).
      - The text V(0-63 4711=4) is one list for all threads of a VM but thread 4711, which has its own;
        V(0-31 ns=0-15) is that of a container whose inner control group has another list. They occur in a RV(snapshot)
        and restore what was there.
      - >-
        C({set: 0-31, only_from: 0-63}) sets the CPUs only where the current ones are those of C(only_from).
      - The RV(snapshot) of an earlier call can be given here to restore the old CPUs.
    type: dict
    default: {}
seealso:
  - module: gpuhost.tuning.guest_placement
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Read the CPUs of all running guests
  gpuhost.tuning.guest_affinity:
  register: found

- name: Move a VM to the CPUs of its GPU's NUMA node, where its memory is
  gpuhost.tuning.guest_affinity:
    values:
      "vm:200": 0-31,64-95
  register: moved

- name: Restore what was there
  gpuhost.tuning.guest_affinity:
    values: "{{ moved.snapshot }}"
"""

RETURN = r"""
run_id:
  description: Name of the run in the journal.
  returned: success or refusal
  type: str
  sample: 20261129T183000Z-4f2a
readings:
  description: The CPUs at the end, one for each guest.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the tunable.
      returned: always
      type: str
      sample: guest_affinity:vm:200
    status:
      description: V(ok), V(absent) for a guest that is not running, V(denied) or V(unparsable).
      returned: always
      type: str
    value:
      description: The CPU list, and lists that differ from it, null unless the status is V(ok).
      returned: always
      type: str
    detail:
      description: Why there is no value.
      returned: always
      type: str
changes:
  description: The outcome of each wanted value.
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
      description: The wanted value.
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
      sample: EPERM (Operation not permitted)
    certainty:
      description: In check mode V(certain) or V(kernel_decides).
      returned: always
      type: str
    inexact:
      description: Always empty.
      returned: always
      type: list
      elements: str
      sample: []
snapshot:
  description: The CPUs before, by guest, in the form that O(values) takes.
  returned: success or refusal
  type: dict
  sample: {"vm:200": "0-127"}
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
from ..module_utils._kinds.guest_affinity import GuestAffinityKind, running_guests


def main() -> None:
    module = AnsibleModule(
        argument_spec={**ARGUMENTS, "guests": {"type": "list", "elements": "str", "default": []}},
        supports_check_mode=True,
    )
    host = Host(module.params["sysroot"])
    names, values = module.params["guests"], module.params["values"]
    run_setter(module, GuestAffinityKind(host), host, names if names or values else running_guests(host), values)


if __name__ == "__main__":
    main()
