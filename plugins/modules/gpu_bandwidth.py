#!/usr/bin/python
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_bandwidth
short_description: Measure the bandwidth of copies to, from and between NVIDIA GPUs, and verify their data
version_added: 0.1.0
description:
  - Measures for each GPU copies from pinned host memory on its own NUMA node to the GPU, back, and within the GPU, and
    for each ordered pair of GPUs peer access, peer reads and peer writes with their latency; with O(concurrent) also
    concurrent copies. Every copy has its own destination buffer and is compared with its source, byte by byte.
  - Calls the CUDA driver library directly, and needs neither a CUDA toolkit nor a Python package.
  - B(It has not run on real hardware yet). Every verdict was tested against a stand-in for the driver library, which
    has its functions and calling convention and simulates GPUs in host memory.
  - Nothing is measured, and the task fails with one message, while a process uses one of the GPUs (see
    O(allow_busy)), one of the host's NVIDIA GPUs does not respond or hung in an earlier measurement, driver and
    libraries have different versions, C(nvidia_uvm) is not loaded, or the kernel log cannot be read. A GPU that is
    suspended, virtual, in MIG mode, bound to another driver or assigned to a virtual machine is skipped.
  - It does not check whether transfers between GPUs are at risk on this host, whether the driver reported errors
    before, and whether high availability manages guests. M(gpuhost.tuning.bandwidth) does, from the facts of the audit,
    and then calls this module.
  - Uses at most 5% of the free memory of a GPU. Measures one GPU first, then a second one, then the pair, then all
    others. Stops at the first step that does not return, at any new Xid in the kernel log, and when a GPU is at its
    thermal-throttle temperature.
  - The copies are made by a child process. If it does not respond within O(timeout) it is killed; if it cannot be
    killed it is abandoned and reported in RV(abandoned). The GPUs of that step are listed in C(/run/gpuhost/hung.json)
    until the next boot; they are then not planned, not written by M(gpuhost.tuning.pcie_maxreadreq),
    M(gpuhost.tuning.nvidia_module) or a restore, and C(nvidia-smi) is not run.
extends_documentation_fragment:
  - gpuhost.tuning.attributes
author:
  - gpuhost.tuning contributors (@gpuhost)
attributes:
  check_mode:
    support: full
    details:
      - It then measures nothing, looks at everything that could forbid it, and says in RV(msg) what it would measure.
  diff_mode:
    support: N/A
    details:
      - It changes nothing but the marks of GPUs that hung.
options:
  devices:
    description:
      - Addresses of the GPUs to measure, for example V(0000:01:00.0). All of NVIDIA's that are bound to V(nvidia) if
        this is empty.
      - Quote addresses. YAML reads V(0000:41:00.0) without quotes as the number 2460.0.
    type: list
    elements: str
    default: []
  pairs:
    description: Measure all ordered pairs of these GPUs too.
    type: bool
    default: true
  concurrent:
    description:
      - Measure copies at once too, each GPU with the host both ways, with O(pairs) also both ways of each pair, and of
        more than two GPUs all writes of a shift, where each GPU writes to the one so many places behind it. That is the
        heaviest load that the links of a host get.
      - With O(pairs) then also the writes of each sound pair by a kernel, as collectives make them. Where the driver
        cannot compile one, that is said and left out.
    type: bool
    default: false
  steps:
    description:
      - Only these of the steps, by their names, for example V(0000:01:00.0), V(0000:01:00.0 -> 0000:41:00.0),
        V(0000:01:00.0 <-> 0000:41:00.0), V(host <-> 0000:01:00.0) or V(shift by 1). All if this is empty.
    type: list
    elements: str
    default: []
  sizes:
    description: How much to copy at once, in bytes, multiples of 4096 up to 1 GiB. The largest one that fits decides.
    type: list
    elements: int
    default: [1048576, 16777216, 67108864]
  tool:
    description:
      - V(driver) calls the driver library.
      - V(nvbandwidth) runs NVIDIA's program of that name, which has to be in the usual folders for programs, once for
        each of its test cases. It takes the largest of O(sizes), less where two buffers would be more than 5% of a
        GPU's memory, and does not read the link.
    type: str
    choices: [driver, nvbandwidth]
    default: driver
  container:
    description:
      - Id of the running container in which to measure, through C(pct exec) or C(lxc-attach), or V(docker:) or
        V(podman:) and the name of one of theirs, through their C(exec). It needs its own
        C(python3) from 3.9 on and the driver library, and nothing of this collection. GPUs that it is not given are
        left out.
      - On the host, GPUs that are not measured are hidden from the driver library. In a container they are not, and the
        library may wake one of them that is suspended.
      - On the host if this is not set.
    type: str
  timeout:
    description: Seconds that one step may take, a GPU or an ordered pair, or a test case of C(nvbandwidth).
    type: int
    default: 60
  allow_busy:
    description: Also measure GPUs that are in use by a process. C(nvidia-persistenced) never counts.
    type: bool
    default: false
  run_id:
    description: Name of the run, for the marks of GPUs that hang. A new one is made if this is not set.
    type: str
  library:
    description: The CUDA driver library to load.
    type: str
    default: libcuda.so.1
  sysroot:
    description: Folder on the managed host that mirrors a host's file system. The task is skipped unless this is V(/),
      as nothing can be measured in a folder.
    type: path
    default: /
