#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_module
short_description: Read the NVIDIA driver's kernel modules, or load and unload its helpers until the next boot
version_added: 0.1.0
description:
  - Without a wanted value only reads.
  - Loads V(nvidia_peermem), V(gdrdrv), V(nvidia_fs) and V(nvidia_uvm), and unloads the first three, only while the
    module V(nvidia) is live. Every other module is only read. For the driver itself, the refusal lists the device
    numbers and containers that depend on it.
  - V(nvidia_peermem) is not loaded on a host without an RDMA device. The outcome is then V(skipped), and the task does
    not fail.
  - A module that fails to load is classified from the error and from what the kernel logged meanwhile.
  - Only the module itself is unloaded, never its dependencies. A module in use is refused before the attempt, with its
    users. Nothing is forced and no service is stopped.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.journalled
  - gpuhost.tuning.setter
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  name:
    description: Name of a module, with hyphens or underscores. Without it and without O(values) all modules of the
      driver, its helpers, C(nouveau) and C(ib_core) are read.
    type: str
  state:
    description: What O(name) is to be. It is only read if this is not set.
    type: str
    choices: [present, absent]
  values:
    description:
      - Wanted states by name, V(present) or V(absent), instead of O(name) and O(state).
      - >-
        C({set: absent, only_from: present}) sets the state only where the current one is that of C(only_from).
      - The RV(snapshot) of an earlier call can be given here to restore the old states.
    type: dict
    default: {}
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Read all modules of the driver
  gpuhost.tuning.nvidia_module:
  register: driver

- name: Load nvidia_peermem until the next boot, where there is an RDMA device
  gpuhost.tuning.nvidia_module:
    name: nvidia_peermem
    state: present
  register: peermem

- name: Restore what was there
  gpuhost.tuning.nvidia_module:
    values: "{{ peermem.snapshot }}"
"""

RETURN = r"""
run_id:
  description: Name of the run in the journal.
  returned: success or refusal
  type: str
  sample: 20261129T183000Z-4f2a
readings:
  description: What the modules are at the end.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the module, as the kernel spells it.
      returned: always
      type: str
      sample: module:nvidia_peermem
    status:
      description: V(ok), or V(unparsable) for a module that is being loaded or unloaded.
      returned: always
      type: str
    value:
      description: V(present) or V(absent).
      returned: always
      type: str
    detail:
      description: Why there is no value.
      returned: always
      type: str
changes:
  description: The outcome of each wanted state.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the module.
      returned: always
      type: str
    before:
      description: V(present) or V(absent).
      returned: always
      type: str
    wanted:
      description: What was asked for.
      returned: always
      type: str
    after:
      description: The state that was read back, in check mode the one to be expected.
      returned: always
      type: str
    outcome:
      description: V(unchanged), V(would_change), V(changed), V(refused), V(reverted) or V(skipped).
      returned: always
      type: str
    reason:
      description: Why not, or the modules that are loaded along.
      returned: always
      type: str
      sample: "not_applicable: no RDMA device in /sys/class/infiniband"
    error:
      description: The output of the program, if it failed.
      returned: always
      type: str
    certainty:
      description: In check mode V(certain) or V(kernel_decides).
      returned: always
      type: str
    inexact:
      description: Addresses of modules that are loaded along, and stay.
      returned: always
      type: list
      elements: str
snapshot:
  description: The states before, by name, in the form that O(values) takes.
  returned: success or refusal
  type: dict
  sample: {"nvidia_peermem": "absent"}
modules:
  description: The modules as they are at the end.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    name:
      description: Name as the kernel spells it.
      returned: always
      type: str
    state:
      description: V(live), V(built_in), V(coming), V(going) or V(absent).
      returned: always
      type: str
    version:
      description: Version of the image in the kernel, as C({status, value}).
      returned: always
      type: dict
    refcount:
      description: Uses by modules and others, as C({status, value}).
      returned: always
      type: dict
    holders:
      description: Modules that use it.
      returned: always
      type: list
      elements: str
failures:
  description: Why a module was not loaded or unloaded, where that is known.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of the module.
      returned: always
      type: str
    class:
      description: V(not_applicable), V(symbol_mismatch), V(symbol_missing), V(stub), V(signature_rejected),
        V(wrong_version), V(no_device), V(in_use), V(not_installed), V(timeout) or V(unknown).
      returned: always
      type: str
    said:
      description: The output of the program.
      returned: always
      type: str
    log:
      description: What the kernel logged meanwhile.
      returned: always
      type: list
      elements: str
    hint:
      description: What helps.
      returned: always
      type: str
    secure_boot:
      description: Whether the firmware booted with Secure Boot, if the signature was rejected.
      returned: always
      type: bool
    signer:
      description: Who signed the module, if the signature was rejected.
      returned: always
      type: str
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
from ..module_utils._kinds.kmod import ModuleKind
from ..module_utils._nvidia.driver import MODULES


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "name": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"]},
        },
        mutually_exclusive=[("name", "values")],
        required_by={"state": "name"},
        supports_check_mode=True,
    )
    params = module.params
    host = Host(params["sysroot"])
    name, values = params["name"], params["values"]
    if params["state"]:
        values = {name: params["state"]}
    names = [name] if name else [] if values else list(MODULES)
    run_setter(module, ModuleKind(host), host, names, values)


if __name__ == "__main__":
    main()
