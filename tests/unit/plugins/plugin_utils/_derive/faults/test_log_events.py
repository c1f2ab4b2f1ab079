# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of the log in sentences: whose they are, how fast they come, what holds no longer."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.faults import log_events

GPU, PORT, CARD = "0000:06:00.0", "0000:05:01.1", "0000:c1:00.0"


def ok(value):
    return {"status": "ok", "value": value}


def event(kind, subject, count=1, first=100.0, last=100.0, detail=None, text="the line"):
    return {"kind": kind, "subject": subject, "count": count, "first_seconds": first, "last_seconds": last,
            "detail": detail, "text": text}


def facts(*events, uptime=1000.0, gpu_errors=0, port_errors=0):
    aer = {"nonfatal": 0, "fatal": 0, "details": {}}
    return {"ras": {"events": ok(list(events))}, "kernel": {"uptime_seconds": ok(uptime)},
            "gpus": [{"bdf": GPU, "vendor": "10de", "path": [PORT], "aer": ok({**aer, "correctable": gpu_errors})}],
            "ports": [{"bdf": PORT, "aer": ok({**aer, "correctable": port_errors})}]}


def corrected(given):
    return {entry["bdf"]: (entry["told"], entry["per_second"], entry["problems"])
            for entry in log_events.corrected_errors(given, given["gpus"])}


@pytest.mark.parametrize("gpu_errors, port_errors, uptime, rate, problems", [
    (12, 0, 1000.0, 0.01, []),
    (1000, 0, 1000.0, 1.0, []),
    (1100, 0, 1000.0, 1.1, [f"1.1 corrected errors a second at {GPU}, since boot"]),
    (0, 5000, 1000.0, 5.0, [f"5.0 corrected errors a second at {PORT}, since boot"]),
    (90000, 0, 864000.0, 0.1, []),
])
def test_counters_by_the_time_the_host_is_up(gpu_errors, port_errors, uptime, rate, problems):
    given = facts(gpu_errors=gpu_errors, port_errors=port_errors, uptime=uptime)
    assert corrected(given) == {GPU: (True, rate, problems)}


def test_without_an_uptime_the_log_alone_can_tell():
    lines = event("aer_corrected", GPU, 101, 100.0, 150.0)
    assert corrected({**facts(gpu_errors=9999), "kernel": {"uptime_seconds": {"status": "absent", "value": None}}}) == {
        GPU: (False, None, [])}
    assert corrected({**facts(lines), "kernel": {"uptime_seconds": {"status": "absent", "value": None}}}) == {
        GPU: (True, 2.0, [f"2.0 corrected errors a second at {GPU}, from the log"])}


def test_a_few_lines_are_no_rate_and_lines_without_a_time_neither():
    assert corrected(facts(event("aer_corrected", GPU, 9, 100.0, 100.5)))[GPU] == (True, 0.0, [])
    assert corrected(facts(event("aer_corrected", GPU, 500, None, None)))[GPU] == (True, 0.0, [])


def test_other_devices_are_told_where_the_log_names_them():
    found = corrected(facts(event("aer_corrected", CARD, 41, 100.0, 110.0), event("aer_limit", None, 70)))
    held_back = "the kernel suppressed 70 messages about them (rate limit)"
    assert found == {GPU: (True, 0.0, []),
                     CARD: (True, 4.0, [f"4.0 corrected errors a second at {CARD}, from the log", held_back])}
    assert corrected(facts(event("aer_limit", None, 70)))["kernel_log"] == (True, None, [held_back])


def test_a_fault_of_a_function_beside_the_gpu_is_the_gpus():
    given = facts(event("iommu_fault", "0000:06:00.1", 3), event("iommu_fault", CARD))
    gpus = [{"bdf": GPU, "derived": {"for_host": True}}]
    assert log_events.iommu_faults(given, gpus) == [
        {"bdf": GPU, "of_host": True, "faults": ["3 times: the line"]},
        {"bdf": CARD, "of_host": False, "faults": ["once: the line"]}]


