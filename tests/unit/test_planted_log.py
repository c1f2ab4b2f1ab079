# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel log of a whole host makes of its findings: one fault more in the log, one finding more."""
from __future__ import annotations

import copy
import functools

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import summary

from hosts import kernel, pci
from hosts.dead_gpus import DRIVER, GPUS, eight_gpus
from hosts.nvidia import Gpu, smi_xml
from hosts.others import workstation
from verdicts import changes, judged

FIRST, SECOND, THIRD, FOURTH = list(GPUS)[:4]
OF_THE_LOG = ("nvidia_xid", "nvidia_xid_program", "iommu_faults", "oom_kills", "kernel_lockups", "nvme_errors",
              "nvidia_reset_required", "nvidia_module_messages")


@functools.cache
def logged(*texts):
    """The sound server with these lines in its log, one a second from second 100 on."""
    def plant(tree):
        eight_gpus(tree)
        kernel.add_to_log(tree, *((100.0 + number, text) for number, text in enumerate(texts)))
    return plant


@functools.cache
def wants(plant, **actions):
    """What nvidia-smi asks for now; GPUs by minor, as gpu0."""
    def plant_too(tree):
        plant(tree)
        tree.program("nvidia-smi.xml", smi_xml([
            Gpu(bdf, minor, smi={"recovery": actions.get(f"gpu{minor}", "None")}) for bdf, minor in GPUS.items()],
            DRIVER))
    return plant_too


def xid(gpu, number, text):
    return f"NVRM: Xid (PCI:{gpu.rpartition('.')[0]}): {number}, {text}"


def found(facts, check, subject=None):
    finding = judged(facts)[check, subject]
    return finding["verdict"], finding["priority"], finding["reason"]


@pytest.fixture(scope="module")
def sound(facts_of):
    return judged(facts_of(eight_gpus))


def p0(facts):
    return summary(judged(facts).values())["failing"]["P0"]


# -- Xid --------------------------------------------------------------------------------------------------------------

B08 = (xid(FIRST, 149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001 0x00000000 0x00000000)"),
       xid(SECOND, 145, "pid=4242, name=python3, RLW_CTRL Nonfatal XC0 i0 Link 00 (0x00000003 0x80000000 0x00000000)"),
       xid(THIRD, 149, "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000 0x00000000 0x00000000)"))


def test_b08_events_of_nvlink_5_that_are_not_fatal_are_noted(facts_of):
    facts = facts_of(logged(*B08))
    assert found(facts, "nvidia_xid", FIRST) == (
        "fail", "P2", "Xid 149: an error of NVLink (NETIR), non-fatal (nothing has to be done now)")
    assert found(facts, "nvidia_xid", SECOND) == (
        "fail", "P2", "Xid 145: an error of NVLink (RLW), non-fatal (nothing has to be done now)")
    assert found(facts, "nvidia_xid", THIRD) == (
        "fail", "P0", "Xid 149: an error of NVLink (NETIR), fatal (reset the GPU)")
    assert p0(facts_of(logged(*B08[:2]))) == 0 and p0(facts) == 1


def test_b09_a_row_that_was_remapped_and_a_contained_error_are_not_broken_now(facts_of):
    facts = facts_of(logged(
        xid(FIRST, 63, "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to "
                       "activate."),
        xid(SECOND, 94, "pid=4242, name=python3, Ch 00000008, Contained: SM (0x1). RST: No, D-RST: No"),
        xid(THIRD, 64, "pid='<unknown>', name=<unknown>, Row Remapper: Failed"),
        xid(FOURTH, 95, "pid=4242, name=python3, Uncontained: LTC TAG. RST: Yes, D-RST: No")))
    assert [found(facts, "nvidia_xid", gpu)[:2] for gpu in (FIRST, SECOND, THIRD, FOURTH)] == [
        ("fail", "P2"), ("fail", "P2"), ("fail", "P0"), ("fail", "P0")]
    assert found(facts, "nvidia_xid", SECOND)[2].endswith("(restart the program)")


def test_b10_a_number_that_nobody_knows_is_no_programs_and_no_pass(facts_of):
    facts = facts_of(logged(
        xid(FIRST, 159, "pid=4242, name=python3, CHI Non-Data Error"),
        xid(SECOND, 168, "Errors found in WPR (write protected region)"),
        xid(THIRD, 169, "Internal micro-controller halt"), xid(FOURTH, 999, "a number of the future")))
    assert [found(facts, "nvidia_xid", gpu)[:2] for gpu in (FIRST, SECOND, THIRD, FOURTH)] == [
        ("fail", "P1"), ("fail", "P0"), ("fail", "P0"), ("fail", "P2")]
    assert found(facts, "nvidia_xid", FOURTH)[2] == "Xid 999: not in NVIDIA's catalog of 2025-10-29"
    assert {found(facts, "nvidia_xid_program", gpu)[0] for gpu in GPUS} == {"pass"}


