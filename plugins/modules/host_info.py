#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Read every setting of a GPU host that the audit judges
version_added: 0.1.0
description:
  - Reads identity, kernel, processors, NUMA, memory, sysctls and the files that set them, services that tune, network
    cards, GPUs with the PCI ports above them, IOMMU, the NVIDIA driver, RDMA devices, Proxmox VE guests and firmware of
    a host in one call, with the Python standard library alone.
  - Works without root. What only root may read has the status V(denied) and is listed in RV(facts.unread).
  - Opens no file for writing, loads nothing and wakes no suspended device. It runs C(nvidia-smi) only while the driver
    is live, its device node exists and every NVIDIA GPU answers on the bus.
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
    description: Folder on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: path
    default: /
  tunables:
    description:
      - Addresses to read as well, whatever they are, for example V(sysctl:vm.laptop_mode). They are returned in
        RV(facts.tunables).
    type: list
    elements: str
    default: []
  link_samples:
    description:
      - How often to look at the link of every GPU, 50 milliseconds apart, beyond the one look of every call. A link
        that rests, flaps or falls back under load shows another speed each time; the least and the greatest are
        returned in RV(facts.gpus).
      - V(0) takes no further look. The most is V(100), which takes five seconds.
    type: int
    default: 0
  packed:
    description:
      - Return the facts as one text, RV(facts_packed), in place of RV(facts). Ansible looks at every value of a result,
        on the host and on the controller, and a text is one value, here of a tenth of the size.
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
