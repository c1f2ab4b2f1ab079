# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts on which GPUs do not come up, or are somebody else's: what is said, and that nothing is written to them."""
from __future__ import annotations

import functools
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import summary

from expected_hosts.dead_gpus import HOSTS
from hosts import pci
from hosts.dead_gpus import (
    GPUS,
    LAST,
    TIMEOUT,
    answer_for,
    eight_gpus,
    failed_to_start,
    log,
    no_gsp,
    one_dead,
    refuse_nvidia_smi,
    without_nvidia_smi,
)
from hosts.setters import apply_values
from verdicts import expand, failing, judged, lines, skipped

ALL = list(GPUS)
DEAD = [host for host in HOSTS if host.plant is not eight_gpus]
CODES = "0x62:0x40:2119"


@functools.cache
def changed_by(*changes):
    """Plants the sound server, then those changes; one function for the same changes."""
    def plant(tree):
        eight_gpus(tree)
        for change in changes:
            change(tree)
    return plant


@functools.cache
def refused(words):
    return lambda tree: refuse_nvidia_smi(tree, words)


@functools.cache
def failed(address):
    return lambda tree: log(tree, failed_to_start(address, CODES))


@functools.cache
def bound_to(driver, *addresses):
    """GPUs that the nvidia driver does not have, so neither it nor nvidia-smi lists them."""
    def change(tree):
        for address in addresses:
            pci.bind(tree, address, driver)
            tree.remove(f"/proc/driver/nvidia/gpus/{address}/information")
            tree.path(f"/proc/driver/nvidia/gpus/{address}").rmdir()
        answer_for(tree, *(address for address in GPUS if address not in addresses))
    return change


def count(facts):
    finding = judged(facts)["nvidia_gpu_count", None]
    return finding["verdict"], finding["reason"]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.plant.__name__)
def test_b05_b06_what_is_said_is_what_was_written_down_before(facts_of, host):
    """B-05, B-06: every finding that fails or is unknown, and the first three things to do."""
    found = judged(facts_of(host.plant))
    wrong = {pair: line for pair, line in lines(found).items() if line.startswith(("fail", "unknown"))}
    assert wrong == expand(host.fails)
    serious = [check for check, priority in failing(found).items() if priority != "info"]
    assert serious[:3] == list(host.first)
    assert set(serious) <= set(host.sources)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.plant.__name__)
def test_the_gate_of_p0_fails_on_broken_hosts_alone(facts_of, host):
    found = judged(facts_of(host.plant))
    assert bool(summary(found.values())["failing"]["P0"]) is (host in DEAD)


def test_every_gpu_is_counted_where_all_are_up(facts_of):
    assert count(facts_of(eight_gpus)) == ("pass", "8 on the bus, 8 bound to the driver, 8 in nvidia-smi")


def test_b05_without_a_line_in_the_log_an_nvidia_smi_that_does_not_end_leaves_the_count_unknown(facts_of):
    """B-05: never passed."""
    assert count(facts_of(changed_by(refused(TIMEOUT)))) == (
        "unknown", "the number of NVIDIA GPUs (lspci, /proc/driver/nvidia, nvidia-smi) could not be read: "
                   f"nvidia-smi: {TIMEOUT}")


def test_a_host_without_nvidia_smi_is_counted_by_driver_and_bus_and_its_registers_are_planned(facts_of):
    facts = facts_of(changed_by(without_nvidia_smi))
    assert count(facts) == ("pass", "8 on the bus, 8 bound to the driver, no output of nvidia-smi (not installed, or "
                                    "not recorded), so whether they initialise is not known")
    assert skipped(facts, judged(facts), "pcie_maxreadreq") == {}


@pytest.mark.parametrize("changes, verdict, dead", [
    # A failure that was overcome: nvidia-smi lists the GPU now.
    ((failed(LAST),), "pass", []),
    ((failed(LAST), without_nvidia_smi), "fail", [LAST]),
    ((failed(LAST), refused(TIMEOUT)), "fail", [LAST]),
    ((lambda tree: answer_for(tree, *ALL[:7]),), "fail", [LAST]),
    ((failed(LAST), lambda tree: log(tree, ["NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05"], 900),
      without_nvidia_smi), "pass", []),
    ((refused(f"nvidia-smi ended with status 255: Unable to determine the device handle for GPU2: {ALL[2]}: Unknown "
              "Error"),), "fail", [ALL[2]]),
    ((refused("nvidia-smi ended with status 4: Insufficient Permissions"),), "unknown", []),
])
def test_which_gpus_are_dead_and_which_registers_are_left_alone(facts_of, changes, verdict, dead):
    facts = facts_of(changed_by(*changes))
    assert count(facts)[0] == verdict
    reasons = skipped(facts, judged(facts), "pcie_maxreadreq")
    assert sorted(reasons) == dead
    assert all(reason.startswith("the GPU is not usable: it is bound to the driver but ")
               for reason in reasons.values())