seealso:
  - module: gpuhost.tuning.host_info
  - name: nvbandwidth
    description: NVIDIA's own program.
    link: https://github.com/NVIDIA/nvbandwidth
"""

EXAMPLES = r"""
- name: Measure all idle GPUs of the host and all pairs
  gpuhost.tuning.gpu_bandwidth:
  register: measured

- name: Measure two GPUs from inside the container that serves from them
  gpuhost.tuning.gpu_bandwidth:
    devices: ["0000:01:00.0", "0000:41:00.0"]
    container: "101"

- name: Measure with NVIDIA's program
  gpuhost.tuning.gpu_bandwidth:
    tool: nvbandwidth
    timeout: 300
"""

RETURN = r"""
gpus:
  description: The GPUs that were measured. GB/s are 1e9 bytes a second.
  returned: success
  type: list
  elements: dict
  contains:
    bdf:
      description: Address.
      returned: always
      type: str
      sample: "0000:01:00.0"
    uuid:
      description: UUID by the driver's word.
      returned: always
      type: str
    name:
      description: Name of the product, null with C(nvbandwidth).
      returned: always
      type: str
    numa_node:
      description: NUMA node of the GPU, null where the firmware reports none.
      returned: always
      type: int
    bound:
      description: Whether the host memory came from that node. A container may not be given its CPUs.
      returned: always
      type: bool
    verdict:
      description:
        - V(healthy); V(slow), the link has under load a lower speed or fewer lanes than both of its ends can do;
          V(wrong_data); V(hang); V(inconclusive).
        - Whether a bandwidth is what the path should give is not judged here. Who knows the path does that.
      returned: always
      type: str
    said:
      description: Why, in one sentence.
      returned: always
      type: str
    h2d:
      description: From pinned host memory to the GPU, C(gb_s) and C(settled) of the largest size and C(by_size).
      returned: always
      type: dict
    d2h:
      description: From the GPU to pinned host memory.
      returned: always
      type: dict
    d2d:
      description: Within the memory of the GPU; bytes are counted once.
      returned: always
      type: dict
    link:
      description: The link while copies ran, C(speed_gt_s) and C(width), null where sysfs does not say.
      returned: always
      type: dict
    link_expected:
      description: What both ends of the link can do, null where one does not say.
      returned: always
      type: dict
    wrong:
      description: What arrived wrong, each with C(copied), C(wrong_copies) of C(copies), and of the first of them
        C(first_offset), C(wrong_bytes) and C(bytes).
      returned: always
      type: list
      elements: dict
