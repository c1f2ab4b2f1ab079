# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.cpufreq import boost_switches, kernel_version
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.gpus.alike import compare_alike
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.gpus.nvidia import driver_flavours
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.paths.p2p import all_of, any_of
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.paths.pcie import bandwidth

import neutral_facts as neutral
from facts_schema import document_problems, problems
from neutral_facts import ABSENT, lacking, link, merge, ok, pcie
from verdicts import judged

MACHINES = (neutral.epyc, neutral.workstation, neutral.xeon, neutral.vm, neutral.container)
ROOT = "0000:00:01.1"


def one_gpu(gpu: dict | None = None, port: dict | None = None, **more) -> dict:
    """The derived values of one RTX PRO 6000 right below a root port."""
    gpus = [{"path": [ROOT], **(gpu or {})}]
    ports = [merge(neutral.port(ROOT, "root_port", 0), port or {})]
    facts = {**merge(neutral.epyc(), {"gpus": gpus, **more}), "ports": ports}
    return derive(facts)["gpus"][0]["derived"]


def host(**fragment) -> dict:
    return derive(merge(neutral.epyc(), fragment))["derived"]


# -- as a whole -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("machine", MACHINES)
def test_neutral_facts_have_the_form_of_the_schema(machine):
    assert document_problems("facts.json", machine()) == []


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_derived_has_the_form_of_its_schema(machine):
    facts = derive(machine())
    for gpu in facts["gpus"] or derive(neutral.epyc())["gpus"]:
        assert problems("derived", {"host": facts["derived"], "gpu": gpu["derived"]}) == []


def test_the_facts_that_are_given_stay_as_they_are():
    facts = neutral.epyc()
    before = copy.deepcopy(facts)
    derive(facts)
    assert facts == before


@pytest.mark.parametrize("status", ["absent", "denied", "read_only", "asleep", "gone", "passed_through", "unparsable"])
def test_readings_of_any_status_are_derived_from(status):
    def spoil(thing):
        if isinstance(thing, dict) and set(thing) == {"status", "value"}:
            return lacking(status)
        if isinstance(thing, dict):
            return {key: spoil(value) for key, value in thing.items()}
        return [spoil(item) for item in thing] if isinstance(thing, list) else thing

    facts = derive(spoil(neutral.epyc()))
    its = facts["gpus"][0]["derived"]
    assert problems("derived", {"host": facts["derived"], "gpu": its}) == []
    assert its["expected_width"] is None
    assert its["path_max_payload"] is None
    assert its["aer_fatal"] is None


# -- bandwidth and links --------------------------------------------------------------------------------------

@pytest.mark.parametrize("speed, width, gbps", [
    (2.5, 16, 4.0),         # 2.5 * 8/10 * 16 / 8
    (5.0, 16, 8.0),
    (8.0, 16, 15.8),        # 8 * 128/130 * 16 / 8 = 15.75
    (16.0, 8, 15.8),
    (16.0, 16, 31.5),
    (32.0, 16, 63.0),
    (32.0, 4, 15.8),
    (64.0, 16, 128.0),
])
def test_bandwidth_is_payload_bits(speed, width, gbps):
    assert bandwidth(speed, width) == gbps


@pytest.mark.parametrize("mine, slot, width, speed, width_port, speed_port", [
    ((32.0, 16), (32.0, 16), 16, 32.0, None, None),
    ((32.0, 16), (16.0, 16), 16, 16.0, None, ROOT),
    ((32.0, 16), (32.0, 8), 8, 32.0, ROOT, None),
    ((16.0, 8), (32.0, 16), 8, 16.0, None, None),       # the card is the lesser end, no port limits it
])
def test_expected_link_is_what_both_ends_can_do(mine, slot, width, speed, width_port, speed_port):
    its = one_gpu({"pcie": ok(pcie("endpoint", link(max_speed=mine[0], max_width=mine[1]), 512))},
                  {"pcie": ok(pcie("root_port", link(max_speed=slot[0], max_width=slot[1]), 512))})
    assert (its["expected_width"], its["expected_speed_gts"]) == (width, speed)
    assert (its["width_port"], its["speed_port"]) == (width_port, speed_port)


@pytest.mark.parametrize("gpu, port", [
    ({"pcie": lacking("gone")}, {}), ({}, {"pcie": lacking("denied")}), ({"path": []}, {}),
    ({"pcie": ok(pcie("integrated_endpoint", None, 512))}, {}),
])
def test_without_both_ends_nothing_is_expected(gpu, port):
    its = one_gpu(gpu, port)
    assert (its["expected_width"], its["expected_speed_gts"], its["speed_floor_gts"]) == (None, None, None)
    assert its["bottleneck"] is None


def test_payload_is_that_of_the_least_port_on_the_path():
    ports = [{"bdf": "0000:02:00.0"}, {"bdf": "0000:01:00.0", "pcie": {"value": {"max_payload": 128}}}, {"bdf": ROOT}]
    facts = merge(neutral.epyc(), {"gpus": [{"path": ["0000:02:00.0", "0000:01:00.0", ROOT]}], "ports": ports})
    its = derive(facts)["gpus"][0]["derived"]
    assert (its["path_max_payload"], its["payload_port"]) == (128, "0000:01:00.0")


@pytest.mark.parametrize("registers", [lacking("denied"), {"value": {"max_payload": None}}])    # None: a reserved code
def test_payload_is_unknown_where_one_port_is(registers):
    ports = [{"bdf": "0000:02:00.0"}, {"bdf": ROOT, "pcie": registers}]
    facts = merge(neutral.epyc(), {"gpus": [{"path": ["0000:02:00.0", ROOT]}], "ports": ports})
    assert derive(facts)["gpus"][0]["derived"]["path_max_payload"] is None


# -- the bottleneck -------------------------------------------------------------------------------------------

def behind_switch(**links: dict) -> dict:
    """A Gen5 x16 GPU below a switch; `links` replace those of downstream, upstream and root."""
    names = (("downstream", "0000:02:00.0"), ("upstream", "0000:01:00.0"), ("root", ROOT))
    facts = merge(neutral.epyc(), {"gpus": [{"path": [bdf for _name, bdf in names]}]})
    facts["ports"] = [merge(neutral.port(bdf, f"{name}_port" if name != "root" else "root_port", 0),
                            {"pcie": {"value": {"link": links.get(name, {})}}}) for name, bdf in names]
    return derive(facts)["gpus"][0]["derived"]


