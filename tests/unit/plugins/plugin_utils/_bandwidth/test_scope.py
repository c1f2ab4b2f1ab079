# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is not put under load, and which words a person has to say to do it all the same."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import of_pairs
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.scope import (
    Refused,
    choose,
    pairs_risk,
    require_safe,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

import neutral_facts as neutral
from neutral_facts import lacking, merge, ok

ALL = ["0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:24:00.0", "0000:83:00.0", "0000:84:00.0", "0000:a3:00.0",
       "0000:a4:00.0"]


def facts_with(fragment=None, first=None):
    """The facts of eight sound GPUs, derived; `first` changes the first of them."""
    facts = merge(neutral.epyc(), fragment or {})
    facts["gpus"][0] = merge(facts["gpus"][0], first or {})
    return derive(facts)


def chosen(facts, devices=(), container=None):
    scope = choose(facts, devices, container)
    return [gpu["bdf"] for gpu in scope.gpus], scope.not_measured


def test_all_gpus_that_the_driver_serves():
    assert sorted(chosen(facts_with())[0]) == sorted(ALL)
    assert chosen(facts_with())[1] == []


@pytest.mark.parametrize("first, reason", [
    ({"driver": "vfio-pci"}, "the GPU is bound to vfio-pci, which reserves it for guests"),
    ({"claimed_by": ok([{"vm": "200", "key": "hostpci0"}])}, "the GPU belongs to VM 200 (hostpci0)"),
    ({"driver": None}, "its driver is none, and the nvidia driver is needed"),
    ({"driver": "nouveau"}, "its driver is nouveau, and the nvidia driver is needed"),
    ({"state": "asleep"}, "the GPU is suspended, and reading its registers would wake it"),
    ({"virtual_functions": 4}, "it has virtual functions, whose guests share its link")])
def test_a_gpu_of_somebody_else_is_left_out_unless_it_is_named(first, reason):
    facts = facts_with(first=first)
    gpus, left_out = chosen(facts)
    assert len(gpus) == 7
    assert left_out == [{"subject": ALL[0], "reason": reason}]
    with pytest.raises(Refused) as refused:
        choose(facts, [ALL[0]], None)
    assert str(refused.value) == f"{ALL[0]} cannot be measured: {reason}"


def test_a_gpu_that_did_not_start_is_left_out():
    facts = neutral.epyc()
    facts["nvidia"]["smi"]["gpus"] = [gpu for gpu in facts["nvidia"]["smi"]["gpus"] if gpu["bdf"] != ALL[0]]
    assert chosen(derive(facts))[1] == [
        {"subject": ALL[0], "reason": "it is not usable: it is bound to the driver but missing in nvidia-smi"}]


def test_named_devices_alone():
    gpus, left_out = chosen(facts_with(), [ALL[1]])
    assert gpus == [ALL[1]]
    assert {one["reason"] for one in left_out} == {"not in the list of devices"}
    with pytest.raises(Refused, match=r"0000:99:00.0: no NVIDIA GPU of this host has this address. Its GPUs: 0000:03"):
        choose(facts_with(), ["0000:99:00.0"], None)


def test_in_a_container_only_what_it_is_given():
    gpus, left_out = chosen(facts_with(first={"containers": ["102"]}), container="102")
    assert gpus == [ALL[0]]
    assert len(left_out) == 7
    assert left_out[0]["reason"] == "container 102 does not have it"


def test_a_host_without_gpus_has_nothing_to_measure():
    assert chosen(derive(neutral.vm())) == ([], [])


def test_a_sound_host_may_be_measured():
    facts = facts_with()
    require_safe(facts, [])
    assert pairs_risk(of_pairs(facts["gpus"], facts), []) is None
    require_safe(derive(neutral.workstation()), [])


XID = {"nvidia": {"xids": ok([{"bdf": "0000:03:00", "xid": 79, "seconds": 9.5, "text": "NVRM: Xid"},
                              {"bdf": "0000:04:00", "xid": 31, "seconds": 9.5, "text": "NVRM: Xid"}])}}
HA = {"guests": {"ha": ok([{"guest": "lxc:101", "state": "started", "nodes": None, "strict": False}])}}


@pytest.mark.parametrize("fragment, name, message", [
    (XID, "xid", "the driver reported errors of a GPU since boot (check nvidia_xid): 0000:03:00.0: Xid 79: it has "
     "fallen off the bus (restart the host). To measure anyway: gpuhost_bandwidth_override: [xid]; to skip it: "
     "gpuhost_bandwidth: false"),
    ({"nvidia": {"xids": lacking("denied")}}, "xid", "whether the driver reported an error of a GPU since boot is not "
                                                     "known (kernel log: denied). To measure anyway: "
                                                     "gpuhost_bandwidth_override: [xid]; to skip it: "
                                                     "gpuhost_bandwidth: false"),
    (HA, "ha", "Proxmox VE HA manages 1 guest of this node (lxc:101): if a GPU hangs the host, the cluster fences "
     "it. To measure anyway: gpuhost_bandwidth_override: [ha]; to skip it: "
     "gpuhost_bandwidth: false"),
    ({"guests": {"ha": lacking("denied")}}, "ha", "whether this node has guests managed by HA cannot be "
     "told (denied). To measure anyway: gpuhost_bandwidth_override: [ha]; to skip it: "
     "gpuhost_bandwidth: false")])
def test_what_a_person_may_open(fragment, name, message):
    facts = facts_with(fragment)
    others = [other for other in ("p2p_risk", "xid", "ha") if other != name]
    with pytest.raises(Refused) as refused:
        require_safe(facts, others)
    assert str(refused.value) == message
    require_safe(facts, [name])


def test_an_error_of_a_program_and_a_guest_that_is_not_kept_are_no_reasons():
    require_safe(facts_with({"nvidia": {"xids": ok([XID["nvidia"]["xids"]["value"][1]])}}), [])
    require_safe(facts_with({"guests": {"ha": ok([{"guest": "lxc:101", "state": "ignored", "nodes": None,
                                                   "strict": False},
                                                  {"guest": "vm:900", "state": "started", "nodes": None,
                                                   "strict": False}])}}), [])


HUNG = {"bdf": ALL[0], "since": "2026-11-29T18:00:00Z", "run_id": "20261129T180000Z-0001", "what": "h2d"}


@pytest.mark.parametrize("facts, message", [
    (facts_with({"nvidia": {"hung": ok([HUNG])}}), f"{ALL[0]} hung at 2026-11-29T18:00:00Z during a measurement .*"
     "until the host is rebooted"),
    (facts_with({"nvidia": {"hung": lacking("unparsable")}}), "whether a GPU hung since boot is not known: "
     "/run/gpuhost/hung.json: unparsable"),
    (facts_with(first={"state": "gone"}), f"{ALL[0]} reads all ones: any call of the driver may hang"),
    (facts_with({"nvidia": {"cuda_library_version": ok("580.95.05")}}), "the loaded driver is 595.58.03, libcuda is"),
    (derive(neutral.container()), "the target is a container")])
def test_what_nobody_may_open(facts, message):
    with pytest.raises(Refused, match=message):
        require_safe(facts, ["p2p_risk", "xid", "ha"])


def redirecting(iommu_type, acs):
    facts = neutral.epyc()
    facts["gpus"] = [merge(gpu, {"iommu_type": iommu_type}) for gpu in facts["gpus"]]
    facts["ports"] = [merge(port, {"acs": acs}) if port["bdf"] == "0000:02:00.0" else port for port in facts["ports"]]
    return derive(facts)


@pytest.mark.parametrize("facts, message", [
    (redirecting(ok("DMA-FQ"), ok(neutral.acs(redirect=True))),
     "the IOMMU translates and 0000:02:00.0 redirects (check iommu_acs): transfers between GPUs may hang the host. To "
     "measure anyway: gpuhost_bandwidth_override: [p2p_risk]; to skip it: "
     "gpuhost_bandwidth_pairs: false"),
    (redirecting(ok("DMA-FQ"), lacking("denied")),
     "whether the IOMMU translates and a port redirects is not known (check iommu_acs); if so, transfers between GPUs "
     "may hang the host. To measure anyway: gpuhost_bandwidth_override: [p2p_risk]; to skip it: "
     "gpuhost_bandwidth_pairs: false")])
def test_transfers_that_may_hang(facts, message):
    pairs = of_pairs(facts["gpus"], facts)
    require_safe(facts, [])
    assert pairs_risk(pairs, ["xid", "ha"]) == message
    assert pairs_risk(pairs, ["p2p_risk"]) is None
    # Those that the port is not between are no risk.
    others = [gpu for gpu in facts["gpus"] if gpu["bdf"] != ALL[0]]
    assert pairs_risk(of_pairs(others, facts), []) is None
