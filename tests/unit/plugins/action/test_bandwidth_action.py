# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action with what the two modules answer in their place: what is asked, written down, said and failed for."""
from __future__ import annotations

import json
from unittest.mock import Mock

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible_collections.gpuhost.tuning.plugins.action import bandwidth
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible import console
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.measured import read_measured

import neutral_facts as neutral
from bandwidth_document import BOOT, RUN, answer, gpu_answer, pair_answer
from facts_schema import document_problems
from neutral_facts import merge, ok

ONE, TWO = "0000:03:00.0", "0000:04:00.0"


def two_gpus(**changes):
    """Facts of a host with two GPUs below one switch; `changes` are made to the first."""
    facts = neutral.epyc()
    facts["gpus"] = [gpu for gpu in facts["gpus"] if gpu["bdf"] in (ONE, TWO)]
    facts["gpus"][0] = merge(facts["gpus"][0], changes)
    return facts


class Host:
    """Runs the action on a host whose modules answer as they are told; `asked` has what gpu_bandwidth was asked for."""

    def __init__(self, reports, shown, monkeypatch):
        self.reports, self.shown, self.monkeypatch = reports, shown, monkeypatch
        self.asked = None

    def run(self, facts, measured=None, check=False, **options):
        task = Mock(args={"report_dir": str(self.reports), "run_id": RUN, **options}, async_val=0, check_mode=check,
                    diff=False)
        action = bandwidth.ActionModule(task, Mock(), Mock(), Mock(), Mock(), Mock())

        def execute(module_name, module_args, task_vars):
            if module_name == "gpuhost.tuning.host_info":
                return facts if "failed" in facts else {"facts": facts}
            assert module_name == "gpuhost.tuning.gpu_bandwidth"
            self.asked = module_args
            answer = measured.pop(0) if isinstance(measured, list) else measured
            if isinstance(answer, Exception):
                raise answer
            return answer
        self.monkeypatch.setattr(action, "_execute_module", execute)
        return action.run(task_vars={"inventory_hostname": "pve1"})

    def record(self, name="bandwidth.json"):
        made = json.loads((self.reports / "pve1" / name).read_text())
        assert document_problems("bandwidth.json", made) == []
        return made


