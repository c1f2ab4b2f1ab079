#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: guest_placement
short_description: Set where a VM of Proxmox VE runs from its next start on
version_added: 1.0.0
description:
  - Sets C(affinity), C(numa) and C(numa0) to C(numa7) of VMs by C(qm set --digest), and no other option. Nothing is
    started, stopped or migrated. A VM that runs takes the change when it is shut down and started.
  - A VM that is locked, or whose options are no longer those of C(only_from), is refused, and so is one whose
    configuration somebody writes meanwhile. What was written is read back.
  - Needs a live Proxmox VE node. For a folder that mirrors one the outcome is V(skipped).
extends_documentation_fragment:
  - gpuhost.tuning.attributes
author:
  - gpuhost.tuning contributors (@gpuhost)
attributes:
  check_mode:
    support: full
    details:
      - Nothing is written. What can be refused without a write is told, and does not fail the task.
  diff_mode:
    support: full
    details:
      - A line for each option that changes.
options:
  values:
    description:
      - By VM, C(vm:200), a mapping with C(set), its options with their texts, null for one that is not to be set, and
        perhaps C(only_from), what they have to be now.
      - The RV(snapshot) of an earlier call brings the old options back.
    type: dict
    required: true
  sysroot:
    description: Folder on the managed host that mirrors a host.
    type: path
    default: /
seealso:
  - module: gpuhost.tuning.placement
"""

EXAMPLES = r"""
- name: Let VM 200 run on node 0 from its next start on
  gpuhost.tuning.guest_placement:
    values:
      vm:200:
        set:
          affinity: 0-31,128-159
          numa: "1"
          numa0: cpus=0-31,hostnodes=0,memory=262144,policy=bind
  register: placed

- name: Take it back
  gpuhost.tuning.guest_placement:
    values: "{{ placed.snapshot }}"
"""

RETURN = r"""
changes:
  description:
    - One for each VM, with C(address), C(before), C(wanted) and C(after), mappings of options with null for one that is
      not set, C(outcome) and C(reason). Changes that wait for the next start count as made.
  returned: always
  type: list
  elements: dict
snapshot:
  description: The old options of every VM that was changed, guarded by the new ones, as O(values) takes them.
  returned: always
  type: dict
msg:
  description: A line for each VM.
  returned: always
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._guest_config.placed_vm import PlacedVm
from ..module_utils._host.host import Host


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "values": {"type": "dict", "required": True},
            "sysroot": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    try:
        host = Host(module.params["sysroot"])
        vms = [PlacedVm(host, subject, entry) for subject, entry in module.params["values"].items()]
    except ValueError as problem:
        module.fail_json(msg=str(problem), changes=[], snapshot={})
    changes = [vm.apply(module.check_mode) for vm in vms]
    made = [change for change in changes if change["outcome"] in ("changed", "would_change")]
    result = {
        "changed": bool(made), "changes": changes,
        "snapshot": {change["address"]: {"set": change["before"], "only_from": change["wanted"]} for change in made},
        "msg": "\n".join(_line(change) for change in changes),
    }
    if module._diff:
        result["diff"] = {name: "".join(_options(change, key) for change in made)
                          for name, key in (("before", "before"), ("after", "wanted"))}
    if not module.check_mode and any(change["outcome"] == "refused" for change in changes):
        module.fail_json(**result)
    module.exit_json(**result)


def _line(change: dict) -> str:
    return f"{change['address']}: {change['outcome']}" + (f": {change['reason']}" if change["reason"] else "")


def _options(change: dict, key: str) -> str:
    return "".join(f"{change['address']} {name}: {text}\n" for name, text in sorted(change[key].items())
                   if text is not None)


if __name__ == "__main__":
    main()
