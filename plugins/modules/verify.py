#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: verify
short_description: Check a host for drift
version_added: 0.1.0
description:
  - Compares the values recorded in the host's journal with the current ones, for every tunable and every device.
  - A value that something else changed is C(drift). One that is back at its original value, after a reboot, a reset or
    a manual change, is C(expired). All others are C(fine). The task itself never fails on drift; the role
    P(gpuhost.tuning.verify#role) fails on drift.
  - Without a journal of this boot the controller's record of the last run is read; its boot id shows that the reboot
    reset its changes.
  - A value that was persisted is C(applied), C(overruled) by another file or by somebody, C(failed) with the words of
    C(gpuhost-boot.service), or its device is absent (C(device_absent)); a file of persist.yml is C(edited) or
    C(missing). All but C(applied) and C(device_absent) fail the role.
  - After a reboot the last audit of the boot before is compared with what is now, if the controller has one. What
    passed then and fails now, a device that is gone and a guest that no longer runs are C(broken).
  - Nothing is written on the host.
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
    description: Directory on the controller with the records of earlier runs.
    type: str
    default: reports
  run_id:
    description: Verify the values set by this run. If omitted, all runs since boot.
    type: str
seealso:
  - module: gpuhost.tuning.journal_info
"""

EXAMPLES = r"""
- name: Look at what was set
  gpuhost.tuning.verify:
  register: verified

- name: Nobody has changed it
  ansible.builtin.assert:
    that: verified.drift | length == 0
    fail_msg: "{{ verified.msg }}"
"""

RETURN = r"""
drift:
  description: Tunables that something else changed, each with C(address), C(expected), C(found), C(reason) and
    C(origin), who wanted the value and in which run.
  returned: always
  type: list
  elements: dict
expired:
  description: Tunables that are back at their original value.
  returned: always
  type: list
  elements: dict
unknown:
  description: Tunables that could not be verified.
  returned: always
  type: list
  elements: dict
fine:
  description: Tunables without drift.
  returned: always
  type: list
  elements: dict
persisted:
  description: Each persisted value, and each file of persist.yml that is not as it was written, with C(address),
    C(state), C(wanted), C(found), C(reason) and C(by), the file and the line that overrule it.
  returned: always
  type: list
  elements: dict
persisted_msg:
  description: A line for each of them that is neither applied nor absent.
  returned: always
  type: str
persisted_older:
  description: A sentence where an older version of this collection wrote the files, else null.
  returned: always
  type: str
msg:
  description: A line for each drift.
  returned: always
  type: str
broken:
  description:
    - What a reboot broke since the last audit of the boot before, each with C(subject), C(check), C(reason) and C(how)
      to fix it. C(check) is V(null) for a device that is gone or worse off, and for a guest that no longer runs.
  returned: always
  type: list
  elements: dict
broken_msg:
  description: A line for each of them, and what fixes it.
  returned: always
  type: str
changed_by_reboot:
  description: What another boot changed without breaking it, such as the kernel and majors of device nodes.
  returned: always
  type: list
  elements: str
said:
  description: Why there is nothing to verify, or why it all expired.
  returned: always
  type: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
