#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: record
short_description: Create an archive of what an audit reads on a host
version_added: 0.1.0
description:
  - Reads the host with M(gpuhost.tuning.host_record) and writes C(recording.tar.gz) below O(report_dir) on the
    controller, as the user who runs Ansible, in check mode too. This is never reported as a change.
  - The host is only read, exactly as by an audit.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  checks:
    description: Files or directories with your own checks, whose tunables are recorded too.
    type: list
    elements: str
    default: []
  anonymise:
    description: Replace what identifies the host and its guests, each consistently by the same replacement.
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
  - module: gpuhost.tuning.host_record
"""

EXAMPLES = r"""
- name: Record the host for a report of a defect
  gpuhost.tuning.record:
    anonymise: true
"""

RETURN = r"""
recording:
  description: Path of the archive on the controller.
  returned: success
  type: str
  sample: reports/pve1/recording.tar.gz
files:
  description: How many files and links were read.
  returned: success
  type: int
sha256:
  description: The SHA-256 of the archive.
  returned: success
  type: str
"""
