#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tunable_info
short_description: Read tunables of every kind by address
version_added: 1.0.0
description:
  - Reads sysctls, sysfs attributes, MaxReadReq of PCI devices, the state of kernel modules and the CPUs of running
    Proxmox VE guests, each by its address.
  - This module has no option that sets anything. The setters M(gpuhost.tuning.sysctl_snapshot),
    M(gpuhost.tuning.sysfs_attribute), M(gpuhost.tuning.pcie_maxreadreq), M(gpuhost.tuning.nvidia_module) and
    M(gpuhost.tuning.guest_affinity) read in the same way where they are called without a wanted value.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: path
    default: /
  addresses:
    description:
      - Addresses of the tunables, C(kind:name). The kinds are V(sysctl), V(sysfs), V(pcie_maxreadreq), V(module)
        and V(guest_affinity).
      - The name of V(sysfs) may be a pattern, which stands for all files that match it.
    type: list
    elements: str
    required: true
seealso:
  - module: gpuhost.tuning.host_info
"""

EXAMPLES = r"""
- name: Read a sysctl, the governor of every CPU, MaxReadReq of a GPU and a module
  gpuhost.tuning.tunable_info:
    addresses:
      - sysctl:vm.swappiness
      - sysfs:/sys/devices/system/cpu/cpufreq/policy*/scaling_governor
      - pcie_maxreadreq:0000:01:00.0
      - module:nvidia_peermem
  register: found

- name: Show those that could not be read
  ansible.builtin.debug:
    msg: "{{ found.readings | rejectattr('status', 'eq', 'ok') }}"
"""

RETURN = r"""
readings:
  description: One for each address, and for each file that a pattern of sysfs matches.
  returned: success
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the tunable.
      returned: always
      type: str
      sample: sysctl:vm.swappiness
    status:
      description: V(ok), V(absent), V(denied), V(asleep), V(gone), V(unparsable) or V(not_recorded).
      returned: always
      type: str
    value:
      description: What it is, null unless the status is V(ok).
      returned: always
      type: raw
    detail:
      description: Why there is no value.
      returned: always
      type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._facts.tunables import read_named
from ..module_utils._host.host import Host


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sysroot": {"type": "path", "default": "/"},
            "addresses": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        found = read_named(Host(module.params["sysroot"]), module.params["addresses"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, readings=[
        {"address": address, "status": reading.status, "value": reading.value, "detail": reading.detail}
        for address, reading in found.items()])


if __name__ == "__main__":
    main()