def test_no_bottleneck_where_every_link_carries_what_the_gpu_takes():
    its = behind_switch()
    assert (its["bottleneck"], its["path_gbps"], its["gpu_gbps"]) == (None, 63.0, 63.0)


def test_an_older_slot_is_the_bottleneck():
    its = behind_switch(downstream={"max_speed_gts": 16.0})
    assert its["bottleneck"] == {"bdf": "0000:02:00.0", "gbps": 31.5, "gpu_gbps": 63.0, "link": "16 GT/s x16",
                                 "trained": False}


def test_an_uplink_that_trained_narrow_is_the_bottleneck():
    its = behind_switch(upstream={"width": 8}, root={"width": 8})
    assert its["bottleneck"] == {"bdf": ROOT, "gbps": 31.5, "gpu_gbps": 63.0, "link": "32 GT/s x8", "trained": True}


def test_an_upstream_port_with_fewer_lanes_is_named_itself():
    its = behind_switch(upstream={"max_width": 8, "width": 8}, root={"width": 8})
    assert its["bottleneck"]["bdf"] == "0000:01:00.0"


def test_the_inside_of_a_switch_is_no_link():
    # A virtual downstream port that claims less inside than outside must not count twice.
    its = behind_switch(downstream={"max_width": 16, "width": 16, "speed_gts": 2.5})
    assert its["bottleneck"] is None


def test_a_gpu_link_that_trained_narrow_is_another_checks_matter():
    assert one_gpu({"pcie": {"value": {"link": {"width": 8}}}})["bottleneck"] is None


def test_a_tunnel_through_usb4_is_no_bottleneck():
    """Its ports advertise 2.5 GT/s x4, whatever the tunnel carries: the enclosure's own link is the slowest known."""
    tunnel = {"max_speed_gts": 2.5, "speed_gts": 2.5, "max_width": 4, "width": 4}
    its = behind_switch(upstream=tunnel, root=tunnel, downstream={"max_speed_gts": 8.0, "max_width": 4, "width": 4})
    assert its["bottleneck"] == {"bdf": "0000:02:00.0", "gbps": 3.9, "gpu_gbps": 63.0, "link": "8 GT/s x4",
                                 "trained": False}


def test_what_a_tunnel_carries_is_not_known():
    tunnel = {"max_speed_gts": 2.5, "speed_gts": 2.5, "max_width": 4, "width": 4}
    its = behind_switch(upstream=tunnel, root=tunnel)
    assert (its["bottleneck"], its["path_gbps"], its["gpu_gbps"]["status"]) == (None, None, "absent")
    assert "USB4 or Thunderbolt" in its["gpu_gbps"]["why"]


def test_speed_at_rest_is_no_bottleneck():
    its = behind_switch(upstream={"speed_gts": 2.5}, root={"speed_gts": 2.5})
    assert its["bottleneck"] is None


# -- idle and speed -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("pstate, percent, idle", [
    ("P8", 0, True), ("P8", 3, True), ("P5", None, True),
    ("P0", 97, False), ("P2", 10, False), (None, 50, False),
    ("P0", 0, None),        # a context alone may hold P0
    ("P0", 9, None), ("P0", None, None), (None, None, None), (None, 0, True), ("unknown", 4, None),
])
def test_idle_by_pstate_and_utilisation(pstate, percent, idle):
    smi = {"gpus": [{"bdf": "0000:03:00.0", "pstate": pstate, "utilization": percent}]}
    assert one_gpu(nvidia={"smi": smi})["idle"] is idle


def test_idle_is_unknown_without_nvidia_smi():
    assert one_gpu(nvidia={"smi": {"state": "not_run", "gpus": []}})["idle"] is None


BUSY = {"smi": {"gpus": [{"bdf": "0000:03:00.0", "pstate": "P0", "utilization": 97}]}}


@pytest.mark.parametrize("mine, slot, nvidia, floor, note", [
    ({"speed_gts": 32.0}, {}, {}, 32.0, "32 GT/s, the maximum of both ends"),
    ({"speed_gts": 2.5}, {}, {}, 2.5, "speed not evaluated: idle (2.5 of 32 GT/s, P8, 0 % used)"),
    ({"speed_gts": 2.5}, {}, {"smi": {"gpus": []}}, 2.5,
     "speed not evaluated: no load detected, perhaps idle (2.5 of 32 GT/s)"),
    ({"speed_gts": 16.0}, {}, BUSY, 32.0, "under load: P0, 97 % used"),
    ({"speed_gts": 5.0, "autonomous_speed_disabled": True}, {}, {}, 32.0,
     "locked: Hardware Autonomous Speed Disable is set (LnkCtl2)"),
    ({"speed_gts": 32.0, "autonomous_speed_disabled": True}, {}, {}, 32.0, "32 GT/s, the maximum of both ends"),
    ({"speed_gts": 5.0}, {"target_speed_gts": 5.0}, {}, 32.0, "locked: the port's target speed is 5 GT/s (LnkCtl2)"),
    ({"speed_gts": 16.0}, {"max_speed_gts": 16.0, "target_speed_gts": 16.0}, BUSY, 16.0,
     "16 GT/s, the maximum of both ends"),
    ({"speed_gts": None}, {}, {}, None, "the link reports an unknown speed code"),
])
def test_speed_is_judged_only_by_evidence(mine, slot, nvidia, floor, note):
    its = one_gpu({"pcie": {"value": {"link": mine}}}, {"pcie": {"value": {"link": slot}}}, nvidia=nvidia)
    assert (its["speed_floor_gts"], its["speed_note"]) == (floor, note)


@pytest.mark.parametrize("mine, slot, nvidia, state", [
    ({"speed_gts": 32.0}, {}, {}, "full"),
    ({"speed_gts": 16.0}, {"max_speed_gts": 16.0, "target_speed_gts": 16.0}, {}, "slot"),
    ({"speed_gts": 2.5}, {}, {}, "idle"),
    ({"speed_gts": 2.5}, {}, {"smi": {"gpus": []}}, "unknown"),
    ({"speed_gts": 5.0}, {"target_speed_gts": 5.0}, {}, "locked"),
    ({"speed_gts": 16.0}, {}, BUSY, "degraded"),
    ({"speed_gts": None}, {}, {}, "unknown"),
    ({"max_speed_gts": None}, {}, {}, None),
])
def test_why_a_link_is_slow(mine, slot, nvidia, state):
    its = one_gpu({"pcie": {"value": {"link": mine}}}, {"pcie": {"value": {"link": slot}}}, nvidia=nvidia)
    assert its["speed_state"] == state


