#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: host_record
short_description: Read a host like an audit and return an archive of what was read
version_added: 0.1.0
description:
  - Reads what M(gpuhost.tuning.host_info) reads, in the same way, and returns a gzipped tar of exactly these files,
    with the texts of links, the modes, and the answers of those that could not be read.
  - The unpacked archive is a directory that can be used as C(sysroot) of every module of this collection; an audit of
    it has the same findings.
  - Of files that are only searched for a word, that word alone is in it. Of C(/proc/<pid>/environ) it holds the entry
    C(container=) alone. Secrets are V(masked) wherever they are, told by the words around them, and so are descriptions
    and the values of unknown settings in configurations of guests.
  - Opens no file for writing, loads nothing and wakes no suspended device.
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
    description: Addresses of additional tunables to read, for example V(sysctl:vm.laptop_mode).
    type: list
    elements: str
    default: []
  anonymise:
    description:
      - Replace names of hosts, clusters and guests, UUIDs, serial numbers, hardware and IP addresses, and names of
        disks, each consistently by the same replacement.
    type: bool
    default: false
  writable:
    description:
      - Add the file C(.gpuhost-sysroot), which allows writes below the unpacked directory.
    type: bool
    default: false
  max_bytes:
    description: Fail if the files together have more bytes than this.
    type: int
    default: 67108864
seealso:
  - module: gpuhost.tuning.record
  - module: gpuhost.tuning.host_info
"""

EXAMPLES = r"""
- name: Record the host
  gpuhost.tuning.host_record:
    anonymise: true
  register: recording
"""

RETURN = r"""
archive:
  description: The gzipped tar, in base64.
  returned: success
  type: str
files:
  description: How many files and links were read.
  returned: success
  type: int
sha256:
  description: The SHA-256 of the archive.
  returned: success
  type: str
"""

import base64

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._recording.record import MAX_BYTES, record


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sysroot": {"type": "path", "default": "/"},
            "tunables": {"type": "list", "elements": "str", "default": []},
            "anonymise": {"type": "bool", "default": False},
            "writable": {"type": "bool", "default": False},
            "max_bytes": {"type": "int", "default": MAX_BYTES},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        recording = record(params["sysroot"], params["tunables"], max_bytes=params["max_bytes"],
                           anonymise=params["anonymise"], writable=params["writable"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, archive=base64.b64encode(recording.archive).decode(), files=recording.files,
                     sha256=recording.sha256)


if __name__ == "__main__":
    main()
