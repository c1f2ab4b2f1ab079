# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A planted host with three GPUs, and gpu_bandwidth on it with a substitute for the driver library."""
from __future__ import annotations

from hosts.kernel import plant_kernel
from hosts.nvidia import plant_nvidia
from hosts.pci import device_path, plant_gpu, plant_root_port

A, B, C = "0000:01:00.0", "0000:21:00.0", "0000:41:00.0"
SIZES = [65536, 262144]


def plant(tree, gpus=(A, B, C)):
    for number, gpu in enumerate(gpus):
        plant_gpu(tree, gpu, parent=plant_root_port(tree, f"0000:{number:02x}:01.1"))
        tree.files(device_path(tree, gpu), {"current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
                                            "numa_node": "0"})
    tree.file("/sys/devices/system/node/node0/cpulist", "0-4095")
    plant_kernel(tree, boot_id="boot-1")
    plant_nvidia(tree, gpus=list(zip(gpus, range(len(gpus)))))
    tree.kernel_log("[    1.000000] Linux version 6.8.12-9-pve\n[   99.000000] NVRM: Xid (PCI:0000:41:00): 31, old\n")
    return tree


def hasten(monkeypatch, tree):
    """No warm-up, short measurements and time limits, and the planted host in place of the module's own."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import measurement, module
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
    from ansible_collections.gpuhost.tuning.plugins.modules import gpu_bandwidth

    monkeypatch.setattr(gpu_bandwidth, "Host", lambda _root: Host(str(tree.root)))
    monkeypatch.setattr(measurement, "WARM_UP", 0.0)
    monkeypatch.setattr(measurement, "READING_MS", 0.05)
    monkeypatch.setattr(module, "TIMEOUTS", range(1, 100))