def looks(low: float | None, high: float | None, width: int = 16, changes: int = 1) -> dict:
    return {"looks": 10, "changes": changes, "min_speed_gts": low, "max_speed_gts": high, "min_width": width,
            "max_width": 16}


@pytest.mark.parametrize("now, samples, nvidia, seen, state, note", [
    (2.5, looks(2.5, 32.0, changes=3), {}, 32.0, "full",
     "32 GT/s, the maximum of both ends; 2.5 to 32 GT/s in 10 samples, with 3 changes"),
    (32.0, looks(2.5, 32.0), BUSY, 2.5, "degraded",
     "under load: P0, 97 % used; 2.5 to 32 GT/s in 10 samples, with 1 changes"),
    (32.0, looks(32.0, 32.0, changes=0), BUSY, 32.0, "full",
     "32 GT/s, the maximum of both ends; 32 to 32 GT/s in 10 samples, with 0 changes"),
    (2.5, looks(2.5, 2.5, changes=0), {}, 2.5, "idle",
     "speed not evaluated: idle (2.5 of 32 GT/s, P8, 0 % used); 2.5 to 2.5 GT/s in 10 samples, with 0 changes"),
    (None, looks(None, None), {}, None, "unknown", "the link reports an unknown speed code"),
])
def test_case_A52_the_fastest_look_counts_and_under_load_the_slowest(now, samples, nvidia, seen, state, note):
    its = one_gpu({"pcie": {"value": {"link": {"speed_gts": now}}}, "link_samples": samples}, nvidia=nvidia)
    assert (its["seen_speed_gts"], its["speed_state"], its["speed_note"]) == (seen, state, note)


@pytest.mark.parametrize("now, samples, nvidia, width, sure, how", [
    (8, None, {}, 8, False, "idle, or no load detected (P8, 0 % used), when a GPU may reduce lanes"),
    (8, None, BUSY, 8, True, "under load: P0, 97 % used"),
    # At rest a link that has shown all lanes once has them; under load one that lost them once has lost them.
    (16, looks(32.0, 32.0, width=8), {}, 16, True, "in each of 10 samples"),
    (8, {**looks(32.0, 32.0, width=8), "max_width": 8}, {}, 8, True, "in each of 10 samples"),
    (16, looks(32.0, 32.0, width=8), BUSY, 8, True, "under load: P0, 97 % used"),
    (8, {**looks(2.5, 2.5, width=8), "looks": 1, "max_width": 8}, {}, 8, False,
     "idle, or no load detected (P8, 0 % used), when a GPU may reduce lanes"),
])
def test_lanes_under_load_and_at_rest(now, samples, nvidia, width, sure, how):
    its = one_gpu({"pcie": {"value": {"link": {"width": now}}}, "link_samples": samples}, nvidia=nvidia)
    assert (its["seen_width"], its["width_sure"], its["width_seen_how"]) == (width, sure, how)
    assert its["width_ends"] == f"0000:03:00.0 (x16) and {ROOT} (x16)"


@pytest.mark.parametrize("generation, gpu_gbps", [(None, 63.0), (3, 63.0), (5, 63.0), (6, 128.0), (0, 63.0)])
def test_what_a_gpu_can_do_is_what_nvidia_smi_says_where_that_is_more(generation, gpu_gbps):
    """LnkCap of some GPUs follows the slot: 32 GT/s here."""
    facts = neutral.epyc()
    facts["nvidia"]["smi"]["gpus"][0]["device_max_gen"] = generation
    its = derive(facts)["gpus"][0]["derived"]
    assert (its["gpu_gbps"], its["bottleneck"] is None) == (gpu_gbps, gpu_gbps == 63.0)
    assert its["expected_speed_gts"] == 32.0


@pytest.mark.parametrize("device, model, way", [
    ("2342", "NVIDIA GH200 480GB", "NVLink-C2C"), ("2941", None, "NVLink-C2C"), ("31c2", "NVIDIA GB300", "NVLink-C2C"),
    ("2e12", "NVIDIA GB10", "is integrated with"), ("2e12", None, "is integrated with"),
    ("2bb5", "NVIDIA Thor", "is integrated with"),
])
def test_a_gpu_that_is_joined_to_its_processor_has_no_link_to_judge(device, model, way):
    assert way in one_gpu({"device": device, "model": model})["coherent"]


@pytest.mark.parametrize("device, model", [("2330", "NVIDIA H100 80GB HBM3"), ("2901", "NVIDIA B200"),
                                           ("2bb5", "NVIDIA RTX PRO 6000 Blackwell Server Edition")])
def test_a_card_has_one(device, model):
    assert one_gpu({"device": device, "model": model})["coherent"] is None


@pytest.mark.parametrize("mine, above, links", [
    ("disabled", "disabled", []), ("l1", "disabled", ["0000:03:00.0"]), ("l0s_l1", "l0s", ["0000:03:00.0", ROOT])])
def test_links_that_may_rest(mine, above, links):
    gpu, port = ({"pcie": {"value": {"link": {"aspm": states}}}} for states in (mine, above))
    assert one_gpu(gpu, port)["aspm_links"] == links


def test_links_of_guests_are_not_counted_among_those_that_may_rest():
    resting = {"pcie": {"value": {"link": {"aspm": "l1"}}}}
    assert host(gpus=[resting])["aspm_links"] == ["0000:03:00.0"]
    assert host(gpus=[{**resting, "driver": "vfio-pci", "state": "passed_through"}])["aspm_links"] == []


# -- errors ---------------------------------------------------------------------------------------------------

def test_errors_are_summed_over_the_gpu_and_its_path():
    mine = {"correctable": 1, "nonfatal": 0, "fatal": 0, "details": {"BadTLP": 1}}
    above = {"correctable": 40, "nonfatal": 2, "fatal": 1, "details": {}}
    its = one_gpu({"aer": ok(mine)}, {"aer": ok(above)})
    assert (its["aer_correctable"], its["aer_nonfatal"], its["aer_fatal"]) == (41, 2, 1)
    assert its["aer_ports"] == ["0000:03:00.0", ROOT]


