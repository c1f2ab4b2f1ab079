# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts together, of whole planted hosts and of the machine that runs the tests."""
from __future__ import annotations

import json
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import (
    collect,
    find_denied,
    find_readings,
    find_unparsable,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading

from facts_schema import document_problems
from hosts.others import container, container_with_gpus, intel_server, virtual_machine, workstation
from hosts.reference import MINORS, reference
from hosts.sick import sick
from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import GPUS, story_before


@pytest.mark.parametrize("plant", [story_before, story_after_reboot, sick, reference, workstation, intel_server,
                                   virtual_machine, container, container_with_gpus])
def test_facts_have_the_shape_that_is_documented(facts_of, plant):
    facts = facts_of(plant)
    assert document_problems("facts.json", facts) == []
    assert json.loads(json.dumps(facts)) == facts


def test_this_machine_has_that_shape_too():
    facts = collect(Host(), [])
    assert document_problems("facts.json", facts) == []
    assert facts["privileged"] is (os.geteuid() == 0)


def test_the_story_is_read_as_it_was_planted(facts_of):
    facts = facts_of(story_before)
    assert [gpu["bdf"] for gpu in facts["gpus"]] == list(GPUS)
    assert [gpu["pcie"]["value"]["max_read_request"] for gpu in facts["gpus"]] == [512] * 8
    assert [gpu["pcie"]["value"]["max_payload"] for gpu in facts["gpus"]] == [256] * 8
    assert [gpu["minor"]["value"] for gpu in facts["gpus"]] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [gpu["containers"] for gpu in facts["gpus"]] == [["101"]] * 4 + [["102"]] * 4
    assert [gpu["users"]["value"] for gpu in facts["gpus"]] == [[]] * 8      # persistenced is no user
    assert [gpu["path"] for gpu in facts["gpus"]][:2] == [["0000:00:01.1"], ["0000:10:01.1"]]
    assert facts["ports"][0]["acs"]["value"]["request_redirect"] is True
    assert facts["iommu"]["default_type"] == {"status": "ok", "value": "DMA-FQ"}
    assert facts["memory"]["swap"] == {"status": "ok", "value": []}
    assert facts["cpu"]["frequency"]["drivers"] == ["acpi-cpufreq"]
    assert facts["guests"]["unpinned_running"] == {"status": "ok", "value": 0}
    assert facts["identity"]["proxmox"] == {"installed": True, "version": {"status": "ok", "value": "8.4.1"}}
    assert facts["rdma"]["devices"] == []


def test_the_reference_host_is_read_as_its_report_says(facts_of):
    facts = facts_of(reference)
    assert {gpu["bdf"]: gpu["minor"]["value"] for gpu in facts["gpus"]} == MINORS
    assert [gpu["bdf"] for gpu in facts["gpus"]] == list(MINORS)             # the BMC's display is none of them
    assert facts["gpus"][0]["path"] == ["0000:02:03.0", "0000:01:00.0", "0000:00:01.1"]
    assert [gpu["numa_node"]["value"] for gpu in facts["gpus"]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {gpu["pcie"]["value"]["link"]["speed_gts"] for gpu in facts["gpus"]} == {2.5}
    assert facts["cpu"]["offline"] == [239]
    assert facts["cpu"]["online"] == "0-238,240-255"
    assert len(facts["cpu"]["frequency"]["policies"]) == 255
    assert facts["kernel"]["unknown_parameters"]["value"] == ["spectre_v2=off", "spec_store_bypass_disable=off"]
    assert facts["numa"]["nodes"][1]["cpus"] == "64-127,192-238,240-255"
    assert facts["iommu"] == {"active": {"status": "ok", "value": False}, "groups": 0,
                              "default_type": {"status": "absent", "value": None}}


def test_tunables_are_read_by_address_as_the_setters_see_them(tree):
    tree.sysctl("vm.laptop_mode", 0)
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    for policy in (0, 1):
        tree.file(f"/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor", "powersave")
    named = collect(Host(str(tree.root)), [
        "sysctl:vm.laptop_mode", "sysctl:vm.nope", "sysfs:/sys/kernel/mm/transparent_hugepage/enabled",
        "sysfs:/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "module:nvidia_peermem",
        "pcie_maxreadreq:0000:01:00.0"])["tunables"]
    assert {address: (reading["status"], reading["value"]) for address, reading in named.items()} == {
        "sysctl:vm.laptop_mode": ("ok", "0"), "sysctl:vm.nope": ("absent", None),
        "sysfs:/sys/kernel/mm/transparent_hugepage/enabled": ("ok", "madvise"),
        "sysfs:/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": ("ok", "powersave"),
        "sysfs:/sys/devices/system/cpu/cpufreq/policy1/scaling_governor": ("ok", "powersave"),
        "module:nvidia_peermem": ("ok", "absent"), "pcie_maxreadreq:0000:01:00.0": ("absent", None)}


@pytest.mark.parametrize("address", ["vm.swappiness", "sysctl:", "nvidia-smi:0", "sysctl:../../etc/passwd"])
def test_an_address_that_is_none_is_an_error(host, address):
    with pytest.raises(ValueError, match=r"address|key|sysctl"):
        collect(host, [address])


def test_what_only_root_may_read_is_listed_by_name():
    facts = {"gpus": [{"pcie": Reading("denied", None, "needs root")}], "sysctl": {"vm.x": Reading("denied")},
             "fine": Reading("ok", 1)}
    assert list(find_denied(find_readings(facts))) == [
        {"fact": "gpus[0].pcie", "path": None, "why": "needs root"},
        {"fact": 'sysctl."vm.x"', "path": None, "why": "needs root"}]


def test_what_makes_no_sense_is_listed_with_its_file(tree, host):
    tree.file("/sys/kernel/mm/ksm/run", "perhaps").file("/sys/kernel/mm/ksm/pages_shared", "many")
    attributes = host.read_attributes("/sys/kernel/mm/ksm", ("pages_shared",))
    facts = {"run": host.read_int("/sys/kernel/mm/ksm/run"),
             "shared": attributes["pages_shared"].map(str.strip).map(int),
             "made": Reading("unparsable"), "there": host.read_int("/sys/kernel/mm/ksm/absent")}
    assert list(find_unparsable(find_readings(facts))) == [
        {"fact": "run", "path": "/sys/kernel/mm/ksm/run", "text": "perhaps"},
        {"fact": "shared", "path": "/sys/kernel/mm/ksm/pages_shared", "text": "many"}]
