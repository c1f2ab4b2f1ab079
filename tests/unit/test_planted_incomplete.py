# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings in which a part of the host is missing: no check passes on what was not read."""
from __future__ import annotations

import functools
import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.describe import describe

from hosts.sick import sick
from hosts.story_before import story_before
from verdicts import judged


def story_with_vm(tree):
    story_before(tree, cores=1, vms={"200": "name: desk\nmemory: 8192\nhostpci0: 0000:41:00.0\n"})


@functools.cache
def without(plant, *parts):
    """The host without these folders or files."""
    def change(tree):
        plant(tree)
        for part in map(tree.path, parts):
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    return change


def findings(facts, check):
    return {finding["subject"]: (finding["verdict"], finding["reason"]) for (name, _subject), finding
            in judged(facts).items() if name == check}


def test_on_an_empty_recording_nothing_passes_and_nothing_fails(tree):
    found = judged(collect(Host(str(tree.root)), []))
    assert {pair: finding["reason"] for pair, finding in found.items() if finding["verdict"] in ("pass", "fail")} == {}


def test_where_the_pci_bus_was_not_read_nobody_says_that_there_is_no_gpu(tree):
    found = judged(collect(Host(str(tree.root)), []))
    assert [pair for pair, finding in found.items() if "no GPU on this host" in finding["reason"]
            or "no NVIDIA GPU" in finding["reason"] or "no AMD GPU" in finding["reason"]] == []
    assert "GPUs not read" in describe(collect(Host(str(tree.root)), []))
    assert found["gpu_driver", None]["verdict"] == "unknown"
    assert found["gpu_driver", None]["reason"] == (
        "the GPUs (/sys/bus/pci/devices, lspci) could not be read: the PCI bus is not visible (/sys/bus/pci/devices)")


@pytest.mark.parametrize("plant, parts, check, verdict, reason", [
    (sick, ["/etc/default/grub", "/etc/kernel"], "cmdline_configured", "not_applicable",
     "GRUB boots this host, and /etc/default/grub does not exist"),
    (sick, ["/etc"], "cmdline_configured", "unknown", None),
    (sick, ["/etc"], "sysctl_conf", "unknown", None),
    (sick, ["/run"], "sysctl_conf", "unknown", None),
    (sick, ["/sys/devices/system/cpu"], "cpus_offline", "not_applicable",
     "the kernel does not report which CPUs are present and online"),
    (sick, ["/sys/devices/system/cpu/present"], "cpus_offline", "not_applicable",
     "the kernel does not report which CPUs are present and online"),
    (sick, ["/proc/cmdline"], "pcie_bus_tuning", "unknown", None),
    (sick, ["/proc/cpuinfo"], "firmware_settings", "unknown", None),
    (story_with_vm, ["/sys/kernel/iommu_groups"], "iommu_acs", "unknown", None),
    (story_with_vm, ["/sys/kernel"], "iommu_acs", "unknown", None),
    (story_with_vm, ["/sys/kernel/iommu_groups"], "iommu_for_guests", "unknown", None),
])
def test_what_was_not_read_does_not_pass(facts_of, plant, parts, check, verdict, reason):
    [(said, why)] = findings(facts_of(without(plant, *parts)), check).values()
    assert said == verdict
    assert reason in (None, why)


@pytest.mark.parametrize("plant, parts, check, subject", [
    (story_with_vm, ["/proc/irq"], "gpu_interrupts", "0000:01:00.0"),
    (story_with_vm, ["/proc/driver"], "gpu_one_owner", "0000:41:00.0"),
    (story_with_vm, ["/proc/driver"], "lxc_gpu_access", "lxc:101"),
])
def test_nor_does_it_of_one_subject(facts_of, plant, parts, check, subject):
    assert findings(facts_of(plant), check)[subject][0] in ("pass", "fail")
    assert findings(facts_of(without(plant, *parts)), check)[subject][0] == "unknown"


def test_without_etc_nobody_says_which_services_tune(facts_of):
    assert findings(facts_of(sick), "other_managers")["tlp"][0] == "fail"
    [(verdict, reason)] = findings(facts_of(without(sick, "/etc")), "other_managers").values()
    assert (verdict, "the recording has no /etc" in reason) == ("unknown", True)


def test_what_firmware_does_not_tell_is_unknown_in_words(facts_of):
    [(_verdict, reason)] = findings(facts_of(without(story_with_vm, "/sys/kernel")), "firmware_settings").values()
    assert "IOMMU unknown" in reason
