# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare metal or virtual machine, from the names of lspci and from the kernel log."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.machine_kind import kind_of_log

HEAD = "[    0.000000] Linux version 6.8.0-90-generic (build@x)"
BARE = "[    0.042000] Booting paravirtualized kernel on bare hardware"
EMULATED = "00:00.0 Host bridge: Intel Corporation 440FX - 82441FX PMC [Natoma] (rev 02)\n"
REAL = "00:00.0 Host bridge: Intel Corporation Some Host Bridge\n\tSubsystem: Super Micro Computer Inc Device 0001\n"


def dmi(name):
    return f"[    0.000000] DMI: {name}, BIOS 1.0 01/02/2023"


@pytest.mark.parametrize("log, kind, technology", [
    ([HEAD, dmi("Supermicro Some Server/Some Board"), BARE], "bare_metal", None),
    ([HEAD, "[    0.000000] SMBIOS 3.3.0 present.", dmi("Maker Product"), "[    0.000000] DMI: Memory slots populated: "
      "16/24", BARE], "bare_metal", None),
    ([HEAD, dmi("QEMU Standard PC (Q35 + ICH9, 2009)"), "[    0.000000] Hypervisor detected: KVM"], "vm", "kvm"),
    ([HEAD, dmi("Microsoft Corporation Virtual Machine/Virtual Machine"),
      "[    0.000000] Hypervisor detected: Microsoft Hyper-V"], "vm", "microsoft"),
    # emulated without KVM: the kernel finds no hypervisor
    ([HEAD, dmi("QEMU Standard PC (i440FX + PIIX, 1996)"), BARE], "vm", "qemu"),
])
def test_a_kernel_log(log, kind, technology):
    found = kind_of_log(log)
    assert (found["kind"], found["technology"]) == (kind, technology)


@pytest.mark.parametrize("log", [
    [HEAD, dmi("Maker Product")],                                           # the line of a kernel without PARAVIRT
    [HEAD, BARE],                                                           # without firmware tables
    [HEAD, dmi("Xen HVM domU"), "[    0.000000] Hypervisor detected: Xen PV"],      # the first domain is no VM
    [HEAD, dmi("Amazon EC2 g5.metal/Not Specified"), BARE],
    ["[  100.000000] usb 1-1: new device"],
])
def test_a_kernel_log_that_does_not_tell(log):
    assert kind_of_log(log) is None


@pytest.mark.parametrize("text, kind, technology", [
    (f"{EMULATED}\tSubsystem: Red Hat, Inc Qemu virtual machine\n", "vm", "qemu"),
    (f"{EMULATED}\tSubsystem: Red Hat, Inc Qemu virtual machine\n"
     "00:1f.0 Unassigned class [ff80]: XenSource, Inc. Xen Platform Device (rev 01)\n", "vm", "xen"),
    ("00:00.0 Host bridge: Intel Corporation 440BX/ZX/DX Host bridge\n\tSubsystem: VMware Virtual Machine Chipset\n",
     "vm", "vmware"),
    (REAL, "bare_metal", None),
    # One of the two sources is enough, and a virtual machine is one for either.
    (f"{EMULATED}{HEAD}\n{dmi('Maker Product')}\n{BARE}\n", "bare_metal", None),
    (f"{REAL}[    0.000000] Hypervisor detected: KVM\n", "vm", "kvm"),
])
def test_names_of_devices_and_the_log(pasted, text, kind, technology):
    identity = pasted(text)["identity"]
    assert (identity["kind"], identity["technology"]) == (kind, technology)


@pytest.mark.parametrize("release, status", [
    ("6.8.0-90-generic", "ok"), ("5.14.0-570.23.1.el9_6.x86_64", "ok"), ("6.0.12-arch1-1", "ok"),
    ("4.4.38-tegra", "ok"),
    ("6.1.0-28-amd64", "not_recorded"), ("6.8.12-4-pve", "not_recorded"), ("6.12.10", "not_recorded"),
])
def test_kernels_that_no_proxmox_node_runs(pasted, release, status):
    installed = pasted(f"[    0.000000] Linux version {release} (build@x)\n")["identity"]["proxmox"]["installed"]
    assert installed is False if status == "ok" else installed["status"] == status
