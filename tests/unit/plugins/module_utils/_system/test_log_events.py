# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kernel log lines say went wrong; lines that only look alike say nothing."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.log_events import find_events

GPU = "0000:06:00.0"


def lines(*texts):
    """One a second, from second 100 on."""
    return [{"seconds": 100.0 + number, "text": text} for number, text in enumerate(texts)]


def found(*texts):
    return [(event["kind"], event["subject"], event["count"]) for event in find_events(lines(*texts))]


@pytest.mark.parametrize("text", (
    "nvidia 0000:06:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f address=0xfffffffdf8000000 flags=0x0030]",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:06:00.0 domain=0x0012 address=0x4000 flags=0x0020]",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=06:00.0 domain=0x0012 address=0x4000 flags=0x0020]",
    "iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=06:00.0 address=0x38edc0970]",
    "DMAR: [DMA Read NO_PASID] Request device [06:00.0] fault addr 0x7f0000 [fault reason 0x06] PTE Read",
    "DMAR:[DMA Write] Request device [06:00.0] fault addr 1f0000 DMAR:[fault reason 05] PTE Write access is not set",
    "DMAR: [INTR-REMAP] Request device [06:00.0] fault index 0x5 [fault reason 0x25] Blocked a compatibility format",
    "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: 0000:06:00.0 sid: 0x600 ssid: 0x0 iova: 0x0 ipa: 0x0",
))
def test_an_access_that_the_iommu_stopped(text):
    assert found(text, text) == [("iommu_fault", GPU, 2)]


@pytest.mark.parametrize("text, kind", (
    ("amdgpu 0000:06:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block", "amdgpu_uncorrectable"),
    ("amdgpu 0000:06:00.0: amdgpu: socket: 2, die: 0 1 new uncorrectable hardware errors detected in umc block",
     "amdgpu_uncorrectable"),
    ("amdgpu 0000:06:00.0: {17}socket: 2, die: 0, 10 uncorrectable hardware errors detected in total in gfx block",
     "amdgpu_uncorrectable"),
    ("amdgpu 0000:06:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
     "amdgpu_uncorrectable"),
    ("amdgpu 0000:06:00.0: amdgpu: GPU reset begin!. Source:  4", "amdgpu_reset"),
    ("amdgpu 0000:06:00.0: amdgpu: GPU reset(1) failed", "amdgpu_reset"),
    ("amdgpu 0000:06:00.0: amdgpu: GPU Recovery Failed: -22", "amdgpu_reset"),
    ("amdgpu 0000:06:00.0: amdgpu: Fatal error during GPU init", "amdgpu_init"),
))
def test_what_amdgpu_says(text, kind):
    assert found(text) == [(kind, GPU, 1)]


@pytest.mark.parametrize("text", (
    "nvme nvme0: I/O 12 QID 4 timeout, aborting",
    "nvme nvme0: I/O tag 130 (1082) opcode 0x2 (I/O Cmd) QID 7 timeout, aborting req_op:READ(0) size:65536",
    "nvme nvme0: I/O 8 QID 0 timeout, reset controller",
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
    "nvme nvme0: Device not ready; aborting reset, CSTS=0x1",
    "nvme nvme0: Removing after probe failure status: -19",
    "nvme nvme0: Disabling device after reset failure: -19",
))
def test_a_drive_that_did_not_answer(text):
    assert found(text) == [("nvme", "nvme0", 1)]


@pytest.mark.parametrize("text", (
    "nvme nvme0: Shutdown timeout set to 10 seconds",
    "nvme nvme0: 64/0/0 default/read/poll queues",
    "nvme nvme0: Abort status: 0x0",
    "amdgpu 0000:06:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:06:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:06:00.0: amdgpu: 3 correctable hardware errors detected in umc block",
    "amdgpu 0000:06:00.0: amdgpu: GPU reset(1) succeeded!",
    "DMAR: IOMMU enabled",
    "DMAR: DRHD: handling fault status reg 2",
    "AMD-Vi: Interrupt remapping enabled",
    "arm-smmu-v3 arm-smmu-v3.0.auto: option mask 0x0",
    "pcieport 0000:00:01.1: AER: enabled with IRQ 27",
    "watchdog: Delayed init of the lockup detector failed: -19",
    "INFO: lockdep is turned off.",
    "systemd[1]: systemd-oomd.service: Deactivated successfully.",
    "Modules linked in: nvidia_uvm(POE) nvidia_drm(POE) nvidia(POE) amdgpu",
))
def test_what_a_sound_host_says_is_nothing(text):
    assert found(text) == []


