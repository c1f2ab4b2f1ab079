# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up report from its text to its findings: what must be found, and that nothing rests on what it lacks."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.action import audit
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.audit import Audit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.importing import import_files

from bug_report import GENERATIONS, GPU, XID_LINE, bug_report

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
LOST = f"Unable to determine the device handle for GPU {GPU}: GPU is lost. Reboot the system to recover this GPU"
# What a bug report never has: no verdict but unknown may come of it.
NEVER = ("ksm", "thp_defrag", "overcommit_memory", "nmi_watchdog", "cpu_governor", "clocksource",
         "memory_uncorrectable", "sysctl_conf", "cmdline_configured", "somaxconn", "netdev_max_backlog", "cpu_boost",
         "max_map_count", "other_managers", "next_kernel", "nvidia_options", "cpu_vulnerabilities", "aer")


@pytest.fixture
def findings(tmp_path):
    """`findings(text)` is `{(check, subject): finding}` of the audit of an imported report."""
    def judge(text):
        path, reports = tmp_path / "report.log", str(tmp_path / "reports")
        path.write_text(text)
        [host] = import_files([str(path)], None, reports)
        arguments = {name: spec.get("default") for name, spec in audit.ARGUMENTS.items()}
        one = Audit(host["name"], {**arguments, "check": False, "named": {}, "report_dir": reports})
        one.judge(take(collect(Host(host["sysroot"]), one.named_tunables())))
        return {(found["check"], found["subject"]): found for found in one.document["findings"]}
    return judge


@pytest.mark.parametrize("generation", GENERATIONS)
def test_nothing_is_judged_by_what_no_report_has(findings, generation):
    found = findings(bug_report(generation))
    judged = {check: one["verdict"] for (check, _subject), one in found.items() if check in NEVER}
    assert len(judged) > 8
    assert set(judged.values()) == {"unknown"}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_an_xid_of_this_boot_is_found_in_every_generation(findings, generation):
    assert findings(bug_report(generation, xids=(79,)))["nvidia_xid", GPU]["verdict"] == "fail"


def test_an_xid_of_an_earlier_boot_is_none_of_this_one(findings):
    found = findings(bug_report("535", earlier_xids=(79,)))
    assert found["nvidia_xid", GPU]["verdict"] == "pass"
    assert found["earlier_boots", None]["verdict"] == "fail"


def test_the_link_and_maxreadreq(findings):
    found = findings(bug_report("535"))
    assert found["pcie_link_width", GPU]["actual"] == 8
    assert found["pcie_maxreadreq", GPU]["actual"] == 512


def test_nvidia_smi_that_failed_is_a_finding(findings):
    found = findings(bug_report("525", smi=MISMATCH))["nvidia_library", None]
    assert found["verdict"] == "fail"
    assert MISMATCH in found["problem"]


def test_a_mismatch_that_only_the_log_has(findings):
    text = bug_report("470", smi="couldn't find libnvidia-ml", xids=(31,)).replace(
        XID_LINE.format(number=31), "nvidia-modeset: Version mismatch: nvidia.ko(470.103.01) nvidia-modeset.ko(430.64)")
    assert "430.64" in findings(text)["nvidia_library", None]["problem"]


def test_a_gpu_that_has_fallen_off(findings):
    found = findings(bug_report("470", gone=True, smi=LOST, xids=(79,)))
    assert found["gpu_driver", GPU]["verdict"] == "fail"
    assert LOST in found["nvidia_gpu_count", None]["problem"]


def test_a_gpu_that_did_not_start_is_found_in_safe_mode_too(findings):
    text = bug_report("535", safe_mode=True, xids=(31,)).replace(
        XID_LINE.format(number=31), f"NVRM: GPU {GPU}: RmInitAdapter failed! (0x30:0xffff:1086)")
    found = findings(text)["nvidia_gpu_count", None]
    assert found["verdict"] == "fail"
    assert "failed to start in this boot (nvidia-smi is not recorded: left out by --safe-mode)" in found["problem"]


def test_a_proxmox_node_is_judged_as_far_as_its_own_driver_has_the_gpu(findings):
    found = findings(bug_report("535", kernel="6.8.12-4-pve").replace("Ubuntu 22.04.4 LTS", "Debian GNU/Linux 12"))
    assert found["pcie_link_width", GPU]["verdict"] != "unknown"
    assert found["lxc_gpu_access", None]["verdict"] == "unknown"


def test_a_laptop_of_two_makers_without_firmware_tables_is_a_machine(findings):
    text = bug_report("470").replace("DMI type", "no type")
    assert findings(text)["target_kind", None]["actual"] == "bare_metal"


def test_what_the_owner_is_asked_for_is_judged_then(tmp_path):
    """The output as `sh -x` makes it, imported together with the report."""
    asked = ["+ uname -a", "Linux workbench 6.8.0-31-generic #31-Ubuntu SMP x86_64 GNU/Linux", "+ sysctl -a",
             "vm.overcommit_memory = 2", *(f"net.made_up_{number} = 1" for number in range(600)),
             "+ grep -rH . /sys/kernel/mm/ksm", "/sys/kernel/mm/ksm/run:0"]
    report, more = tmp_path / "report.log", tmp_path / "more.txt"
    report.write_text(bug_report("535"))
    more.write_text("\n".join(asked))
    [host] = import_files([str(report), str(more)], None, str(tmp_path / "reports"))
    facts = collect(Host(host["sysroot"]), [])
    assert facts["sysctl"]["vm.overcommit_memory"]["value"] == "2"
    assert facts["sysctl"]["vm.max_map_count"]["status"] == "absent"
    assert facts["memory"]["ksm"]["run"]["value"] == 0
    assert facts["memory"]["ksm"]["merge_across_nodes"]["status"] == "absent"
    assert facts["gpus"][0]["bdf"] == GPU


@pytest.mark.soak
def test_200_megabytes_in_bounded_memory(tmp_path):
    import resource

    line = "[12345.678901] something: " + "words of a log that never ends " * 4 + "\n"
    text = bug_report("535", xids=(79,))
    path = tmp_path / "large.log"
    with path.open("w") as file:
        before, mark, behind = text.partition("[  100.000000]")
        file.write(before)
        for _block in range((200 << 20) // len(line)):
            file.write(line)
        file.write(mark + behind)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [host] = import_files([str(path)], None, str(tmp_path / "reports"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - began < 400 << 10
    assert "is longer than is read" in host["notes"][0]