def test_errors_of_the_port_count_where_the_gpu_has_no_counters():
    its = one_gpu({"aer": ABSENT}, {"aer": ok({"correctable": 0, "nonfatal": 3, "fatal": 0, "details": {}})})
    assert (its["aer_nonfatal"], its["aer_ports"]) == (3, [ROOT])


def test_without_counters_there_are_no_numbers():
    its = one_gpu({"aer": ABSENT}, {"aer": ABSENT})
    assert (its["aer_fatal"], its["aer_nonfatal"], its["aer_correctable"]) == (None, None, None)
    assert (its["aer_counted"], its["aer_uncorrectable"]) == (False, None)


@pytest.mark.parametrize("mine, above, uncorrectable", [
    (ABSENT, ok(neutral.NO_ERRORS), 0), (ok(neutral.NO_ERRORS), lacking("unparsable"), None),
    (lacking("denied"), lacking("denied"), None), (lacking("denied"), ABSENT, None),
    (ok({**neutral.NO_ERRORS, "fatal": 1}), lacking("unparsable"), 1),
    (ok({**neutral.NO_ERRORS, "fatal": 1}), ok({**neutral.NO_ERRORS, "nonfatal": 2}), 3),
])
def test_zeros_prove_nothing_beside_counters_that_cannot_be_read(mine, above, uncorrectable):
    its = one_gpu({"aer": mine}, {"aer": above})
    assert (its["aer_counted"], its["aer_uncorrectable"]) == (True, uncorrectable)


@pytest.mark.parametrize("gpu, size", [
    ({}, 102641958912),                                             # 97887 MiB
    ({"memory_mib": ABSENT}, 128 << 30),                            # the largest BAR on offer
    ({"memory_mib": ABSENT, "resizable_bar": ok([])}, None),
    ({"memory_mib": ABSENT, "resizable_bar": lacking("denied")}, None),
])
def test_the_window_should_hold_the_memory(gpu, size):
    assert one_gpu(gpu)["window_bytes"] == size


# -- which GPUs are the host's --------------------------------------------------------------------------------

CLAIM = {"claimed_by": ok([{"vm": "200", "key": "hostpci0", "value": "0000:03:00"}])}


@pytest.mark.parametrize("gpu, reason, for_host", [
    ({}, None, True),
    ({"state": "asleep"}, "the GPU is suspended, and reading its registers would wake it", True),
    ({"driver": "vfio-pci", "state": "passed_through"}, "the GPU is passed through to a guest (vfio-pci)", False),
    ({**CLAIM, "state": "passed_through"}, "the GPU belongs to VM 200 (hostpci0)", False),
    (CLAIM, "the GPU belongs to VM 200 (hostpci0)", False),
    ({"claimed_by": lacking("denied")}, None, True),
    ({"state": "gone", "pcie": lacking("gone")}, None, True),
    ({"virtual_function": True, "physical_function": "0000:03:00.0"},
     "a virtual function of 0000:03:00.0: see the physical function", True),
])
def test_registers_of_guests_and_sleepers_are_left_alone(gpu, reason, for_host):
    its = one_gpu(gpu)
    assert (its["left_alone"], its["for_host"]) == (reason, for_host)


@pytest.mark.parametrize("vendor, code, nearest, compute", [
    ("10de", "030000", "1022", True), ("10de", "030200", "1022", True), ("1002", "120000", "1022", True),
    ("1002", "038000", "1022", True), ("8086", "030000", "8086", True),
    ("1002", "030000", "1022", False),      # inside a Ryzen
    ("1002", "030000", "1002", True),       # a card: the port above it is the card's own switch
])
def test_a_display_inside_an_amd_processor_is_no_card(vendor, code, nearest, compute):
    its = one_gpu({"vendor": vendor, "class": code}, {"vendor": nearest})
    assert its["compute"] is compute


@pytest.mark.parametrize("generation, flavours", [
    ("blackwell", ["open"]), ("rubin", ["open"]), ("hopper", ["open", "proprietary"]),
    ("turing", ["open", "proprietary"]), ("volta", ["proprietary"]), ("maxwell", ["proprietary"]),
    (None, ["open", "proprietary"]),
])
def test_flavours_by_generation(generation, flavours):
    assert driver_flavours({"vendor": "10de", "device": "2bb5", "model": None, "generation": generation}) == flavours


def test_gpus_that_no_flavour_supports_together():
    facts = merge(neutral.epyc(), {"gpus": [{"generation": "pascal", "driver": None},
                                            {"bdf": "0000:04:00.0", "generation": "blackwell"},
                                            {"bdf": "0000:23:00.0", "generation": "ada"}]})
    assert [gpu["derived"]["other_flavour"] for gpu in derive(facts)["gpus"]] == [
        ["0000:04:00.0"], ["0000:03:00.0"], []]
    finding = judged(facts)["nvidia_flavour", "0000:03:00.0"]
    assert finding["fix"]["how"] == ("No flavour supports all NVIDIA GPUs of this host: 0000:04:00.0 need the other "
                                     "one. Move one kind to another host, or assign it to a VM.")


@pytest.mark.parametrize("device, model, flavours", [
    ("2342", "NVIDIA GH200 480GB", ["open"]),               # Grace Hopper: NVIDIA supports the open modules alone
    ("2348", None, ["open"]),                               # the driver is not loaded: no name
    ("2330", "NVIDIA H100 80GB HBM3", ["open", "proprietary"]),
    ("2331", "NVIDIA H100 PCIe", ["open", "proprietary"]),
])
def test_proprietary_modules_are_not_supported_on_grace_hopper(device, model, flavours):
    gpu = {"vendor": "10de", "device": device, "model": model, "generation": "hopper"}
    assert driver_flavours(gpu) == flavours


@pytest.mark.parametrize("generation, version, verdict, says", [
    ("volta", "590.48.01", "fail", "branch 590 does not support volta GPUs; 580 is the last branch that does"),
    ("pascal", "595.58.03", "fail", "branch 595 does not support pascal GPUs; 580 is the last branch that does"),
    ("maxwell", "580.95.05", "pass", "branch 580; 580 is the last one that supports maxwell GPUs"),
    ("volta", "535.183.06", "pass", "branch 535; 580 is the last one that supports volta GPUs"),
    ("turing", "590.48.01", "not_applicable", "the current branches support every NVIDIA GPU of this host"),
])
def test_a_branch_that_no_longer_knows_a_generation(generation, version, verdict, says):
    facts = merge(neutral.epyc(), {"gpus": [{"generation": generation}], "nvidia": {"driver_version": ok(version)}})
    found = [finding for (check, _subject), finding in judged(facts).items() if check == "nvidia_branch"]
    assert {(finding["verdict"], finding["priority"], finding["reason"]) for finding in found} == {
        (verdict, "info", says)}


