#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: persisted
short_description: Make settings survive a reboot, or take them out again
version_added: 1.0.0
description:
  - Writes what sets the wanted values at each boot. What they are now is not changed.
  - Sysctls go to C(/etc/sysctl.d/90-gpuhost.conf). Everything else is set by C(gpuhost-boot.service), a unit that runs
    once at boot, with the rules, refusals and the journal of the modules of this collection.
  - The unit is C(/etc/systemd/system/gpuhost-boot.service) with its link in C(multi-user.target.wants), what it runs
    lies in C(/usr/local/lib/gpuhost). C(/etc/udev/rules.d/90-gpuhost.rules) starts it again when a driver is bound to
    a GPU. C(/var/lib/gpuhost/persisted.json) says what is persisted, since when, and which files are ours.
  - No other file is written, nobody's file is edited, and no link is followed. Where another file or service sets the
    same thing to another value and would win, nothing is written at all.
  - No service is started, stopped or reloaded.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is written. Conflicts, obstacles and refusals are found, and fail, as without it.
  diff_mode:
    support: full
    details:
      - Whole files, of the program C(gpuhost-boot.pyz) a list of what is in it.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  state:
    description:
      - With V(present) the O(values) are what is set at boot, and nothing else that was persisted before.
      - With V(absent) all files are removed. One that was edited is left and named, and the task fails.
    type: str
    choices: [present, absent]
    default: present
  values:
    description:
      - Wanted values by kind (C(sysctl), C(sysfs), C(pcie_maxreadreq), C(module)) and name. Needed with
        O(state=present). Values of the kind C(guest_affinity) are rejected, because they end with the guest.
      - >-
        C({at_least: NUMBER}) becomes that number, or what is there now if that is more.
    type: dict
    default: {}
  override:
    description:
      - Addresses to leave out, such as V(sysctl:vm.swappiness), because something else sets them.
    type: list
    elements: str
    default: []
  sysroot:
    description:
      - Directory on the managed host that mirrors a host's file system. V(/) is the host itself.
      - A folder is written to only if it contains the file C(.gpuhost-sysroot).
    type: path
    default: /
  run_id:
    description: The run whose values these are, for the ledger. A new id is made if it is not set.
    type: str
notes:
  - On a host without systemd only sysctls are persisted, and RV(left_out) says so.
  - A container, C(/etc) that is read-only or in memory, a folder that is a link, and a file of another owner under one
    of these names are refused.
seealso:
  - module: gpuhost.tuning.sysctl_snapshot
  - module: gpuhost.tuning.sysfs_attribute
  - module: gpuhost.tuning.pcie_maxreadreq
  - module: gpuhost.tuning.nvidia_module
"""

EXAMPLES = r"""
- name: Make two settings last
  gpuhost.tuning.persisted:
    values:
      sysctl:
        kernel.numa_balancing: 0
      sysfs:
        /sys/kernel/mm/transparent_hugepage/enabled: madvise

- name: Take all of it out again
  gpuhost.tuning.persisted:
    state: absent
"""

RETURN = r"""
run_id:
  description: The run that the ledger names.
  returned: always
  type: str
  sample: 20261129T183000Z-4f2a
files:
  description: The outcome of each file, or would become of it.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      returned: always
      type: str
    outcome:
      description: V(written), V(removed), V(unchanged) or V(kept).
      returned: always
      type: str
ledger:
  description: What is persisted afterwards, as in C(/var/lib/gpuhost/persisted.json). Null if nothing is.
  returned: success
  type: dict
left_out:
  description: What of O(values) is not persisted, each with C(address) and C(reason).
  returned: success
  type: list
  elements: dict
next_boot:
  description: What the next boot will change, as it is not in effect now, each with C(address), C(now) and C(value).
  returned: success
  type: list
  elements: dict
interrupted:
  description: What an earlier run that was killed had left. Null if there was none.
  returned: success
  type: str
conflicts:
  description:
    - Who sets the same thing at boot and would win, each with C(address), C(path), C(line), C(key), C(value), C(wanted)
      and C(why).
  returned: failure
  type: list
  elements: dict
msg:
  description: A line for each file and for each value that is left out or not in effect yet, or for each reason why
    nothing was written.
  returned: always
  type: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import import_once

import_once.install()

from ..module_utils._change.journal import check_run_id, new_run_id
from ..module_utils._host.host import Host
from ..module_utils._host.reading import NotRecorded, error_text
from ..module_utils._persist.folders import InTheWay
from ..module_utils._persist.obstacles import Obstacle
from ..module_utils._persist.persist import Persisted, Refusal, persist, remove


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "values": {"type": "dict", "default": {}},
            "override": {"type": "list", "elements": "str", "default": []},
            "sysroot": {"type": "path", "default": "/"},
            "run_id": {"type": "str"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        run_id = check_run_id(params["run_id"]) if params["run_id"] else new_run_id()
        host = Host(params["sysroot"])
        if params["state"] == "absent":
            done = remove(host, run_id=run_id, check_mode=module.check_mode)
        else:
            done = persist(host, params["values"], run_id=run_id, override=params["override"],
                           check_mode=module.check_mode)
    except Refusal as refusal:
        module.fail_json(msg=str(refusal), conflicts=refusal.conflicts)
    except (Obstacle, InTheWay, ValueError) as problem:
        module.fail_json(msg=str(problem), conflicts=[])
    except NotRecorded as lacking:
        module.fail_json(msg=f"this is a recording that lacks what has to be known first: {lacking}", conflicts=[])
    except OSError as error:
        module.fail_json(msg=f"{error.filename or 'a file'}: {error_text(error)}", conflicts=[])
    _answer(module, done, run_id)


def _answer(module: AnsibleModule, done: Persisted, run_id: str) -> None:
    left_out = done.ledger["left_out"] if done.ledger else []
    lines = [*([done.interrupted] if done.interrupted else []),
             *(f"{one['path']}: {one['outcome']}" for one in done.files),
             *(f"{one['address']}: {one['reason']}" for one in left_out),
             *(f"{one['address']} is {one['now']} now, and {one['value']} from the next boot on"
               for one in done.differing)]
    result: dict[str, Any] = {
        "changed": done.changed,
        "run_id": done.ledger["run_id"] if done.ledger else run_id,
        "files": done.files,
        "ledger": done.ledger,
        "left_out": left_out,
        "next_boot": done.differing,
        "interrupted": done.interrupted,
        "msg": "\n".join(lines or ["nothing is persisted"]),
    }
    if module._diff:
        result["diff"] = done.diff
    if done.kept:
        result["msg"] = "\n".join(f"{line}: it was left as it is, the rest was removed" for line in done.kept)
        module.fail_json(conflicts=[], **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
