# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.desired_state import (
    addresses,
    desired_values,
    form,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError

GPU = "0000:41:00.0"


@pytest.mark.parametrize("given, wanted", [
    (None, {}), ({}, {}), ({"sysctl": {}}, {}),
    ({"sysctl": {"vm.swappiness": 10}}, {"sysctl": {"vm.swappiness": "10"}}),
    ({"sysctl": {"net.ipv4.tcp_rmem": [4096, 131072, 16777216]}},
     {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 16777216"}}),
    ({"sysctl": {"net.core.rmem_max": {"at_least": "16777216"}}},
     {"sysctl": {"net.core.rmem_max": {"at_least": 16777216}}}),
    ({"sysctl": {"vm.swappiness": {"set": 60, "only_from": 10}}},
     {"sysctl": {"vm.swappiness": {"set": "60", "only_from": "10"}}}),
    ({"sysfs": {"/sys/kernel/mm/transparent_hugepage/enabled": "madvise"}},
     {"sysfs": {"/sys/kernel/mm/transparent_hugepage/enabled": "madvise"}}),
    ({"pcie_maxreadreq": {GPU: "4096"}}, {"pcie_maxreadreq": {GPU: 4096}}),
    ({"pcie_maxreadreq": {GPU: {"set": 512, "only_from": 4096, "identity": "10de:2bb5"}}},
     {"pcie_maxreadreq": {GPU: {"set": 512, "only_from": 4096, "identity": "10de:2bb5"}}}),
    ({"module": {"nvidia_peermem": "present"}}, {"module": {"nvidia_peermem": "present"}}),
    ({"schema": "gpuhost.values/1", "run_id": "x", "values": {"sysctl": {"vm.swappiness": "10"}}, "changes": []},
     {"sysctl": {"vm.swappiness": "10"}}),
    ({"sysctl": {"vm.dirty_ratio": 0, "vm.dirty_bytes": 268435456}},
     {"sysctl": {"vm.dirty_ratio": "0", "vm.dirty_bytes": "268435456"}}),
])
def test_desired_values(given, wanted):
    assert desired_values(given) == wanted


@pytest.mark.parametrize("given, message", [
    ("vm.swappiness=10",
     "'vm.swappiness=10' is not a mapping of sysctl, sysfs, pcie_maxreadreq, module, guest_affinity"),
    ({"sysctls": {}}, "there is no kind 'sysctls': did you mean 'sysctl'?"),
    ({"sysctl": ["vm.swappiness"]}, "sysctl: ['vm.swappiness'] is not a mapping of addresses to values"),
    ({"sysctl": {"vm.swappiness": True}},
     "sysctl:vm.swappiness: true is a boolean: quote it in YAML, or write the kernel's own value"),
    ({"sysctl": {"vm.swappiness": 1.5}}, "sysctl:vm.swappiness: 1.5 is neither a number nor text"),
    ({"sysctl": {"vm.swappiness": None}}, "sysctl:vm.swappiness: None is neither a number nor text"),
    ({"sysctl": {"vm.swappiness": {"atleast": 5}}},
     "sysctl:vm.swappiness: {'atleast': 5} is neither a value, nor {at_least: NUMBER}, nor {set: VALUE, only_from: "
     "VALUE, identity: TEXT, restores: true} (unknown: atleast)"),
    ({"sysctl": {"swappiness": 10}},
     "sysctl:swappiness: 'swappiness' is not a sysctl key: a component before the name is missing, as in "
     "vm.swappiness"),
    ({"sysctl": {"vm.dirty_ratio": 10, "vm.dirty_bytes": 268435456}},
     "sysctl: vm.dirty_ratio and vm.dirty_bytes exclude each other: one of them must be 0 or omitted"),
    ({"sysctl": {"vm.dirty_background_ratio": {"set": 5}, "vm.dirty_background_bytes": 4096}},
     "sysctl: vm.dirty_background_ratio and vm.dirty_background_bytes exclude each other: one of them must be 0 or "
     "omitted"),
    ({"sysfs": {"/proc/sys/vm/swappiness": 1}}, "sysfs:/proc/sys/vm/swappiness: it is not a path below /sys"),
    ({"sysfs": {"/sys/../etc/passwd": 1}}, "sysfs:/sys/../etc/passwd: it is not a path below /sys"),
    ({"sysfs": {"/sys/kernel/mm/ksm/run": {"at_least": 1}}},
     "sysfs:/sys/kernel/mm/ksm/run: at_least is for sysctls that hold one number"),
    ({"pcie_maxreadreq": {2460.0: 4096}},
     "pcie_maxreadreq:2460.0: the address 2460.0 is a number: quote it in YAML"),
    ({"pcie_maxreadreq": {"2460.0": 4096}},
     "pcie_maxreadreq:2460.0: the address '2460.0' is a number: quote it in YAML"),
    ({"pcie_maxreadreq": {"41:00.0": 4096}}, "pcie_maxreadreq:41:00.0: name the PCI domain too: 0000:41:00.0"),
    ({"pcie_maxreadreq": {"gpu0": 4096}}, "pcie_maxreadreq:gpu0: 'gpu0' is not a PCI address like 0000:01:00.0"),
    ({"pcie_maxreadreq": {GPU: 1000}}, f"pcie_maxreadreq:{GPU}: 1000 is none of 128, 256, 512, 1024, 2048, 4096"),
    ({"pcie_maxreadreq": {GPU: "4k"}}, f"pcie_maxreadreq:{GPU}: '4k' is none of 128, 256, 512, 1024, 2048, 4096"),
    ({"pcie_maxreadreq": {GPU: True}}, f"pcie_maxreadreq:{GPU}: True is none of 128, 256, 512, 1024, 2048, 4096"),
    ({"module": {"nvidia_peermem": True}}, "module:nvidia_peermem: True is neither present nor absent"),
    ({"guest_affinity": {"lxc:101": ""}},
     "guest_affinity:lxc:101: the list of CPUs is empty: a guest needs at least one"),
    ({"guest_affinity": {"ct:101": "0-3"}},
     "guest_affinity:ct:101: 'ct:101' is not a guest of Proxmox VE, such as vm:200 or lxc:101"),
    ({"module": {"../x": "present"}}, "module:../x: '../x' is not the name of a module, such as nvidia_peermem"),
])
def test_what_cannot_be_meant_is_one_message(given, message):
    with pytest.raises(CatalogueError) as caught:
        desired_values(given)
    assert str(caught.value) == f"gpuhost_values: {message}"
    assert isinstance(caught.value, ValueError)


def test_addresses():
    values = {"sysctl": {"vm.swappiness": "10"}, "module": {"gdrdrv": "present"}}
    assert addresses(values) == ["sysctl:vm.swappiness", "module:gdrdrv"]


def test_a_kind_that_nobody_knows():
    with pytest.raises(ValueError, match="there is no kind 'sysclt': did you mean 'sysctl'"):
        form("sysclt", 1)