# -- GPUs of one model ----------------------------------------------------------------------------------------

def alike(*gpus: dict) -> dict:
    return derive(merge(neutral.epyc(), {"gpus": [{"bdf": f"0000:0{index}:00.0", **gpu}
                                                  for index, gpu in enumerate(gpus, 3)]}))


def read_request(size: int | None) -> dict:
    return {"pcie": {"value": {"max_read_request": size}}}


def test_the_odd_one_is_named_with_what_the_others_have():
    facts = alike(*[read_request(512)] * 5, read_request(256), *[read_request(512)] * 2)
    assert facts["derived"]["gpu_groups"][0]["differs"] == [
        {"fact": "max_read_request", "majority": 512, "odd": [{"bdf": "0000:08:00.0", "value": 256}]}]
    assert [gpu["derived"]["differs"] for gpu in facts["gpus"]] == [
        [], [], [], [], [], ["MaxReadReq is 256, of the others 512"], [], []]
    assert {gpu["derived"]["same_model"] for gpu in facts["gpus"]} == {8}


def test_two_that_differ_have_no_majority():
    facts = alike(read_request(512), read_request(256))
    differs = facts["derived"]["gpu_groups"][0]["differs"]
    assert (differs[0]["majority"], len(differs[0]["odd"])) == (None, 2)
    assert facts["gpus"][0]["derived"]["differs"] == ["MaxReadReq is 512 on 1 of 2 GPUs of this model, 256 on 1"]


def test_two_and_two_have_no_majority_either():
    facts = alike(read_request(512), read_request(512), read_request(256), read_request(256))
    assert [gpu["derived"]["differs"] for gpu in facts["gpus"]] == [
        ["MaxReadReq is 512 on 2 of 4 GPUs of this model, 256 on 2"]] * 2 + [
        ["MaxReadReq is 256 on 2 of 4 GPUs of this model, 512 on 2"]] * 2


def test_models_are_compared_with_themselves():
    facts = alike(read_request(512), {**read_request(4096), "device": "2684"}, read_request(512))
    assert [group["key"] for group in facts["derived"]["gpu_groups"]] == ["10de:2bb5", "10de:2684"]
    assert [gpu["derived"]["same_model"] for gpu in facts["gpus"]] == [2, 1, 2]
    assert not any(group["differs"] for group in facts["derived"]["gpu_groups"])


@pytest.mark.parametrize("odd", [
    {"state": "gone", "pcie": lacking("gone"), "largest_bar": 1}, {"state": "asleep", "pcie": lacking("asleep")},
    {"driver": "vfio-pci", "state": "passed_through", **read_request(128)}, {**CLAIM, **read_request(128)},
])
def test_gpus_out_of_reach_are_not_compared(odd):
    facts = alike(read_request(512), read_request(512), odd)
    assert facts["derived"]["gpu_groups"][0]["differs"] == []
    assert facts["gpus"][2]["derived"]["same_model"] == 3


def test_slots_and_switches_are_part_of_the_comparison():
    seen = {**looks(32.0, 32.0, width=8), "max_width": 8}
    facts = alike({}, {}, {"pcie": {"value": {"relaxed_ordering": False, "link": {"width": 8}}}, "link_samples": seen})
    assert facts["gpus"][2]["derived"]["differs"] == [
        "relaxed ordering is off, of the others on", "link width is 8, of the others 16"]


def test_lanes_that_may_be_saved_at_rest_are_not_compared():
    facts = alike({}, {}, {"pcie": {"value": {"link": {"width": 8}}}})
    assert facts["gpus"][2]["derived"]["differs"] == []


def test_partitions_of_amd_gpus_are_compared():
    def amd(partition: str) -> dict:
        return {"vendor": "1002", "device": "74a1", "class": "120000", "driver": "amdgpu", "amd": {
            "performance_level": ok("auto"), "compute_partition": ok(partition), "memory_partition": ABSENT,
            "xgmi_hive": ok("7"), "memory_bytes": ok(1 << 37)}}

    facts = alike(amd("SPX"), amd("CPX"), amd("SPX"))
    assert [gpu["derived"]["differs"] for gpu in facts["gpus"]] == [
        [], ["compute partition is CPX, of the others SPX"], []]


def test_nothing_to_compare():
    assert compare_alike([]) == []


# -- peer to peer ---------------------------------------------------------------------------------------------

def test_relations_of_eight_gpus_behind_four_switches():
    pairs = {(pair["a"], pair["b"]): pair["relation"] for pair in host()["p2p"]["pairs"]}
    assert len(pairs) == 28
    assert pairs["0000:03:00.0", "0000:04:00.0"] == "same_switch"
    assert pairs["0000:03:00.0", "0000:23:00.0"] == "same_socket"
    assert pairs["0000:03:00.0", "0000:83:00.0"] == "across"
    assert sum(relation == "same_switch" for relation in pairs.values()) == 4
    assert sum(relation == "across" for relation in pairs.values()) == 16


def two_gpus(iommu_type=None, redirect=(), unread=(), second=None, sockets=2) -> dict:
    """Two GPUs, each right below a root port of the same host bridge."""
    roots = ["0000:40:01.1", "0000:40:03.1"]
    gpus = [{"bdf": "0000:41:00.0", "path": roots[:1], "iommu_type": iommu_type or ok("identity")},
            {"bdf": "0000:42:00.0", "path": roots[1:], "iommu_type": iommu_type or ok("identity"), **(second or {})}]
    ports = [merge(neutral.port(bdf, "root_port", 0), {
        "acs": lacking("denied") if bdf in unread else ok(neutral.acs(redirect=bdf in redirect))}) for bdf in roots]
    facts = merge(neutral.epyc(), {"gpus": gpus, "cpu": {"sockets": sockets}})
    return derive({**facts, "ports": ports})["derived"]["p2p"]


def test_one_host_bridge():
    assert two_gpus()["pairs"][0]["relation"] == "same_root_complex"


