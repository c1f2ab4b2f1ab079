#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: compare
short_description: Compare two audits, of two hosts or of one host at two times
version_added: 1.0.0
description:
  - Reads two records on the controller and says which findings and facts differ and matter, for a host that is slower
    than its twin. It writes C(compare-<a>-<b>.md) and C(compare-<a>-<b>.json) below O(report_dir).
  - What varies by itself is left alone, as counters, times, identities and the load of the moment. The file
    C(plugins/plugin_utils/catalogue/compare.yml) of this collection lists it, with the reasons.
  - Devices of two hosts are matched by what they are where their PCI addresses differ.
  - No host is asked for anything. Files are written on the controller, in check mode too. That is never reported as a
    change, and a difference is no failure.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  hosts:
    description:
      - Two audits. Each is the name of an audited host, V(HOST/RUN_ID) for the audit that ended a tune, or the path of
        an C(audit.json).
    type: list
    elements: str
    required: true
  report_dir:
    description: Directory on the controller. A relative path is resolved against the current directory.
    type: str
    default: reports
  checks:
    description: Files or folders with checks of your own, as the audits had them.
    type: list
    elements: str
    default: []
seealso:
  - module: gpuhost.tuning.audit
  - module: gpuhost.tuning.fleet_report
"""

EXAMPLES = r"""
- name: Say why pve2 is slower than pve1
  gpuhost.tuning.compare:
    hosts: [pve1, pve2]
    report_dir: /srv/gpuhost/reports
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
different:
  description: Whether anything differs.
  returned: success
  type: bool
differences:
  description:
    - What differs, in the order in which one would look at it. One with the C(kind) V(finding) has C(check),
      C(priority), C(subjects), C(sides) with verdict and value, C(said), C(also) with other checks that fail for the
      same reason, and the C(facts) behind it. One with the C(kind) V(fact) has C(fact), C(of) and C(values).
  returned: success
  type: list
  elements: dict
report:
  description: Path of the Markdown file.
  returned: success
  type: str
record:
  description: Path of the JSON file.
  returned: success
  type: str
msg:
  description: What differs, in one line.
  returned: always
  type: str
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
