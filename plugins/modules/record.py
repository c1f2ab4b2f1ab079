#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: record
short_description: Keep an archive of what an audit reads on a host
version_added: 0.1.0
description:
  - Reads the host with M(gpuhost.tuning.host_record) and writes C(recording.tar.gz) below O(report_dir) on the
    controller, as the user who runs Ansible, in check mode too. That is never reported as a change.
  - The host is only read, exactly as by an audit.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  sysroot:
    description: Folder on the managed host that mirrors a host's file system. V(/) is the host itself.
    type: str
    default: /
  report_dir:
    description: Folder on the controller. A relative one starts where the command was started.
    type: str
    default: reports
  checks:
    description: Files or folders with checks of your own, so that what they ask for is recorded too.
    type: list
    elements: str
    default: []
  anonymise:
    description: Replace what identifies the host and its guests, each by the same stand-in wherever it occurs.
    type: bool
    default: false
  writable:
    description:
      - Put the file C(.gpuhost-sysroot) into the archive, without which nothing is ever written below a folder.
    type: bool
    default: false
  max_bytes:
    description: Fail where the files together have more bytes than this.
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