@pytest.mark.parametrize("nodes, sockets, relation", [
    ((0, 0), 2, "same_socket"), ((0, 1), 2, "across"), ((-1, 0), 2, "unknown"), ((-1, -1), 1, "same_socket"),
    ((None, 0), 2, "unknown"), ((-1, -1), None, "unknown"),
])
def test_relation_across_host_bridges_follows_the_numa_nodes(nodes, sockets, relation):
    gpus = [{"bdf": f"0000:{bus}:00.0", "path": [f"0000:{bus - 1}:01.1"],
             "numa_node": lacking("denied") if node is None else ok(node)} for bus, node in zip((41, 61), nodes)]
    facts = merge(neutral.epyc(), {"gpus": gpus, "cpu": {"sockets": sockets}})
    assert derive(facts)["derived"]["p2p"]["pairs"][0]["relation"] == relation


REDIRECTING = ("0000:40:01.1",)


@pytest.mark.parametrize("kind, redirect, unread, at_risk, state", [
    (ok("identity"), (), (), False, "direct"),
    (ABSENT, (), (), False, "direct"),                          # no IOMMU group: no IOMMU
    (ok("identity"), REDIRECTING, (), False, "direct"),         # nothing to redirect to below two root ports
    (ok("DMA-FQ"), (), (), False, "translated"),
    (ok("DMA"), REDIRECTING, (), True, "translated and redirected"),
    (ok("DMA-FQ"), REDIRECTING, (), True, "translated and redirected"),
    (ok("DMA-FQ"), (), REDIRECTING, None, None),
    (ok("DMA-FQ"), REDIRECTING, ("0000:40:03.1",), True, "translated and redirected"),
    (lacking("denied"), REDIRECTING, (), None, None),
    (lacking("denied"), (), (), False, None),
])
def test_only_translation_and_redirection_together_are_a_risk(kind, redirect, unread, at_risk, state):
    p2p = two_gpus(kind, redirect, unread)
    assert (p2p["at_risk"], p2p["state"]) == (at_risk, state)
    assert p2p["redirect_ports"] == list(redirect)


@pytest.mark.parametrize("kind, redirect, unread, types, follows", [
    (ok("identity"), (), (), ["identity", "identity"], "direct"),
    (ABSENT, REDIRECTING, (), [None, None], "direct"),
    (ok("DMA-FQ"), (), (), ["DMA-FQ", "DMA-FQ"], "translated"),
    (ok("DMA"), REDIRECTING, (), ["DMA", "DMA"], "may_hang"),
    (ok("DMA-FQ"), (), REDIRECTING, ["DMA-FQ", "DMA-FQ"], "unknown"),
    (lacking("denied"), (), (), [None, None], "unknown"),
])
def test_what_follows_for_a_pair(kind, redirect, unread, types, follows):
    pair, = two_gpus(kind, redirect, unread)["pairs"]
    assert (pair["meet"], pair["types"], pair["follows"]) == (None, types, follows)


def test_where_two_gpus_meet_and_what_becomes_of_their_transfers():
    facts = neutral.epyc()
    for port in facts["ports"]:
        if port["bdf"] == "0000:02:00.0":
            port["acs"] = ok(neutral.acs(redirect=True))
        if port["bdf"] == "0000:22:01.0":
            port["acs"] = lacking("denied")
    found = derive(facts)["derived"]["p2p"]["pairs"]
    pairs = {(pair["a"], pair["b"]): (pair["meet"], pair["follows"]) for pair in found}
    assert pairs["0000:03:00.0", "0000:04:00.0"] == ("0000:01:00.0", "detour")
    assert pairs["0000:23:00.0", "0000:24:00.0"] == ("0000:21:00.0", "unknown")
    assert pairs["0000:83:00.0", "0000:84:00.0"] == ("0000:81:00.0", "direct")
    assert pairs["0000:03:00.0", "0000:23:00.0"] == (None, "direct")


@pytest.mark.parametrize("model, nvlink", [
    ("NVIDIA H100 80GB HBM3", True), ("NVIDIA A100-SXM4-80GB", True), ("NVIDIA H200", True), ("NVIDIA B200", True),
    ("NVIDIA GB300", True), ("NVIDIA GH200 480GB", True), ("NVIDIA H20", True),
    ("NVIDIA H100 PCIe", False), ("NVIDIA H100 NVL", False), ("NVIDIA H200 NVL", False),
    ("NVIDIA A100 80GB PCIe", False), ("NVIDIA A100-PCIE-40GB", False), ("NVIDIA L40S", False),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", False), (None, False),
])
def test_boards_that_are_joined_by_nvlink(model, nvlink):
    assert host(gpus=[{"model": model}, {"bdf": "0000:04:00.0", "model": model}])["p2p"]["nvlink"] is nvlink


def test_switches_of_nvlink_tell_it_too():
    assert host()["p2p"]["nvlink"] is False
    assert host(pcie={"nvswitches": ["0000:c5:00.0"]})["p2p"]["nvlink"] is True
    assert host(gpus=[{"model": "NVIDIA H200"}, {"bdf": "0000:04:00.0"}])["p2p"]["nvlink"] is False


def test_redirection_inside_one_switch_is_a_detour():
    facts = neutral.epyc()
    for port in facts["ports"]:
        if port["bdf"] == "0000:02:00.0":
            port["acs"] = ok(neutral.acs(redirect=True))
    p2p = derive(facts)["derived"]["p2p"]
    assert (p2p["state"], p2p["detour"], p2p["redirect_ports"]) == ("redirected", True, ["0000:02:00.0"])


def test_ports_above_the_common_switch_do_not_lie_between():
    facts = neutral.epyc()
    for port in facts["ports"]:
        if port["bdf"] == ROOT:
            port["acs"] = ok(neutral.acs(redirect=True))
    pairs = {(pair["a"], pair["b"]): pair["redirect"] for pair in derive(facts)["derived"]["p2p"]["pairs"]}
    assert pairs["0000:03:00.0", "0000:04:00.0"] == []
    assert pairs["0000:03:00.0", "0000:23:00.0"] == [ROOT]


def test_source_validation_alone_redirects_nothing():
    # neutral ports have SrcValid+ and UpstreamFwd+, as the ports of an ESC8000A after its vendor's script
    assert host()["p2p"]["redirect_ports"] == []