@pytest.fixture
def host(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(console, "Display", lambda: Mock(display=shown.append))
    return Host(tmp_path / "reports", shown, monkeypatch)


def test_a_sound_host(host):
    result = host.run(two_gpus(), answer([ONE, TWO]))
    assert host.asked == {"sysroot": "/", "tool": "driver", "allow_busy": False, "concurrent": True,
                          "devices": [ONE, TWO], "pairs": True, "run_id": RUN}
    assert (result["changed"], result.get("failed"), result["summary"]) == (False, None, {"healthy": 4})
    assert (result["slow"], result["not_measured"]) == ([], [])
    assert result["record"].endswith(f"pve1/{RUN}/bandwidth.json")
    record = host.record()
    assert record == host.record(f"{RUN}/bandwidth.json")
    assert {name: record[name] for name in ("host", "run_id", "boot_id", "measured_at", "where", "driver_version")} == {
        "host": "pve1", "run_id": RUN, "boot_id": BOOT, "measured_at": "2026-11-29T18:30:00Z", "where": "host",
        "driver_version": "595.58.03"}
    assert host.shown == ["pve1: 2 GPUs, 2 ordered pairs: 4 healthy"]
    assert {(one["check"], one["subject"], one["verdict"]) for one in read_measured(host.reports / "pve1")} >= {
        ("pcie_link_width", ONE, "healthy"), ("iommu_acs", None, "healthy")}


def test_slow_is_a_finding_and_no_failure(host):
    result = host.run(two_gpus(), answer([ONE, TWO], [pair_answer(ONE, TWO, write=9.0)]))
    assert result.get("failed") is None
    message = f"{ONE} -> {TWO}: write 9.0 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected"
    assert (result["summary"], result["slow"]) == ({"slow": 1, "healthy": 3}, [message])
    assert host.shown == [f"pve1: 2 GPUs, 2 ordered pairs: 1 slow, 3 healthy\n  {message.replace(': ', ': slow: ')}"]
    assert host.run(two_gpus(), answer([ONE, TWO], [pair_answer(ONE, TWO, write=9.0, read=9.0)]),
                    slow_below=10)["summary"] == {"healthy": 4}


def slow_then(second):
    return [answer([ONE, TWO], [pair_answer(ONE, TWO, write=9.0)]), second]


def test_what_is_slow_is_measured_again_before_it_is(host):
    result = host.run(two_gpus(), slow_then({**answer([]), "pairs": [pair_answer(ONE, TWO, write=50.0)]}))
    assert host.asked["steps"] == [f"{ONE} -> {TWO}"]
    assert (result["summary"], result["slow"]) == ({"healthy": 4}, [])
    pair = host.record()["pairs"][0]
    assert pair["said"] == ("write 50.0 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected; the first measurement "
                            "was slow: "
                            "write 9.0 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected")


def test_only_what_was_slow_is_taken_from_the_second_measurement(host):
    second = {**answer([gpu_answer(ONE, h2d=1.0)]), "pairs": [pair_answer(ONE, TWO, write=9.5)]}
    result = host.run(two_gpus(), slow_then(second))
    assert result["summary"] == {"slow": 1, "healthy": 3}
    assert result["slow"] == [f"{ONE} -> {TWO}: write 9.5 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected"]


def test_a_hang_of_the_second_measurement_is_one(host):
    hung = pair_answer(ONE, TWO, "hang", "no answer in 60 s", write=None, read=None)
    result = host.run(two_gpus(), slow_then({**answer([], stopped="hang: it"), "pairs": [hung], "hung": [ONE, TWO]}))
    assert result["failed"] is True
    assert result["msg"].startswith(f"{ONE} -> {TWO}: hang: no answer in 60 s")


def test_a_connection_that_is_lost_at_the_second_measurement_keeps_the_first(host):
    with pytest.raises(AnsibleConnectionFailure):
        host.run(two_gpus(), slow_then(AnsibleConnectionFailure("no route to host")))
    record = host.record()
    assert record["stopped"] == "the connection to the host was lost during the measurement: no route to host"
    assert len(record["pairs"]) == 2


@pytest.mark.parametrize("measured, message", [
    (answer([ONE, TWO], [pair_answer(ONE, TWO, "wrong_data", "1 of 9 words differs")]),
     f"{ONE} -> {TWO}: wrong data: 1 of 9 words differs, write 51.2 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s "
     "expected. See "),
    (answer([gpu_answer(ONE, "hang", "no answer in 60 s", h2d=None, d2h=None)], stopped="a GPU hung"),
     f"{ONE}: hang: no answer in 60 s; stopped: a GPU hung. See "),
    ({**answer([ONE], stopped="Xid 79"), "failed": True, "msg": "x"}, "stopped: Xid 79. See ")])
def test_wrong_data_and_a_hang_fail_after_all_was_written_down(host, measured, message):
    result = host.run(two_gpus(), measured)
    assert result["failed"] is True
    assert result["msg"].startswith(message)
    assert host.record()["gpus"][0]["bdf"] == ONE
    assert read_measured(host.reports / "pve1")


def test_the_users_wishes_reach_the_module(host):
    result = host.run(two_gpus(), answer([ONE], where="lxc:101"), devices=["00000000:03:00.0"], sizes=[4096],
                      tool="nvbandwidth", container="101", timeout=9, allow_busy=True, library="libother.so")
    assert host.asked == {"sysroot": "/", "tool": "nvbandwidth", "allow_busy": True, "concurrent": True,
                          "devices": [ONE], "pairs": False, "run_id": RUN, "sizes": [4096],
                          "container": "101", "timeout": 9, "library": "libother.so"}
    assert result["not_measured"] == [{"subject": TWO, "reason": "not in the list of devices"}]
    assert host.record()["where"] == "lxc:101"


def test_pairs_are_left_out_where_they_may_hang_and_the_rest_is_measured(host):
    facts = two_gpus(iommu_type=ok("DMA-FQ"))
    facts["ports"] = [merge(port, {"acs": ok(neutral.acs(redirect=True))}) if port["bdf"] == "0000:02:00.0" else port
                      for port in facts["ports"]]
    result = host.run(facts, {**answer([ONE, TWO]), "pairs": []})
    assert host.asked["pairs"] is False
    (left_out,) = result["not_measured"]
    assert left_out["subject"] == "transfers between GPUs"
    assert left_out["reason"].endswith("gpuhost_bandwidth_override: [p2p_risk]; to skip it: "
                                       "gpuhost_bandwidth_pairs: false")
    assert "not measured: transfers between GPUs" in host.shown[0]
    host.run(facts, answer([ONE, TWO]), despite=["p2p_risk"])
    assert host.asked["pairs"] is True


def test_pairs_that_nobody_asked_for(host):
    result = host.run(two_gpus(), {**answer([ONE, TWO]), "pairs": []}, pairs=False)
    assert host.asked["pairs"] is False
    assert result["not_measured"][0]["reason"] == "not requested (gpuhost_bandwidth_pairs)"


def test_a_refusal_asks_the_module_for_nothing_and_keeps_the_last_record(host):
    facts = two_gpus()
    facts["nvidia"]["xids"] = ok([{"bdf": "0000:03:00", "xid": 79, "seconds": 9.5, "text": "NVRM: Xid"}])
    with pytest.raises(AnsibleActionFail, match=r"Xid 79.*gpuhost_bandwidth_override: \[xid\]"):
        host.run(facts, answer([ONE, TWO]))
    assert host.asked is None
    assert not (host.reports / "pve1").exists()
    host.run(facts, answer([ONE, TWO]), despite=["xid"])
    assert host.record()["gpus"]


@pytest.mark.parametrize("facts, message", [
    (neutral.vm(), "no NVIDIA GPU on this host"),
    (two_gpus(driver="vfio-pci") | {"gpus": [two_gpus(driver="vfio-pci")["gpus"][0]]},
     f"{ONE}: the GPU is bound to vfio-pci, which reserves it for guests")])
def test_a_host_without_a_gpu_to_measure_is_skipped(host, facts, message):
    result = host.run(facts)
    assert (result["skipped"], result["msg"]) == (True, message)
    assert host.shown == [f"pve1: bandwidth was not measured: {message}"]
    assert host.asked is None


def test_check_mode_tells_and_measures_nothing(host):
    would = {"changed": False, "gpus": [], "pairs": [], "msg": "would measure 2 GPUs and 2 pairs"}
    result = host.run(two_gpus(), would, check=True)
    assert (result["skipped"], result["msg"]) == (True, "check mode: would measure 2 GPUs and 2 pairs")
    assert host.asked["devices"] == [ONE, TWO]
    assert not (host.reports / "pve1").exists()
    assert host.run(two_gpus(), {"failed": True, "msg": "busy"}, check=True)["msg"] == "busy"
    host.asked = None
    facts = two_gpus()
    facts["guests"]["ha"] = ok([{"guest": "lxc:101", "state": "started", "nodes": None, "strict": False}])
    with pytest.raises(AnsibleActionFail, match=r"gpuhost_bandwidth_override: \[ha\]"):
        host.run(facts, would, check=True)
    assert host.asked is None


def test_the_module_may_skip_or_fail_without_a_record(host):
    assert host.run(two_gpus(), {"skipped": True, "msg": "needs a live host"})["msg"] == "needs a live host"
    # ansible-core puts an object of its own there, of which it shows more than a text.
    why = object()
    result = host.run(two_gpus(), {"failed": True, "msg": f"{ONE} is in use by vllm (4711)", "exception": why})
    assert (result["failed"], result["msg"], result["exception"]) == (True, f"{ONE} is in use by vllm (4711)", why)
    assert host.run({"failed": True, "msg": "no python"})["msg"] == "no python"
    assert not (host.reports / "pve1").exists()


def test_a_host_that_is_lost_meanwhile_is_put_down(host):
    with pytest.raises(AnsibleConnectionFailure):
        host.run(two_gpus(), AnsibleConnectionFailure("no route to host"), container="101")
    record = host.record()
    assert record["stopped"] == "the connection to the host was lost during the measurement: no route to host"
    assert (record["gpus"], record["pairs"], record["where"]) == ([], [], "lxc:101")
    assert read_measured(host.reports / "pve1") == []


@pytest.mark.parametrize("options, message", [
    ({"container": "101; reboot"}, "gpuhost_bandwidth_container: '101; reboot', wanted the number of a container"),
    ({"slow_below": 0}, "gpuhost_bandwidth_slow_below: 0, wanted 1 to 100 percent"),
    ({"run_id": "latest"}, "run id 'latest' does not have the form"),
    ({"despite": ["all"]}, "value of despite must be one or more of: p2p_risk, xid, ha"),
    ({"devices": ["2460.0"]}, "gpuhost_bandwidth_devices: '2460.0' is not a PCI address like 0000:01:00.0 .*quote it"),
    ({"devices": ["0000:99:00.0"]}, "no NVIDIA GPU of this host has this address")])
def test_a_mistake_of_the_user_is_told_before_anything_is_measured(host, options, message):
    with pytest.raises(AnsibleActionFail, match=message):
        host.run(two_gpus(), answer([ONE, TWO]), **options)
    assert host.asked is None