pairs:
  description: The ordered pairs that were measured.
  returned: success
  type: list
  elements: dict
  contains:
    from:
      description: The GPU that makes the copies.
      returned: always
      type: str
    to:
      description: The GPU whose memory is read and written.
      returned: always
      type: str
    can_access:
      description: Whether the driver offers peer access.
      returned: always
      type: bool
    enabled:
      description: Whether peer access could be enabled.
      returned: always
      type: bool
    performance_rank:
      description: The driver's rank of the pair, 0 is the best.
      returned: always
      type: int
    native_atomics:
      description: Whether atomic operations work over the link.
      returned: always
      type: bool
    verdict:
      description:
        - V(healthy), V(wrong_data), V(hang), V(unsupported) or V(inconclusive).
        - V(staged) where peer access could not be enabled in this direction, so that copies go through the host's
          memory and the figures are those of that way.
      returned: always
      type: str
    said:
      description: Why, in one sentence.
      returned: always
      type: str
    read:
      description: Copies from the other GPU, C(gb_s), C(settled), C(by_size) and C(latency_us), the time of a copy of
        16 bytes in a stream that is held until all are queued, or null and C(latency_why). C(nvbandwidth) gives
        C(load_latency_us) instead, the time of a load by a kernel.
      returned: always
      type: dict
    write:
      description: Copies to the other GPU.
      returned: always
      type: dict
    wrong:
      description: As of a GPU.
      returned: always
      type: list
      elements: dict
concurrent:
  description: The copies that were made at once.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: V(host_both_ways), V(both_ways), V(shift) or V(by_kernel), the writes of one pair by a kernel.
      returned: always
      type: str
    name:
      description: Name of the step.
      returned: always
      type: str
      sample: "0000:01:00.0 <-> 0000:41:00.0"
    gpus:
      description: Addresses of the GPUs.
      returned: always
      type: list
      elements: str
    flows:
      description: The copies, each with C(from), C(to) and C(gb_s).
      returned: always
      type: list
      elements: dict
    gb_s:
      description: All of them together.
      returned: always
      type: float
    copies:
      description: How many copies were compared with what was sent.
      returned: always
      type: int
    verdict:
      description: As of a pair.
      returned: always
      type: str
    said:
      description: Why, in one sentence.
      returned: always
      type: str
    wrong:
      description: As of a GPU.
      returned: always
      type: list
      elements: dict
stopped:
  description: Why the measurement ended early, null where it did not.
  returned: success
  type: str
hung:
  description: The GPUs of the step that did not answer.
  returned: success
  type: list
  elements: str
abandoned:
  description: The process that could not be killed and was abandoned, null where there is none.
  returned: success
  type: int
not_measured:
  description: What was not measured, each with C(subject) and C(reason).
  returned: success
  type: list
  elements: dict
driver_version:
  description: The newest version of CUDA that the driver knows.
  returned: success
  type: str
  sample: "12.8"
tool:
  description: As O(tool).
  returned: success
  type: str
where:
  description: V(host), or C(lxc:), C(docker:) or C(podman:) with the container.
  returned: success
  type: str
sizes:
  description: The sizes that were asked for, in bytes.
  returned: success
  type: list
  elements: int
run_id:
  description: Name of the run.
  returned: success
  type: str
msg:
  description: In check mode what would be measured, else a line for each verdict.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._bandwidth.gpus import NotMeasurable
from ..module_utils._bandwidth.module import measure
from ..module_utils._host.host import Host


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "str", "default": []},
            "pairs": {"type": "bool", "default": True},
            "concurrent": {"type": "bool", "default": False},
            "steps": {"type": "list", "elements": "str", "default": []},
            "sizes": {"type": "list", "elements": "int", "default": [1 << 20, 16 << 20, 64 << 20]},
            "tool": {"type": "str", "choices": ["driver", "nvbandwidth"], "default": "driver"},
            "container": {"type": "str"},
            "timeout": {"type": "int", "default": 60},
            "allow_busy": {"type": "bool", "default": False},
            "run_id": {"type": "str"},
            "library": {"type": "str", "default": "libcuda.so.1"},
            "sysroot": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    if module.params["sysroot"] != "/":
        module.exit_json(changed=False, skipped=True, msg="needs a live host")
    try:
        module.exit_json(changed=False, **measure(Host("/"), module.params, module.check_mode))
    except (NotMeasurable, ValueError) as problem:
        module.fail_json(msg=str(problem))


if __name__ == "__main__":
    main()