@pytest.mark.parametrize("second", [
    {"driver": "vfio-pci", "state": "passed_through"}, CLAIM, {"driver": None}, {"driver": "nouveau"},
    {"vendor": "1002"}, {"model": "NVIDIA GeForce RTX 4090"}, {"state": "gone", "pcie": lacking("gone")},
    {"state": "asleep", "pcie": lacking("asleep")},
    {"virtual_function": True, "physical_function": "0000:03:00.0"},
])
def test_who_does_not_take_part_in_peer_to_peer(second):
    p2p = two_gpus(ok("DMA"), REDIRECTING, second=second)
    assert (p2p["gpus"], p2p["wanted"], p2p["at_risk"], p2p["pairs"]) == (1, False, False, [])


@pytest.mark.parametrize("answers, either, both", [
    ([], False, True), ([True, None], True, None), ([False, None], None, False), ([True, True], True, True),
    ([False, False], False, False), ([None], None, None),
])
def test_three_valued_logic(answers, either, both):
    assert any_of(answers) is either
    assert all_of(answers) is both


# -- the processor --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("release, version", [
    ("6.8.12-9-pve", (6, 8)), ("6.12.57-amd64", (6, 12)), ("7.0.14-14-pve", (7, 0)), ("", None), (None, None),
    ("unknown", None),
])
def test_kernel_version(release, version):
    assert kernel_version(release) == version


@pytest.mark.parametrize("cpu, release, parameters, cause, says", [
    ({"acpi_cppc": False}, "6.8.12-9-pve", [], "no_cppc", "enable CPPC in the BIOS"),
    ({"frequency": {"kernel_has_amd_pstate": ok(False)}}, "6.8.12-9-pve", [], "kernel_lacks_it",
     "CONFIG_X86_AMD_PSTATE"),
    ({"frequency": {"kernel_has_amd_pstate": ABSENT}}, "6.8.12-9-pve", [], "kernel_default", "up to 6.12"),
    ({}, "6.1.0-40-amd64", [], "parameter_missing", "only with amd_pstate=passive on its command line"),
    ({}, "6.3.9-200.fc38.x86_64", [], "parameter_missing", "only with amd_pstate=active on its command line"),
    ({"frequency": {"kernel_has_amd_pstate": ABSENT}}, "4.18.0-553.el8_10.x86_64", [], "kernel_lacks_it",
     "older than amd-pstate (Linux 5.17), and nothing here says that its distribution added it"),
    ({"frequency": {"kernel_has_amd_pstate": ok(True)}}, "5.14.0-503.el9_5.x86_64", [], "parameter_missing",
     "which parameter it takes depends on what its distribution added"),
    ({}, "6.8.12-9-pve", [], "kernel_default", "up to 6.12 amd-pstate is not loaded automatically on servers"),
    ({}, "6.12.57-amd64", [], "kernel_default", "up to 6.12"),
    ({"family": 25}, "6.14.11-4-pve", [], "kernel_default", "older than family 1Ah"),
    ({"family": 26}, "6.14.11-4-pve", [], "refused", "should have loaded"),
    ({}, "6.8.12-9-pve", [{"name": "amd_pstate", "value": "disable"}], "disabled", "amd_pstate=disable"),
    ({}, "6.8.12-9-pve", [{"name": "amd_pstate", "value": "active"}], "refused", "amd_pstate=active is on the"),
    ({"vendor": "GenuineIntel", "frequency": {"intel_pstate": ok("off")}}, "6.8.0", [], "disabled", "is disabled"),
    ({"vendor": "GenuineIntel"}, "6.8.0", [{"name": "intel_pstate", "value": "disable"}], "disabled", "command line"),
    ({"vendor": "GenuineIntel"}, "6.8.0", [], "refused", "see the kernel log"),
])
def test_why_it_is_acpi_cpufreq(cpu, release, parameters, cause, says):
    facts = merge(neutral.epyc(), {"cpu": {"frequency": {"drivers": ["acpi-cpufreq"]}},
                                   "kernel": {"release": ok(release)}})
    facts = merge(facts, {"cpu": cpu})
    facts["kernel"]["parameters"] = parameters
    found = derive(facts)["derived"]["scaling_driver"]
    assert (found["name"], found["cause"]) == ("acpi-cpufreq", cause)
    assert says in found["reason"]


def test_another_driver_needs_no_cause():
    assert host()["scaling_driver"] == {"name": "amd-pstate-epp", "cause": None, "reason": None, "generic_only": None}
    assert derive(neutral.vm())["derived"]["scaling_driver"]["name"] is None


@pytest.mark.parametrize("cpu, generic_only", [
    # B-02: Zen and Zen+ have no CPPC (EPYC 7001, and model 8, Ryzen 2000); nothing older has.
    ({"family": 0x17, "model": 0x01}, "AMD family 17h model 1h has no CPPC: its driver is acpi-cpufreq"),
    ({"family": 0x17, "model": 0x08}, "AMD family 17h model 8h has no CPPC: its driver is acpi-cpufreq"),
    ({"family": 0x15, "model": 0x02}, "AMD family 15h model 2h has no CPPC: its driver is acpi-cpufreq"),
    ({"family": 0x17, "model": 0x31}, None),        # EPYC 7002
    ({"family": 0x19, "model": 0x01}, None),
    ({"vendor": "HygonGenuine", "family": 0x18, "model": 0x00},
     "the kernel has no dedicated frequency driver for processors of HygonGenuine"),
    ({"vendor": "GenuineIntel", "family": 6, "model": 0x2C},
     "intel_pstate does not support processors as old as family 6 model 2ch"),
    ({"vendor": "GenuineIntel", "family": 6, "model": 0x2A}, None),     # Sandy Bridge
    ({"vendor": "GenuineIntel", "family": 6, "model": 0x8F}, None),
    ({"vendor": None, "family": None, "model": None}, None),
])
def test_b02_no_driver_is_advised_that_the_processor_cannot_have(cpu, generic_only):
    """B-02."""
    facts = merge(neutral.epyc(), {"cpu": {"frequency": {"drivers": ["acpi-cpufreq"]}, "acpi_cppc": False, **cpu}})
    found = derive(facts)["derived"]["scaling_driver"]
    assert found["generic_only"] == generic_only
    assert (found["reason"] is None) == (generic_only is not None)


