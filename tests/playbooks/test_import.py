# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports that people have posted, through the whole playbook."""
from __future__ import annotations

import gzip
import json

import pytest

from bug_report import GPU, bug_report


def play(controller, *words, **variables):
    return controller.ansible("playbook", "gpuhost.tuning.import", "-i", "localhost,", "-e", json.dumps(
        {"gpuhost_report_dir": str(controller.reports), **variables}), *words)


def audit_of(controller, name):
    return json.loads((controller.reports / name / "audit.json").read_text())


def verdicts(audit, *checks):
    return {one["check"]: one["verdict"] for one in audit["findings"] if one["check"] in checks}


def test_a_report_is_imported_and_audited(controller, tmp_path):
    path = tmp_path / "nvidia-bug-report.log.gz"
    path.write_bytes(gzip.compress(bug_report("535", xids=(79,)).encode()))
    run = play(controller, gpuhost_import=str(path), gpuhost_import_name="gpu7")
    assert run.returncode == 0, run.stdout + run.stderr
    audit = audit_of(controller, "gpu7")
    assert audit["facts"]["source"]["script"] == "33500001"
    found = {(one["check"], one["subject"]): one for one in audit["findings"]}
    assert found["nvidia_xid", GPU]["verdict"] == "fail"
    assert found["pcie_link_width", GPU]["actual"] == 8
    lacks = ("ksm", "overcommit_memory", "sysctl_conf", "cpu_governor", "cpus_offline", "memory_uncorrectable",
             "clocksource", "nmi_watchdog", "thp_defrag", "cmdline_configured")
    assert verdicts(audit, *lacks) == dict.fromkeys(lacks, "unknown")
    report = (controller.reports / "gpu7" / "system-improve.md").read_text()
    assert "a report of nvidia-bug-report.sh (script 33500001), of 2024-05-06T05:08:10Z" in report
    short = (controller.reports / "gpu7" / "system-improve-short.md").read_text()
    assert "workbench" not in short and "Xid 79" in short
    assert "Next, to see the" not in run.stdout


@pytest.mark.one_core
def test_a_list_of_files_and_one_that_is_none(controller, tmp_path):
    first, second, letter = tmp_path / "a.log", tmp_path / "b.log", tmp_path / "letter.txt"
    first.write_text(bug_report("470"))
    second.write_text(bug_report("304", hostname="other"))
    letter.write_text("Dear all,\n")
    assert play(controller, gpuhost_import=[str(first), str(second)]).returncode == 0
    assert [audit_of(controller, name)["host"] for name in ("a", "b")] == ["a", "b"]
    run = play(controller, gpuhost_import=[str(letter)])
    assert run.returncode == 2
    assert "it is none of the reports that can be imported" in run.stdout + run.stderr
    assert "there is no file to import" in play(controller).stdout


@pytest.mark.one_core
def test_an_imported_host_is_never_written_to(controller, tmp_path):
    path = tmp_path / "a.log"
    path.write_text(bug_report("535"))
    assert play(controller, gpuhost_import=str(path)).returncode == 0
    assert not (controller.reports / "a" / "imported" / ".gpuhost-sysroot").exists()