@pytest.mark.parametrize("plant, dead", [(no_gsp, ALL), (one_dead, [LAST])])
def test_b05_b06_a_dead_gpu_that_the_user_names_is_refused_and_not_written(tree, plant, dead):
    """B-05, B-06: the same rule inside the setter; GPUs that are up are changed."""
    plant(tree)
    before = {address: tree.path(f"{pci.DEVICES}/{address}/config").read_bytes() for address in GPUS}
    outcomes = {change["address"].partition(":")[2]: change for change in apply_values(
        Host(str(tree.root)), {"pcie_maxreadreq": dict.fromkeys(GPUS, 4096)})}
    assert [address for address, change in outcomes.items() if change["outcome"] == "refused"] == dead
    for address in GPUS:
        same = tree.path(f"{pci.DEVICES}/{address}/config").read_bytes() == before[address]
        assert same is (address in dead)
    assert all("RmInitAdapter failed!" in outcomes[address]["reason"] for address in dead)


def without_uuid(tree):
    """The last GPU was never initialised, and the log no longer reaches back to where that was tried."""
    answer_for(tree, *ALL[:7])
    path = tree.path(f"/proc/driver/nvidia/gpus/{LAST}/information")
    path.write_text(re.sub(r"GPU-\S+", "GPU-????????-????-????-????-????????????", path.read_text()))


def test_a_gpu_that_was_never_initialised_is_refused_without_a_line_in_the_log(tree):
    changed_by(without_uuid)(tree)
    outcomes = [change["outcome"] for change in apply_values(
        Host(str(tree.root)), {"pcie_maxreadreq": dict.fromkeys(GPUS, 4096)})]
    assert outcomes == ["changed"] * 7 + ["refused"]


@pytest.mark.parametrize("driver, reason", [
    ("nouveau", "it is bound to nouveau, not to nvidia"),
    ("nova_core", "it is bound to nova_core, not to nvidia"),
    (None, "no driver is bound to it"),
    ("pci-stub", "not applicable: the GPU is bound to pci-stub, which reserves it for guests"),
    ("uio_pci_generic", "not applicable: the GPU is bound to uio_pci_generic, which reserves it for guests"),
    ("vfio-pci", "not applicable: the GPU is passed through to a guest (vfio-pci)"),
    ("nvgrace-gpu-vfio-pci", "not applicable: the GPU is passed through to a guest (nvgrace-gpu-vfio-pci)"),
])
def test_no_register_of_a_gpu_that_the_nvidia_driver_does_not_have(tree, facts_of, driver, reason):
    """A card bound to pci-stub or uio, or to no driver: left out of the plan, and refused where it is named."""
    plant = changed_by(bound_to(driver, LAST))
    facts = facts_of(plant)
    assert skipped(facts, judged(facts), "pcie_maxreadreq") == {LAST: reason}
    plant(tree)
    [change] = apply_values(Host(str(tree.root)), {"pcie_maxreadreq": {LAST: 4096}})
    assert (change["outcome"], driver is None or driver in change["reason"]) == ("refused", True)


@pytest.mark.parametrize("driver, elsewhere", [
    ("pci-stub", f"1 bound for a guest (pci-stub): {LAST}"), ("nouveau", "1 bound to another driver (nouveau): "
                                                                         f"{LAST}"),
    (None, f"1 without a driver: {LAST}")])
def test_on_the_bus_are_all_gpus_each_with_its_reason(facts_of, driver, elsewhere):
    assert count(facts_of(changed_by(bound_to(driver, LAST)))) == (
        "pass", f"8 on the bus, 7 bound to the driver, 7 in nvidia-smi; not bound to the driver: {elsewhere}")


def test_a_host_that_gives_its_gpus_to_vms_and_has_one_left_over_is_told_so_and_not_alarmed(facts_of):
    """Seven on vfio-pci and one without a driver."""
    facts = facts_of(changed_by(bound_to("vfio-pci", *ALL[:7]), bound_to(None, LAST)))
    found = judged(facts)
    assert failing(found) == {"cstate_latency": "info", "pcie_maxreadreq": "info"}
    assert count(facts) == ("not_applicable", "none of 8 NVIDIA GPUs is bound to the nvidia driver: 7 bound for a "
                                              "guest (vfio-pci)"
                            f": {', '.join(ALL[:7])}; 1 without a driver: {LAST}")
    assert found["gpu_driver", LAST]["reason"] == (
        "no driver is bound to it: the GPUs of this host are assigned to guests (7 of 7 others), and this one is spare")
    assert skipped(facts, found, "pcie_maxreadreq")[LAST] == "no driver is bound to it"


def test_b15_bytes_in_the_name_of_a_process_lose_no_answer(facts_of):
    """B-15: control characters are no XML; the first GPU asks for a reset."""
    def change(tree):
        path = tree.path("/recorded/nvidia-smi.xml")
        path.write_bytes(path.read_bytes().replace(
            b"<gpu_recovery_action>None<", b"<gpu_recovery_action>Reset<", 1).replace(
            b"<processes></processes>", b"<processes><process_info><pid>4242</pid><process_name>\x01\x1b[31m\xff&<x>"
            b"</process_name></process_info></processes>", 1))
    found = judged(facts_of(changed_by(change)))
    finding = found["nvidia_recovery", ALL[0]]
    assert (finding["verdict"], finding["priority"], finding["actual"]) == ("fail", "P0", "Reset")
    assert found["nvidia_gpu_count", None]["verdict"] == "pass"