@pytest.mark.parametrize("boost, no_turbo, policies, switches", [
    (ok(1), ABSENT, [1, 1], [("boost", True)]),
    (ok(0), ABSENT, [0, 0], [("boost", False)]),            # one switch explains all policies
    (ok(1), ABSENT, [1, 0], [("boost", True), ("policy1", False)]),
    (ABSENT, ok(0), [None, None], [("no_turbo", True)]),
    (ABSENT, ok(1), [None, None], [("no_turbo", False)]),
    (ABSENT, ABSENT, [None, None], []),                     # absent is not off
])
def test_boost_switches(boost, no_turbo, policies, switches):
    found = boost_switches({"boost": boost, "no_turbo": no_turbo, "policies": [
        {"policy": f"policy{number}", "boost": ABSENT if value is None else ok(value), "headroom": ABSENT}
        for number, value in enumerate(policies)]})
    assert [(switch["name"], switch["boosts"]) for switch in found] == switches


@pytest.mark.parametrize("headroom, switches", [
    ((0.0, 0.0), []),                           # nothing above the nominal level: the switch decides nothing
    ((1.9, 2.7), []),                           # next to nothing
    ((0.0, 20.8), ["boost"]),                   # some cores have something
    ((5.0,), ["boost"]),
    ((None, None), ["boost"]),                  # firmware does not tell: the switch counts
])
def test_b01_a_switch_without_anything_to_boost_is_none(headroom, switches):
    """B-01."""
    found = boost_switches({"boost": ok(0), "no_turbo": ABSENT, "policies": [
        {"policy": f"policy{number}", "boost": ok(0), "headroom": ABSENT if above is None else ok(above)}
        for number, above in enumerate(headroom)]})
    assert [switch["name"] for switch in found] == switches


def test_the_switches_have_opposite_senses():
    files = {switch["name"]: (switch["file"], switch["on"]) for switch in boost_switches(
        {"boost": ok(1), "no_turbo": ok(0), "policies": [{"policy": "policy7", "boost": ok(0), "headroom": ABSENT}]})}
    assert files == {"boost": ("cpufreq/boost", "1"), "no_turbo": ("intel_pstate/no_turbo", "0"),
                     "policy7": ("cpufreq/policy7/boost", "1")}


# -- the NVIDIA driver ----------------------------------------------------------------------------------------

CARD = {"devices": [{"name": "mlx5_0", "bdf": "0000:41:00.0", "node_type": "CA", "vendor": "15b3",
                     "ports": [], "netdevs": [], "virtual_function": False, "pcie": lacking(), "port": lacking()}]}


@pytest.mark.parametrize("rdma, nvidia, release, state, says", [
    ({"devices": []}, {}, "6.8.12-9-pve", "not_needed", "no RDMA device"),
    (CARD, {"module": {"state": "absent"}}, "6.8.12", "not_needed", "not loaded"),
    (CARD, {"peermem": {"loaded": True}}, "6.8.12", "loaded", "is loaded"),
    (CARD, {}, "6.8.12", "not_needed", "DMA-BUF"),
    (CARD, {}, "5.10.0-8-amd64", "missing", "mlx5_0 present"),
    (CARD, {"flavour": "proprietary", "peermem": {"symbol": ok(False)}}, "6.8.12", "blocked", "cannot load (EINVAL"),
    (CARD, {"flavour": "proprietary", "peermem": {"symbol": ok(True)}}, "6.8.12", "missing", "not loaded"),
    (CARD, {"flavour": "proprietary", "peermem": {"symbol": lacking("denied")}}, "6.8.12", "missing", "not loaded"),
])
def test_peermem(rdma, nvidia, release, state, says):
    found = host(rdma=rdma, nvidia=nvidia, kernel={"release": ok(release)})["peermem"]
    assert found["state"] == state
    assert says in found["reason"]


def with_containers(*containers: dict, nodes: tuple[str, ...]) -> list:
    kinds = [{**neutral.device_node(path, 195, 0), "type": "file" if path.endswith("!") else "c",
              "path": path.rstrip("!")} for path in nodes]
    facts = neutral.epyc()
    facts["guests"]["containers"] = ok(list(containers))
    facts["nvidia"]["nodes"] = ok(kinds)
    return derive(facts)["derived"]["missing_nodes"]


def test_a_container_that_computes_needs_uvm_too():
    one, other = neutral.lxc("101", ["/dev/nvidia0"]), neutral.lxc("102", ["/dev/nvidia1"], running=False)
    assert with_containers(one, other, nodes=("/dev/nvidia0",)) == [
        {"path": "/dev/nvidia-uvm", "containers": ["101", "102"], "running": True},
        {"path": "/dev/nvidia1", "containers": ["102"], "running": False}]


def test_a_plain_file_is_no_node():
    missing = with_containers(neutral.lxc("101", ["/dev/nvidia0", "/dev/nvidia-uvm"]),
                              nodes=("/dev/nvidia0", "/dev/nvidia-uvm!"))
    assert [node["path"] for node in missing] == ["/dev/nvidia-uvm"]


def test_optional_nodes_folders_and_other_vendors_are_not_missed():
    optional = neutral.lxc("101", ["/dev/nvidia7"])
    optional["devices"][0]["optional"] = True
    folder = neutral.lxc("102", ["/dev/nvidia-caps", "/dev/nvidia0"])
    amd = neutral.lxc("103", ["/dev/dri/renderD128", "/dev/kfd"])
    assert with_containers(optional, folder, amd, nodes=("/dev/nvidia0", "/dev/nvidia-uvm")) == []


def test_unreadable_guests_miss_nothing():
    assert host(guests={"containers": lacking("denied")})["missing_nodes"] == []


# -- the host as a whole --------------------------------------------------------------------------------------

def test_kinds_of_target():
    assert (host()["container"], host()["virtual"]) == (None, None)
    assert derive(neutral.vm())["derived"]["virtual"] == "the target is a virtual machine (kvm)"
    assert derive(neutral.container())["derived"]["container"] == \
        "the target is a container (lxc): audit its host"


def test_memory_in_gib():
    assert host()["memory_gib"] == 1536
    assert host(memory={"total_kib": ok(527765504)})["memory_gib"] == 503
    assert host(memory={"total_kib": lacking("denied")})["memory_gib"] is None


def test_nvidia_gpus_of_the_host():
    found = host(gpus=[{}, {"bdf": "0000:04:00.0", "vendor": "1002"}, {"bdf": "0000:05:00.0", "driver": "vfio-pci"},
                       {"bdf": "0000:06:00.0", **CLAIM}, {"bdf": "0000:07:00.0", "state": "gone"},
                       {"bdf": "0000:08:00.0", "driver": None}])
    assert found["nvidia_gpus"] == ["0000:03:00.0", "0000:07:00.0", "0000:08:00.0"]