def test_what_was_said_last_holds_and_the_live_answer_wins(facts_of):
    error = xid(FIRST, 95, "Uncontained: LTC TAG. RST: Yes, D-RST: No")
    to_reset = xid(FIRST, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    to_nothing = xid(FIRST, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
    over = ("pass", "P2", "resolved since: Xid 95: an uncorrectable error in its memory, not contained: all may "
                          "be spoilt (reset the GPU); Xid 154: the driver requires: GPU Reset Required")
    assert found(facts_of(logged(error, to_reset, to_nothing)), "nvidia_xid", FIRST) == over
    assert found(facts_of(logged(error, to_reset)), "nvidia_xid", FIRST) == over        # nvidia-smi reports None now
    assert found(facts_of(wants(logged(error, to_reset), gpu0="Reset")), "nvidia_xid", FIRST)[:2] == ("fail", "P0")


def test_earlier_boots_are_counted_apart(facts_of):
    def saved_log(tree):
        eight_gpus(tree)
        this = tree.path("/recorded/kmsg.txt").read_text()
        tree.kernel_log("5,0,0,-;Linux version 6.8.0-59-generic\n"
                        f"4,9,900000000,-;{xid(FIRST, 79, 'GPU has fallen off the bus.')}\n"
                        "4,10,901000000,-;Out of memory: Killed process 4711 (python3) total-vm:1kB\n" + this)
    facts = facts_of(saved_log)
    assert found(facts, "nvidia_xid", FIRST) == (
        "pass", "P2", "none in the kernel log of this boot; from an earlier boot: Xid 79")
    assert found(facts, "oom_kills")[0] == "pass"
    assert p0(facts) == 0


# -- the log's other words --------------------------------------------------------------------------------------------

FAULT = f"nvidia {FIRST}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f address=0xfff8000000 flags=0x0030]"
OOM = ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ns,mems_allowed=0-1,oom_memcg=/lxc/101,"
       "task_memcg=/lxc/101/ns/system.slice/vllm.service,task=python3,pid=4712,uid=100000",
       "Memory cgroup out of memory: Killed process 4712 (python3) total-vm:1kB, anon-rss:1kB",
       "Out of memory: Killed process 4711 (ollama) total-vm:1kB, anon-rss:1kB")
HUNG = ("INFO: task nvidia-smi:4711 blocked for more than 120 seconds.", "Call Trace:",
        " os_acquire_mutex+0x3c/0x50 [nvidia]")
OTHER_HUNG = ("INFO: task txg_sync:400 blocked for more than 120 seconds.", " zio_wait+0x1/0x2 [zfs]")
RESET = "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."
PEERMEM = "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"


@pytest.mark.parametrize("texts, check, subject, priority, reason", [
    ((FAULT, FAULT), "iommu_faults", FIRST, "P0", f"2 times: {FAULT}"),
    (("DMAR: [DMA Write NO_PASID] Request device [07:00.0] fault addr 0x1000 [fault reason 0x05] PTE Write",),
     "iommu_faults", SECOND, "P0",
     "once: DMAR: [DMA Write NO_PASID] Request device [07:00.0] fault addr 0x1000 [fault reason 0x05] PTE Write"),
    (OOM, "oom_kills", None, "P1", "the limit of lxc:101: once, first python3, the host's memory: once, first ollama"),
    (HUNG, "kernel_lockups", None, "P1", "task nvidia-smi was blocked in nvidia: once"),
    (OTHER_HUNG, "kernel_lockups", None, "P2", "task txg_sync was blocked: once"),
    (("nvme nvme0: I/O 12 QID 4 timeout, aborting",), "nvme_errors", None, "P2",
     "nvme0, once: nvme nvme0: I/O 12 QID 4 timeout, aborting"),
    ((RESET,), "nvidia_reset_required", None, "P0", RESET),
    ((PEERMEM,) * 120, "nvidia_module_messages", None, "info", f"120 times {PEERMEM}"),
    (("aer_ratelimit: 23 callbacks suppressed",), "pcie_aer_corrected", "kernel_log", "P1",
     "the kernel suppressed 23 messages about them (rate limit)"),
    (("NVRM: API mismatch: the client 'python3' (pid 4711)\nNVRM: has the version 570.133.20, but\nNVRM: this kernel "
      f"module has the version {DRIVER}.  Please",), "nvidia_library", None, "P0",
     f"the kernel log of this boot says: python3 is 570.133.20, the loaded driver is {DRIVER}"),
    ((f"nvidia-modeset: Version mismatch: nvidia.ko({DRIVER}) nvidia-modeset.ko(570.133.20)",), "nvidia_library", None,
     "P0", f"the kernel log of this boot says: nvidia-modeset.ko is 570.133.20, the loaded driver is {DRIVER}"),
])
def test_one_fault_more_is_one_finding_more(facts_of, sound, texts, check, subject, priority, reason):
    findings = judged(facts_of(logged(*texts)))
    assert list(changes(sound, findings)) == [(check, subject)]
    finding = findings[check, subject]
    assert (finding["verdict"], finding["priority"], finding["reason"]) == ("fail", priority, reason)


def test_a_refusal_of_what_is_loaded_now_is_history(facts_of, sound):
    texts = ("NVRM: API mismatch: the client 'python3' (pid 4711)\nNVRM: has the version 580.95.05, but\nNVRM: this "
             "kernel module has the version 570.133.20.  Please",
             "nvidia-modeset: Version mismatch: nvidia.ko(570.133.20) nvidia-modeset.ko(580.95.05)")
    assert changes(sound, judged(facts_of(logged(*texts)))) == {}


def test_a_reset_that_happened_since_is_history(facts_of):
    line = "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62)"
    assert found(facts_of(logged(line)), "nvidia_reset_required") == (
        "pass", "P0", "nvidia-smi reports no pending action for any GPU; the log has an older message")
    assert found(facts_of(wants(logged(line), gpu3="Reset")), "nvidia_reset_required") == ("fail", "P0", line)


def test_a_fault_of_another_device_or_of_a_guests_gpu_is_p2(facts_of):
    other = "DMAR: [DMA Read NO_PASID] Request device [c1:00.0] fault addr 0x1000 [fault reason 0x06] PTE Read"
    assert found(facts_of(logged(other)), "iommu_faults", "0000:c1:00.0")[:2] == ("fail", "P2")

    def given_away(tree):
        logged(FAULT)(tree)
        pci.bind(tree, FIRST, "vfio-pci")
    assert found(facts_of(given_away), "iommu_faults", FIRST)[:2] == ("fail", "P2")


def test_b26_a_flood_of_corrected_errors_is_told_with_its_rate(facts_of, sound):
    def flood(tree):
        eight_gpus(tree)
        tree.file("/proc/uptime", "1000.00 4000.00")
        pci.plant_aer(tree, FIRST, {"correctable": {"RxErr": 12, "BadTLP": 18233, "BadDLLP": 40, "Rollover": 3,
                                                    "Timeout": 120}})
    findings = judged(facts_of(flood))
    assert changes(sound, findings) == {("pcie_aer_corrected", FIRST): (
        'fail P1: ["18.4 corrected errors a second at 0000:06:00.0, since boot"] -> empty true')}
    assert findings["pcie_aer", FIRST]["reason"] == "none since boot; 18408 were corrected, see pcie_aer_corrected"


def test_b26_a_flood_that_only_the_log_has(facts_of):
    report = (f"pcieport 0000:00:01.1: AER: Correctable error message received from {FIRST}",) * 40

    def plant(tree):
        eight_gpus(tree)
        kernel.add_to_log(tree, *((100.0 + number / 4, text) for number, text in enumerate(report)))
    assert found(facts_of(plant), "pcie_aer_corrected", FIRST) == (
        "fail", "P1", "4.0 corrected errors a second at 0000:06:00.0, from the log")
    assert found(facts_of(logged(*report[:5])), "pcie_aer_corrected", FIRST)[0] == "pass"


def test_a_log_that_nobody_may_read_passes_nothing(facts_of):
    facts = copy.deepcopy(facts_of(eight_gpus))
    for section in (facts["nvidia"], facts["ras"]):
        for key in ("xids", "xids_of_earlier_boots", "sxids", "mismatches", "reset_required", "repeats", "events"):
            if key in section:
                section[key] = {"status": "denied", "value": None}
    findings = judged(facts)
    assert {check: findings[check, subject]["verdict"] for check, subject in findings
            if check in OF_THE_LOG} == dict.fromkeys(OF_THE_LOG, "unknown")


def test_a_desktop_with_an_ordinary_log_has_nothing_of_it(facts_of):
    def ordinary(tree):
        workstation(tree)
        kernel.add_to_log(tree, *((50.0 + number, text) for number, text in enumerate((
            "nvme nvme0: Shutdown timeout set to 10 seconds", "DMAR: IOMMU enabled",
            "watchdog: Delayed init of the lockup detector failed: -19",
            "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64", "pcieport 0000:00:01.1: AER: enabled",
            "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver"))))
    assert changes(judged(facts_of(workstation)), judged(facts_of(ordinary))) == {}