def test_a_report_of_corrected_errors_counts_once():
    report = ("pcieport 0000:00:01.1: AER: Correctable error message received from 0000:06:00.0",
              "nvidia 0000:06:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Receiver ID)",
              "nvidia 0000:06:00.0:    [ 6] BadTLP")
    assert found(*report, *report) == [("aer_corrected", GPU, 2)]
    assert found(*(report[1:] * 3)) == [("aer_corrected", GPU, 3)]     # the line that introduces it was held back
    assert found("pcieport 0000:00:01.1: AER: Multiple Corrected error received: 0000:06:00.0") == [
        ("aer_corrected", GPU, 1)]
    assert found("aer_ratelimit: 23 callbacks suppressed", "aer_ratelimit: 4 callbacks suppressed") == [
        ("aer_limit", None, 27)]


def test_first_and_last_line_of_an_event():
    text = "nvme nvme1: I/O 12 QID 4 timeout, aborting"
    assert find_events(lines(text, "something else", text)) == [{
        "kind": "nvme", "subject": "nvme1", "count": 2, "first_seconds": 100.0, "last_seconds": 102.0, "detail": None,
        "text": text}]


# -- memory -----------------------------------------------------------------------------------------------------------

HOST = ("python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/system.slice/vllm.service,task=python3,pid=4711,uid=0",
        "Out of memory: Killed process 4711 (python3) total-vm:103079215kB, anon-rss:99614720kB, file-rss:0kB")
CONTAINER = ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ns,mems_allowed=0-1,oom_memcg=/lxc/101,"
             "task_memcg=/lxc/101/ns/system.slice/vllm.service,task=vllm: worker,pid=4712,uid=100000",
             "Memory cgroup out of memory: Killed process 4712 (vllm: worker) total-vm:1kB, anon-rss:1kB, UID:100000")


def test_who_was_killed_and_by_which_limit():
    events = find_events(lines(*CONTAINER, *HOST, *CONTAINER))
    assert [(event["kind"], event["subject"], event["count"], event["detail"]) for event in events] == [
        ("oom_cgroup", "/lxc/101", 2, "vllm: worker"), ("oom_host", None, 1, "python3")]


def test_words_of_older_kernels_and_of_no_limit_at_all():
    assert found("Memory cgroup stats for /lxc/102: cache:0KB rss:1KB",
                 "Memory cgroup out of memory: Kill process 4711 (python3) score 1001 or sacrifice child") == [
        ("oom_cgroup", "/lxc/102", 1)]
    assert found(CONTAINER[1]) == [("oom_cgroup", None, 1)]
    assert found("Out of memory: Kill process 4711 (python3) score 900 or sacrifice child") == [("oom_host", None, 1)]
    assert found("NVRM: Out of memory: failed to allocate a channel") == []


# -- CPUs and tasks ---------------------------------------------------------------------------------------------------

MODULES = "Modules linked in: nvidia_uvm(POE) nvidia(POE) zfs(PO)"


def details(*texts):
    return [(event["kind"], event["subject"], event["detail"]) for event in find_events(lines(*texts))]


def test_whose_code_it_was_in_says_the_call_trace():
    assert details("INFO: task nvidia-smi:4711 blocked for more than 120 seconds.",
                   "      Tainted: P           OE      6.8.12-9-pve #1",
                   "task:nvidia-smi      state:D stack:0     pid:4711", "Call Trace:", " <TASK>",
                   " __schedule+0x401/0x15e0", " os_acquire_mutex+0x3c/0x50 [nvidia]") == [
        ("hung_task", "nvidia-smi", "nvidia")]
    assert details("watchdog: BUG: soft lockup - CPU#5 stuck for 22s! [python3:4711]", MODULES,
                   "RIP: 0010:uvm_gpu_fault+0x1b/0x30 [nvidia_uvm]", " ? _raw+0x1/0x2", " x+0xa/0xb [nvidia_uvm]") == [
        ("soft_lockup", "python3", "nvidia_uvm")]
    assert details("INFO: task kworker/u512:3:88 blocked for more than 241 seconds.", " x+0x1/0x2 [amdgpu 8a9b]") == [
        ("hung_task", "kworker/u512:3", "amdgpu")]


def test_the_modules_that_are_loaded_and_the_next_report_do_not_count():
    assert details("watchdog: BUG: soft lockup - CPU#5 stuck for 22s! [txg_sync:4711]", MODULES,
                   " zio_wait+0x1/0x2 [zfs]", "INFO: task nv_queue:9 blocked for more than 120 seconds.",
                   " rm+0x1/0x2 [nvidia]") == [
        ("soft_lockup", "txg_sync", None), ("hung_task", "nv_queue", "nvidia")]


def test_other_watchdogs():
    assert details("NMI watchdog: Watchdog detected hard LOCKUP on cpu 12") == [("hard_lockup", "12", None)]
    assert details("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:") == [("rcu_stall", "CPU", None)]
    assert details("INFO: task jbd2/sda1-8:400 blocked for more than 120 seconds.") == [
        ("hung_task", "jbd2/sda1-8", None)]
