#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: persist_plan
short_description: Choose which values are made to last on a host
version_added: 1.0.0
description:
  - Returns the values that a recorded run changed and read back, or those that the user names. Give them to
    M(gpuhost.tuning.persisted), as the role P(gpuhost.tuning.persist#role) does.
  - Reads the records on the controller and nothing on the host.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
  - gpuhost.tuning.attributes.info_module
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  report_dir:
    description: Directory on the controller with the records of earlier runs.
    type: str
    default: reports
  run_id:
    description: Take the values of this run. Without it the last run that changed something is taken.
    type: str
  values:
    description:
      - Take these values and no run's, a mapping of kinds to names and values, or the path of a YAML or JSON file with
        one. A record of a run with C(values) is taken as well. A run that O(run_id) names comes before them.
    type: raw
    default: {}
seealso:
  - module: gpuhost.tuning.persisted
"""

EXAMPLES = r"""
- name: Choose what the last run changed
  gpuhost.tuning.persist_plan:
  register: chosen

- name: Make it last
  gpuhost.tuning.persisted:
    values: "{{ chosen['values'] }}"
    run_id: "{{ chosen.run_id }}"
"""

RETURN = r"""
values:
  description: The values by kind and name.
  returned: success
  type: dict
run_id:
  description: The run that they are of, a new id for values that the user names.
  returned: success
  type: str
origin:
  description: Where they come from.
  returned: success
  type: str
  sample: run 20261129T183000Z-4f2a
lines:
  description: The lines that are printed with Ansible's own stdout callback, for other callbacks.
  returned: with another stdout callback
  type: list
  elements: str
"""