def test_whose_memory_it_was():
    given = facts(event("oom_host", None, 2, detail="ollama"), event("oom_cgroup", "/lxc/101/ns", detail="python3"),
                  event("oom_cgroup", "/lxc.payload.102", detail="a"), event("oom_cgroup", None, detail="b"),
                  event("oom_cgroup", "/system.slice/vllm.service", detail="c"))
    assert log_events.oom_kills(given) == [
        "the host's memory: 2 times, first ollama", "the limit of lxc:101: once, first python3",
        "the limit of lxc:102: once, first a", "the limit of a control group: once, first b",
        "the limit of /system.slice/vllm.service: once, first c"]


def test_lockups_by_whose_code_it_was():
    given = facts(event("soft_lockup", "python3", 2, detail="nvidia_uvm"), event("hung_task", "txg_sync"),
                  event("hung_task", "kfd", detail="amdgpu"), event("hard_lockup", "12"), event("rcu_stall", "CPU"))
    assert log_events.lockups(given) == {
        "gpu_driver": ["a CPU hung in python3 in nvidia_uvm: 2 times", "task kfd was blocked in amdgpu: once"],
        "other": ["task txg_sync was blocked: once", "CPU 12 did not respond to interrupts: once",
                  "a CPU stalled the kernel (RCU): once"]}


def test_a_gpu_of_amd_that_left_is_named_too():
    given = facts(event("amdgpu_reset", "0000:99:00.0"))
    given["gpus"] = [{"bdf": GPU, "vendor": "1002"}]
    assert log_events.amdgpu_errors(given) == [
        {"bdf": GPU, "errors": []},
        {"bdf": "0000:99:00.0", "errors": ["it was reset because it hung, once: the line"]}]


def refused(module_version, client_version="570.1", what="api", client="python3"):
    return {"what": what, "client": client, "client_version": client_version, "module_version": module_version,
            "text": "NVRM: API mismatch"}


@pytest.mark.parametrize("entry, sentences", [
    (refused("580.2"), ["python3 is 570.1, the loaded driver is 580.2"]),
    (refused("560.1"), ["python3 is 570.1, the driver then was 560.1"]),
    (refused("560.1", client_version="580.2"), []),
    (refused("580.2", client=None), ["a program is 570.1, the loaded driver is 580.2"]),
    (refused(None, None), ["NVRM: API mismatch"]),
    (refused("580.2", what="modeset", client=None), ["nvidia-modeset.ko is 570.1, the loaded driver is 580.2"]),
])
def test_a_refusal_holds_until_the_driver_of_what_was_refused_is_loaded(entry, sentences):
    assert log_events.mismatches({"driver_version": ok("580.2"), "mismatches": ok([entry])}) == sentences


@pytest.mark.parametrize("actions, now", [
    (["None", "None"], ["NVRM: requiring os reboot to recover"]),
    (["None", "Reset"], ["NVRM: Reset required", "NVRM: requiring os reboot to recover"]),
    (["None", None], ["NVRM: Reset required", "NVRM: requiring os reboot to recover"]),
    ([], ["NVRM: Reset required", "NVRM: requiring os reboot to recover"]),
])
def test_a_reset_is_history_where_every_gpu_says_that_nothing_is_to_be_done(actions, now):
    nvidia = {"reset_required": ok(["NVRM: Reset required", "NVRM: requiring os reboot to recover"]),
              "smi": {"gpus": [{"recovery_action": action, "trouble": None} for action in actions]}}
    assert log_events.resets_required(nvidia)["now"] == now


@pytest.mark.parametrize("log, words", [
    (ok({"first_seconds": 0.0, "lines": 10}), "the kernel log of this boot"),
    (ok({"first_seconds": 100.2, "lines": 10}),
     "the kernel log, which begins 100 s after boot: earlier messages are lost"),
    (ok({"first_seconds": 5400.0, "lines": 10}),
     "the kernel log, which begins 90 min after boot: earlier messages are lost"),
    (ok({"first_seconds": 864000.0, "lines": 10}),
     "the kernel log, which begins 240 h after boot: earlier messages are lost"),
    (ok({"first_seconds": None, "lines": 10}), "the kernel log, as far back as it reaches"),
    ({"status": "denied", "value": None}, "the kernel log, as far back as it reaches"),
])
def test_a_pass_says_what_was_looked_through(log, words):
    assert log_events.log_reach({"log": log}) == words
