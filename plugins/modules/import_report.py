#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: import_report
short_description: Make recorded hosts of reports that people have posted
version_added: 1.0.0
description:
  - Takes files on the controller and writes a folder that mirrors the host which each of them tells of, below
    O(report_dir). Such a folder is audited in the host's place, with its path as C(gpuhost_sysroot).
  - A file is a C(nvidia-bug-report.log), a recording made with M(gpuhost.tuning.record) or with C(gpuhost-record), the
    archive of a sosreport, what C(pvereport) prints, or the text of C(lspci) with that of C(dmesg). Which of them it is
    is found out from what it holds. It may be compressed, and cut.
  - Files are treated as untrusted input. No host is asked for anything.
  - Files are written on the controller, as the user who runs Ansible, also in check mode. This is never reported as a
    change.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.controller
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  files:
    description:
      - Paths on the controller.
      - Files that name the same host become one host, as a bug report and the output of C(pvereport) complement each
        other. What several of them have is taken from the first. Other files become a host each.
    type: list
    elements: str
    required: true
  name:
    description: Name of the host; without it that of the file, without its endings. Only for files of one host.
    type: str
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
seealso:
  - module: gpuhost.tuning.audit
  - module: gpuhost.tuning.record
"""

EXAMPLES = r"""
- name: Import a bug report
  gpuhost.tuning.import_report:
    files: [nvidia-bug-report.log.gz]
    name: gpu7
  register: imported
"""

RETURN = r"""
hosts:
  description: The hosts that were written.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the host, and of its folder below O(report_dir).
      type: str
    sysroot:
      description: Path of the folder that mirrors it.
      type: str
    kind:
      description: What the first of its files is.
      type: str
    files:
      description: Paths of its files.
      type: list
      elements: str
    collected_at:
      description: When the report was made, in UTC; null where it does not say.
      type: str
    notes:
      description: What is missing or contradicts itself in the report.
      type: list
      elements: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
