#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: workload
short_description: Run a program that may hang, and record the state of the host before and after it
version_added: 0.1.0
description:
  - Without O(argv) it only reads the state of the host.
  - Runs a program on the host or in one of its containers, without a shell, in its own session, and keeps the beginning
    and the end of its output. At the time limit the program and its descendants get SIGTERM and then SIGKILL; processes
    that cannot be killed are abandoned and reported. Processes that it leaves running when it exits in time are
    reported too.
  - The task fails unless the exit status is 0, and returns the results in any case.
  - The program gets the environment of this module, and no input.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is run.
  diff_mode:
    support: N/A
    details:
      - The changes made by a program are not known.
author:
  - gpuhost.tuning contributors (@gpuhost)
options:
  argv:
    description: The program and its arguments.
    type: list
    elements: str
  container:
    description:
      - Id of the running LXC container of this host in which it runs, by C(pct exec) or C(lxc-attach).
    type: str
  chdir:
    description: Its working directory. In a container this needs the C(env) of coreutils.
    type: str
  environment:
    description:
      - Additional environment variables. Their values are masked in the program's output if they have at least 8
        characters.
    type: dict
    default: {}
  timeout:
    description: Timeout in seconds.
    type: float
    default: 600.0
  output_limit:
    description: Bytes to keep of each stream, and of O(output_file).
    type: int
    default: 4194304
  output_file:
    description:
      - File to which it writes its result, returned as RV(file). It is an error if the file was not written.
    type: str
  conditions:
    description: Read the state of the host before and after. Disable it to make frequent calls cheaper.
    type: bool
    default: true
  run_id:
    description: The run this belongs to. It is returned as it is.
    type: str
  sysroot:
    description:
      - Directory on the managed host that mirrors a host's file system. V(/) is the host itself. No program is run for
        another one.
    type: path
    default: /
seealso:
  - module: gpuhost.tuning.benchmark
"""

EXAMPLES = r"""
- name: See how the GPUs are doing
  gpuhost.tuning.workload:
  register: now

- name: Measure in a container
  gpuhost.tuning.workload:
    argv: [llama-bench, -m, /models/small.gguf, -o, json]
    container: "101"
    timeout: 900
  register: measured
"""

RETURN = r"""
rc:
  description: The exit status, negative for the signal that killed it; null if it did not exit.
  returned: where a program was run
  type: int
stdout:
  description: Its output, without the middle if it was too long.
  returned: where a program was run
  type: str
stderr:
  description: The same for standard error.
  returned: where a program was run
  type: str
file:
  description: The content of O(output_file), only the end if it was too long; null without one.
  returned: where a program was run
  type: str
cut:
  description: Those of C(stdout), C(stderr) and C(file) of which something is missing.
  returned: where a program was run
  type: list
  elements: str
started:
  description: When it was started, in UTC.
  returned: where a program was run
  type: str
  sample: "2026-11-30T01:02:03Z"
seconds:
  description: How long it took.
  returned: where a program was run
  type: float
timed_out:
  description: It was still running at the time limit.
  returned: where a program was run
  type: bool
abandoned:
  description: Its processes that could not be killed, each with C(pid) and C(command).
  returned: where a program was run
  type: list
  elements: dict
left_running:
  description: Processes that it left running, each with C(pid) and C(command).
  returned: where a program was run
  type: list
  elements: dict
boot_id:
  description: Which boot of the host this was; null where that cannot be read.
  returned: with O(conditions)
  type: str
conditions:
  description:
    - The state of the host RV(conditions.before) and RV(conditions.after). Without O(argv) both are the same.
    - What could not be read is null.
  returned: with O(conditions)
  type: dict
  contains:
    before:
      description: Just before the program was started.
      returned: success
      type: dict
      contains:
        boot_id:
          description: Which boot of the host this was.
          returned: success
          type: str
        load1:
          description: The load over one minute.
          returned: success
          type: float
        thp:
          description: What transparent huge pages are set to.
          returned: success
          type: str
        governor:
          description: The governor of the first processors' frequency.
          returned: success
          type: str
        memory_available_mib:
          description: Memory that is available, in MiB.
          returned: success
          type: int
        users:
          description: Processes that hold a device node of a GPU, each with C(pid), C(command) and C(container).
          returned: success
          type: list
          elements: dict
        gpus:
          description:
            - Of every GPU C(bdf), C(temperature_c), C(sm_mhz), C(throttle), the active reasons for lower clocks, and
              C(power_w).
          returned: success
          type: list
          elements: dict
    after:
      description: The same, just after it has ended.
      returned: success
      type: dict
run_id:
  description: As it was given.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.host import Host
from ..module_utils._redaction.words import redact_words
from ..module_utils._workload.conditions import read_conditions
from ..module_utils._workload.workload import OUTPUT_LIMIT, run_workload

_OPTIONS = ("container", "chdir", "environment", "timeout", "output_limit", "output_file")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "argv": {"type": "list", "elements": "str"},
            "container": {"type": "str"},
            "chdir": {"type": "str"},
            "environment": {"type": "dict", "default": {}, "no_log": True},
            "timeout": {"type": "float", "default": 600.0},
            "output_limit": {"type": "int", "default": OUTPUT_LIMIT},
            "output_file": {"type": "str"},
            "conditions": {"type": "bool", "default": True},
            "run_id": {"type": "str"},
            "sysroot": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    environment = {name: str(value) for name, value in params["environment"].items()}
    # Ansible would replace every `8` in the output of a program that got THREADS=8. What is secret the core replaces.
    module.no_log_values.difference_update(environment.values())
    shown = {**params, "environment": dict.fromkeys(environment, "not shown"),
             "argv": redact_words(params["argv"]) if params["argv"] else params["argv"]}
    try:
        result = _run(module, Host(params["sysroot"]), {**params, "environment": environment})
    except ValueError as error:
        module.fail_json(msg=str(error), invocation={"module_args": shown})
    result.update(run_id=params["run_id"], invocation={"module_args": shown})
    problem = result.pop("problem", None)
    if problem:
        module.fail_json(msg=problem, **result)
    module.exit_json(**result)


def _run(module: AnsibleModule, host: Host, params: dict) -> dict:
    argv = params["argv"]
    if argv is not None and not argv:
        raise ValueError("argv is empty: give a command, or omit argv to read the state of the host")
    if argv and not host.live:
        return {"changed": False, "skipped": True, "msg": f"skipped: {argv[0]} needs a live host, and "
                                                          f"{params['sysroot']} is a directory"}
    if argv and module.check_mode:
        return {"changed": True, "msg": f"would run {argv[0]}"}
    before = read_conditions(host) if params["conditions"] else None
    result = run_workload(host, argv, **{name: params[name] for name in _OPTIONS}) if argv else {}
    result["changed"] = bool(argv)
    if before is not None:
        after = read_conditions(host) if argv else before
        result.update(boot_id=after["boot_id"], conditions={"before": before, "after": after})
    return result


if __name__ == "__main__":
    main()
