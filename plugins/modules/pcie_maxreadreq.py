#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: pcie_maxreadreq
short_description: Read MaxReadReq of PCI devices, or set it on GPUs until the next boot or reset
version_added: 0.1.0
description:
  - Without a wanted value only reads.
  - Max_Read_Request_Size is the largest read request of a device, in bytes. It limits reads by the GPU, not writes, and
    whether a larger one is faster depends on the host. Measure before and after.
  - Changes bits 14 to 12 of Device Control and nothing else, with one write of 16 bits, wherever the PCI Express
    capability of the device lies. The value is read back.
  - Writes only to function 0 of display controllers (class 03xx) and processing accelerators (class 1200). Refused are
    a device that is bound to V(vfio-pci) or named by a Proxmox VE virtual machine, running or not; one that the driver
    of its vendor does not hold (V(nouveau), V(pci-stub), V(uio_pci_generic), none), or that it could not start; a
    virtual function, and a physical function whose virtual functions serve guests; a device that is asleep or no longer
    answers; one
    that a process uses, see O(allow_busy); and every device while it is unknown whether a virtual machine claims it,
    because C(/etc/pve) is empty or cannot be read. All of this is rechecked inside the write.
  - A GPU that is shared into containers belongs to the host. It is set, and the containers are named.
  - Any device can be read. A suspended one is not woken.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.journalled
  - gpuhost.tuning.setter
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  devices:
    description:
      - Addresses of the devices to read, or to set to O(bytes), for example V(0000:01:00.0). Without the domain the
        address must fit one device only.
      - Quote addresses. YAML reads V(0000:41:00.0) without quotes as the number 2460.0.
    type: list
    elements: str
    default: []
  vendor:
    description: Instead of O(devices), the GPUs of this vendor id, for example V(10de).
    type: str
  class:
    description: Instead of O(devices), all devices whose class begins with these digits, for example V(0302) or V(02).
    type: str
  driver:
    description: Instead of O(devices), the GPUs that are bound to this driver, for example V(nvidia).
    type: str
  bytes:
    description:
      - The size for O(devices), for those that O(vendor), O(class) and O(driver) select together, or without any of
        them for all GPUs.
      - One of V(128), V(256), V(512), V(1024), V(2048) and V(4096), spelled so. O(values) takes the same.
    type: raw
  values:
    description:
      - Wanted sizes by address, instead of O(bytes). An address has its domain and is quoted.
      - >-
        C({set: 512, only_from: 4096, identity: '10de:2bb5 10de:204e a1'}) sets the size only where the current one is
        that of C(only_from), and only on the same device and board.
      - The RV(snapshot) of an earlier call can be given here to restore the old sizes.
    type: dict
    default: {}
  allow_busy:
    description: Also set GPUs that are in use by a process. C(nvidia-persistenced) never counts.
    type: bool
    default: false
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Read MaxReadReq of every GPU
  gpuhost.tuning.pcie_maxreadreq:
  register: found

- name: Set all idle NVIDIA GPUs to 4096 bytes until the next boot
  gpuhost.tuning.pcie_maxreadreq:
    vendor: 10de
    driver: nvidia
    bytes: 4096
  register: tuned

- name: Set two GPUs to sizes of their own
  gpuhost.tuning.pcie_maxreadreq:
    values:
      "0000:01:00.0": 4096
      "0000:41:00.0": 512

- name: Restore what was there
  gpuhost.tuning.pcie_maxreadreq:
    values: "{{ tuned.snapshot }}"
"""

RETURN = r"""
run_id:
  description: Name of the run in the journal.
  returned: success or refusal
  type: str
  sample: 20261129T183000Z-4f2a
readings:
  description: What the devices have at the end.
  returned: success or refusal
  type: list
  elements: dict
  contains:
    address:
      description: Kind and address of the tunable, as the kernel writes it.
      returned: always
      type: str
      sample: pcie_maxreadreq:0000:01:00.0
    status:
      description: V(ok), V(absent), V(denied), V(asleep), V(gone) or V(unparsable).
      returned: always
      type: str
    value:
      description: Bytes, null unless the status is V(ok).
      returned: always
      type: int
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
      description: Kind and address of the tunable.
      returned: always
      type: str
    before:
      description: Bytes before, null where they could not be read.
      returned: always
      type: int
    wanted:
      description: Bytes that were asked for.
      returned: always
      type: int
    after:
      description: Bytes that were read back, in check mode those to be expected.
      returned: always
      type: int
    outcome:
      description: V(unchanged), V(would_change), V(changed), V(refused), V(reverted) or V(skipped).
      returned: always
      type: str
    reason:
      description: Why not, or which containers and processes share a GPU that was set.
      returned: always
      type: str
      sample: "passed_through: it is bound to vfio-pci"
    error:
      description: The error of the system call, if one refused.
      returned: always
      type: str
    certainty:
      description: In check mode V(kernel_decides), because a device may ignore the write.
      returned: always
      type: str
    inexact:
      description: Always empty.
      returned: always
      type: list
      elements: str
snapshot:
  description: The sizes before, by address, in the form that O(values) takes.
  returned: success or refusal
  type: dict
  sample: {"0000:01:00.0": 512}
msg:
  description: A line for each change.
  returned: success or refusal
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._change.setter import ARGUMENTS, find_tunables, run_setter
from ..module_utils._host.host import Host
from ..module_utils._kinds.maxreadreq import MaxReadRequestKind, select
from ..module_utils._tunables.maxreadreq import parse_size


def size_of_all(value: object) -> int:
    """The option `bytes`, held to what `values` takes."""
    try:
        return parse_size(value)
    except ValueError as bad:
        raise ValueError(f"bytes: {bad}") from None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "devices": {"type": "list", "elements": "str", "default": []},
            "vendor": {"type": "str"},
            "class": {"type": "str"},
            "driver": {"type": "str"},
            "bytes": {"type": "raw"},       # an int would take 512.0 and 5_12, which `values` does not
            "allow_busy": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("bytes", "values"), ("devices", "vendor"), ("devices", "class"), ("devices", "driver")],
        supports_check_mode=True,
    )
    params = module.params
    host = Host(params["sysroot"])
    kind = MaxReadRequestKind(host, params["allow_busy"])
    selectors = (params["vendor"], params["class"], params["driver"])
    names = params["devices"]
    if not names and (any(selectors) or not params["values"]):
        names = select(host, *selectors)
    values = params["values"]
    if params["bytes"] is not None:
        try:
            size = size_of_all(params["bytes"])
            values = {tunable.bdf: size for tunable in find_tunables(kind, names)}
        except ValueError as bad:
            module.fail_json(msg=str(bad))
    run_setter(module, kind, host, names, values)


if __name__ == "__main__":
    main()
