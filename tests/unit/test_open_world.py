# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No verdict rests on what a recording does not have: whatever part of a host is taken away, each finding is the one of
the whole host, or unknown with that reason."""
from __future__ import annotations

import importlib
import pkgutil

import pytest

import expected_hosts
from hosts.reference import reference
from hosts.sick import sick
from hosts.story_before import story_before
from hosts.tree import Tree
from open_world import PARTS, WHY, answering, false_verdicts, findings, without

EVERY_PLANT = [sick, story_before, reference, *(
    host.plant for found in pkgutil.iter_modules(expected_hosts.__path__)
    for host in getattr(importlib.import_module(f"expected_hosts.{found.name}"), "HOSTS", ()))]
BY_NAME = {plant.__name__: plant for plant in EVERY_PLANT}
# Containers, VMs that have the GPUs, network cards and switches, coherent memory, a guest, AMD, a desktop.
SOME = [BY_NAME[name] for name in ("story_before", "node_of_vms", "a100_with_nics", "grace_hopper", "guest_with_l40s",
                                   "eight_instincts", "geforce_stock")]


def of_name(plant):
    return plant.__name__


def lost_verdicts(tree, parts):
    whole = findings(tree)
    wrong = {}
    for part in parts:
        with without(tree, part):
            told = false_verdicts(whole, findings(tree))
        if told:
            wrong[part] = told
    return wrong


@pytest.mark.parametrize("plant", SOME, ids=of_name)
def test_what_is_not_recorded_decides_nothing(tmp_path, plant):
    tree = Tree(tmp_path / "host")
    plant(tree)
    # Another third of the parts each.
    assert lost_verdicts(tree, PARTS[SOME.index(plant) % 3::3]) == {}


@pytest.mark.soak
@pytest.mark.parametrize("plant", EVERY_PLANT, ids=of_name)
def test_what_is_not_recorded_decides_nothing_on_any_host(tmp_path, plant):
    tree = Tree(tmp_path / "host")
    plant(tree)
    assert lost_verdicts(tree, PARTS) == {}


@pytest.mark.parametrize("plant", SOME, ids=of_name)
def test_what_is_there_of_an_open_recording_is_not_all(tmp_path, plant):
    tree = Tree(tmp_path / "host")
    plant(tree)
    whole = findings(tree)
    with answering(tree, open=WHY):
        assert false_verdicts(whole, findings(tree)) == []


def test_a_recording_of_nothing_says_nothing(tree):
    tree.path("/proc/sys/kernel/random/boot_id").unlink()
    tree.file("/proc/version", "Linux version 6.8.12-9-pve")
    with answering(tree, open=WHY):
        found = findings(tree)
    assert {finding["verdict"] for finding in found.values()} == {"unknown"}
    assert {finding["not_recorded"] for finding in found.values()} == {WHY}


def test_an_empty_folder_that_is_closed_has_nothing(tree):
    tree.folder("/sys/bus/pci/devices")
    tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu")
    with answering(tree, open=WHY, closed=["/sys/bus/pci/devices", "/sys/class/dmi"],
                   links={"/proc/self/ns/pid": "pid:[4026531836]"}):
        found = findings(tree)
    assert (found["ksm", None]["verdict"], found["ksm", None]["reason"]) == (
        "not_applicable", "no GPU is used by this host")
    assert found["sysctl_at_boot", None]["verdict"] == "unknown"


def test_registers_behind_the_end_of_a_dump_are_not_absent(tmp_path):
    tree = Tree(tmp_path / "host")
    story_before(tree)
    whole = findings(tree)
    files = [file for file in tree.path("/sys/devices").rglob("config") if file.stat().st_size > 256]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:256])
    cut = {f"/{file.relative_to(tree.root)}": "lspci dumped 256 bytes" for file in files}
    with answering(tree, cut=cut):
        found = findings(tree)
    assert false_verdicts(whole, found) == []
    assert found["iommu_acs", None]["not_recorded"] == "lspci dumped 256 bytes"
    of_gpus = {check: {finding["verdict"] for (name, _at), finding in found.items() if name == check}
               for check in ("pcie_maxreadreq", "pcie_maxpayload", "pcie_link_width")}
    assert of_gpus == {"pcie_maxreadreq": {"fail"}, "pcie_maxpayload": {"pass"}, "pcie_link_width": {"pass"}}
