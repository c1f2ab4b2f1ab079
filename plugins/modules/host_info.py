#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Read every setting of a GPU host that the audit checks
version_added: 0.1.0
description:
  - Reads identity, kernel, processors, NUMA, memory, sysctls and the files that set them, services that tune, network
    cards, GPUs with the PCI ports above them, IOMMU, the NVIDIA driver, RDMA devices, Proxmox VE guests and firmware of
    a host in one call, using only the Python standard library.
  - Works without root. Facts that only root can read have the status V(denied) and are listed in RV(facts.unread).
  - Opens no file for writing, loads no module and wakes no suspended device. Runs C(nvidia-smi) only if the driver is
    loaded, its device node exists and every NVIDIA GPU responds on the bus.
  - A fact that can fail is C({status, value}). The status is one of V(ok), V(absent), V(denied), V(read_only),
    V(asleep), V(gone), V(passed_through), V(unparsable), V(not_recorded); the value is null unless the status is V(ok).
  - What a recorded host does not have is V(not_recorded), with the reason as C(why). Such a reading may stand for any
    fact, also for a list or a whole section.
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
  tunables:
    description:
      - Addresses of additional tunables to read, for example V(sysctl:vm.laptop_mode). They are returned in
        RV(facts.tunables).
    type: list
    elements: str
    default: []
  link_samples:
    description:
      - Number of additional samples of the link state of every GPU, 50 milliseconds apart. A link that is idle, flaps
        or falls back under load can show another speed each time; the minimum and maximum are returned in
        RV(facts.gpus).
      - V(0) takes no additional samples. The maximum is V(100), which takes five seconds.
    type: int
    default: 0
  packed:
    description:
      - Return the facts as one string, RV(facts_packed), instead of RV(facts). Ansible processes every value of a
        result, on the host and on the controller; the string is a single value and a tenth of the size.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Read the host
  gpuhost.tuning.host_info:
  register: host

- name: Show the MaxReadReq of every GPU
  ansible.builtin.debug:
    msg: "{{ item.bdf }}: {{ item.pcie.value.max_read_request }}"
  loop: "{{ host.facts.gpus | selectattr('pcie.status', 'eq', 'ok') }}"
  loop_control:
    label: "{{ item.bdf }}"
"""

RETURN = r"""
facts_packed:
  description: The facts as JSON, compressed by zlib, in base64.
  returned: with O(packed)
  type: str
facts:
  description:
    - What was read. The JSON Schema in C(plugins/plugin_utils/schemas/facts.json) describes every key with its path
      and unit.
  returned: success
  type: dict
  contains:
    schema:
      description: Name and version of the schema.
      returned: without O(packed)
      type: str
      sample: gpuhost.facts/1
    unread:
      description: The facts that were denied, each with C(fact) and C(why).
      returned: always
      type: list
      elements: dict
    gpus:
      description:
        - The GPUs. Each has C(link_samples), null or C(looks), C(changes) and the least and the greatest speed (GT/s)
          and width (lanes) of the looks that O(link_samples) asked for.
      returned: always
      type: list
      elements: dict
    tunables:
      description: The readings of O(tunables), by address.
      returned: always
      type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._facts.collect import collect
from ..module_utils._facts.packing import pack
from ..module_utils._host.host import Host


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sysroot": {"type": "path", "default": "/"},
            "tunables": {"type": "list", "elements": "str", "default": []},
            "link_samples": {"type": "int", "default": 0},
            "packed": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        facts = collect(Host(module.params["sysroot"]), module.params["tunables"], module.params["link_samples"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    if module.params["packed"]:
        module.exit_json(changed=False, facts_packed=pack(facts))
    module.exit_json(changed=False, facts=facts)


if __name__ == "__main__":
    main()
