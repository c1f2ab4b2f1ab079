# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import lxc_settings
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.config import parse_sections
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.cpu_models import parse_models, read_models
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.vm_settings import configured

FULL = """\
affinity: 0,5,8-11
args: -cpu host,+invtsc
balloon: 4096
cores: 16
cpu: custom-avx,flags=+pcid;-aes
cpulimit: 12.5
cpuunits: 200
hostpci0: mapping=gpu4,pcie=1
hostpci1: 0000:41:00
hotplug: disk,network,memory
hugepages: 1024
keephugepages: 1
kvm: 0
machine: pc-q35-9.2+pve1,viommu=intel
memory: current=65536
net0: virtio=BC:24:11:AA:BB:CC,bridge=vmbr0,firewall=1
numa: 1
numa0: cpus=0-7;16,hostnodes=0-1,memory=32768,policy=bind
numa1: 8-15,memory=32768
smbios1: uuid=8E8B6F0C-1111-4222-8333-0123456789AB,manufacturer=eA==,base64=1
sockets: 2
vcpus: 20

[PENDING]
affinity: 0-3
cores: 2

[before-update]
cores: 1
affinity: 63
"""
MODELS = """\
cpu-model: avx
    flags +avx;+avx2
    phys-bits host
    reported-model EPYC-Rome

cpu-model: plain
"""


def of(text, models=None):
    return configured(parse_sections(text)[""], models)


def test_all_settings_of_a_vm_are_those_that_hold_now():
    found = of(FULL, parse_models(MODELS))
    assert (found["cores"], found["memory_mib"], found["cpus"].value, found["memory_nodes"].value) == (
        32, 65536, "0,5,8-11", "0-1")
    assert (found["cpulimit"], found["cpuunits"], found["addresses"]) == (12.5, 200, ["bc:24:11:aa:bb:cc"])
    assert found["vm"] == {
        "sockets": 2, "vcpus": 20, "numa": True, "numa_nodes": [
            {"key": "numa0", "cpus": "0-7,16", "hostnodes": "0-1", "memory_mib": 32768, "policy": "bind"},
            {"key": "numa1", "cpus": "8-15", "hostnodes": None, "memory_mib": 32768, "policy": None}],
        "cpu_type": "custom-avx", "cpu_setting": "custom-avx,flags=+pcid;-aes", "cpu_model": "EPYC-Rome",
        "cpu_flags": ["+avx", "+avx2", "+pcid", "-aes"], "cpu_arguments": True, "arch": None,
        "machine": "pc-q35-9.2+pve1", "hugepages": "1024", "keephugepages": True,
        "hotplug_memory": True, "balloon_mib": 4096, "kvm": False,
        "uuid": "8e8b6f0c-1111-4222-8333-0123456789ab", "pcie": ["hostpci0"]}


def test_what_proxmox_ve_takes_where_nothing_is_set():
    found = of("name: empty\n")
    assert (found["cores"], found["memory_mib"], found["cpus"].status, found["memory_nodes"].status) == (
        1, 512, "absent", "absent")
    vm = found["vm"]
    assert (vm["cpu_type"], vm["machine"], vm["numa"], vm["balloon_mib"], vm["kvm"], vm["pcie"]) == (
        "kvm64", None, False, None, True, [])


@pytest.mark.parametrize("line, status", [("affinity: all", "unparsable"), ("affinity: 3-1", "unparsable"),
                                          ("affinity: 0-3", "ok"), ("affinity:", "absent")])
def test_a_list_of_cpus_is_one_or_says_so(line, status):
    assert of(f"{line}\n")["cpus"].status == status


def test_virtual_nodes_bind_nothing_without_numa():
    assert of("numa0: cpus=0-3,hostnodes=1,memory=512,policy=bind\n")["memory_nodes"].status == "absent"


@pytest.mark.parametrize("cpu, models, model", [
    ("host", {}, "host"), ("cputype=EPYC-Genoa,flags=+aes", {}, "EPYC-Genoa"), ("custom-plain", None, None),
    ("custom-gone", {}, None)])
def test_the_model_of_the_cpu(cpu, models, model):
    assert of(f"cpu: {cpu}\n", models)["vm"]["cpu_model"] == model


def test_a_model_of_the_clusters_own_stands_on_kvm64_where_it_says_nothing():
    assert of("cpu: custom-plain\n", parse_models(MODELS))["vm"]["cpu_model"] == "kvm64"


def test_models_are_read_where_there_are_any(tree, host):
    assert read_models(host) == {}
    tree.file("/etc/pve/virtual-guest/cpu-models.conf", MODELS)
    assert read_models(host)["avx"].flags == ("+avx", "+avx2")


@pytest.mark.parametrize("unified, cpus", [(True, "0-3"), (False, "4-7"), (None, "0-3")])
def test_raw_keys_of_a_container_count_where_the_hierarchy_has_them(unified, cpus):
    text = "cores: 8\nlxc.cgroup2.cpuset.cpus: 0-3\nlxc.cgroup.cpuset.cpus = 4-7\nlxc.cgroup2.cpuset.mems: 1\n" \
           "net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp\n[snap]\ncores: 1\n"
    found = lxc_settings.configured(parse_sections(text)[""], unified)
    assert (found["cores"], found["cpus"].value, found["memory_mib"], found["vm"]) == (8, cpus, 512, None)
    assert found["addresses"] == ["bc:24:11:00:00:01"]
    assert found["memory_nodes"].value == (None if unified is False else "1")
