#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: journal_info
short_description: Show what was changed on a host since boot, and how to restore it
version_added: 0.1.0
description:
  - Reads C(/run/gpuhost/journal.jsonl), where every write of this collection is recorded before and after.
  - The baseline of a tunable is its value before our first write since boot or since it was last restored. If
    something else changed it between two of our runs, the value that was found then is the baseline.
  - A write without an end belongs to a run that was killed. It may have happened or not, so what was there before it,
    what it wanted and what the kernel makes of that are taken as ours, and any other value is not ours.
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
  run_id:
    description: Plan the restore of only this run, to the state before it.
    type: str
seealso:
  - module: gpuhost.tuning.sysctl_snapshot
  - module: gpuhost.tuning.sysfs_attribute
  - module: gpuhost.tuning.pcie_maxreadreq
  - module: gpuhost.tuning.nvidia_module
"""

EXAMPLES = r"""
- name: See what was changed since boot
  gpuhost.tuning.journal_info:
  register: journal

- name: Bring the sysctls back to their baselines
  gpuhost.tuning.sysctl_snapshot:
    values: "{{ journal.restore_values.sysctl | default({}) }}"

- name: Find sysctls that are no longer as they were left
  gpuhost.tuning.sysctl_snapshot:
    values: "{{ journal.expected_values.sysctl | default({}) }}"
    on_refusal: report
  check_mode: true
"""

RETURN = r"""
status:
  description: V(ok), V(absent) if nothing was written since boot, or V(denied) without root.
  returned: success
  type: str
detail:
  description: Why there is no journal.
  returned: success
  type: str
boot_id:
  description: The boot of the host now, null where the kernel does not say.
  returned: success
  type: str
runs:
  description: Every run in the journal, oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Name of the run.
      returned: always
      type: str
    boot_id:
      description: The boot in which it wrote.
      returned: always
      type: str
    this_boot:
      description: Whether that is the current boot. Earlier writes were reset by the reboot.
      returned: always
      type: bool
    started:
      description: When its first write began, in UTC.
      returned: always
      type: str
    unfinished:
      description: How many of its writes have no end.
      returned: always
      type: int
    writes:
      description: Its writes in order, each with C(address), C(before), C(wanted), C(after), C(outcome), C(identity),
        C(at) and C(restores).
      returned: always
      type: list
      elements: dict
baselines:
  description: The tunables that we left at another value than the baseline, each with C(address), C(before), C(left),
    C(unfinished), C(identity), C(runs) and C(since).
  returned: success
  type: list
  elements: dict
restore_values:
  description:
    - What restores the baselines, or with O(run_id) what was there before that run, by kind and address. Each value
      is C({set, only_from, identity, restores}); C(only_from) is a list where any of several values is ours. What was
      written last comes first.
    - Give each kind to its module, in the reverse of the order in which they were set. A tunable that something else
      changed is refused. It is forced by leaving out C(only_from).
  returned: success
  type: dict
  sample: {"sysctl": {"vm.swappiness": {"set": "60", "only_from": "10", "restores": true}}}
expected_values:
  description:
    - What we left, by kind and address. Each value is C({set, only_from, identity}).
    - Given to its module in check mode, V(unchanged) means as we left it, V(would_change) that its value is again its
      baseline, and V(refused) that it has a third value or another device.
  returned: success
  type: dict
  sample: {"sysctl": {"vm.swappiness": {"set": "10", "only_from": "60"}}}
unusable:
  description: The lines of the journal that cannot be used, each with C(line), counted from 1, and C(reason).
  returned: success
  type: list
  elements: dict
driver_mismatch:
  description: A sentence with the versions if the loaded NVIDIA driver and its libraries have different versions, else
    null.
  returned: success
  type: str
persisted:
  description: What is persisted on the host and the outcome of it, as in the facts of M(gpuhost.tuning.host_info).
  returned: success
  type: dict
expired:
  description: The guests whose CPUs were set and that were restarted or stopped since, each with C(address),
    C(expected) (what was set) and C(reason). There is nothing to restore, and RV(restore_values) and
    RV(expected_values) do not have them.
  returned: success
  type: list
  elements: dict
  sample: []
left_alone:
  description: The tunables of GPUs that hung during a measurement, and with O(run_id) those of that run that are
    not restored, each with C(address) and C(reason).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._boot_order.competitors import competitors
from ..module_utils._change.baseline import list_baselines, pair_lines, plan_back, summarize_runs
from ..module_utils._change.expired_guests import leave_expired
from ..module_utils._change.hung_gpus import leave_hung, read_marks
from ..module_utils._change.journal import read_lines
from ..module_utils._change.moment import BOOT_ID
from ..module_utils._facts import persisted
from ..module_utils._host.host import Host
from ..module_utils._host.reading import as_facts
from ..module_utils._nvidia.libraries import read_mismatch


def main() -> None:
    module = AnsibleModule(
        argument_spec={"sysroot": {"type": "path", "default": "/"}, "run_id": {"type": "str"}},
        supports_check_mode=True,
    )
    host = Host(module.params["sysroot"])
    boot = host.read(BOOT_ID).value
    journal, unusable = read_lines(host)
    writes = pair_lines(journal.value or [])
    plan, expired = leave_expired(host, plan_back(writes, boot, module.params["run_id"]))
    restore, hung = leave_hung(plan.restore, read_marks(host))
    module.exit_json(changed=False, status=journal.status, detail=journal.detail, boot_id=boot,
                     runs=summarize_runs(writes, boot), baselines=list_baselines(writes, boot),
                     restore_values=restore, expected_values=plan.expected, left_alone=plan.left_alone + hung,
                     expired=expired, driver_mismatch=read_mismatch(host), unusable=unusable,
                     persisted=as_facts(persisted.read(host, competitors)))


if __name__ == "__main__":
    main()
