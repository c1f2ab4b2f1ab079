# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of an imported host says of the record, and the short form that names nobody."""
from __future__ import annotations

import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import asks, short, source
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.terminal import full_report

from audit_document import document, finding, ok

LACKS = "the bug report does not have it"
SOURCE = {"kind": "nvidia-bug-report", "name": "nvidia-bug-report.log.gz", "collected_at": "2024-05-06T05:08:10Z",
          "script": "33500001", "notes": ["dmesg no longer uses the start of this boot"]}


def lacking(check, fact, why=LACKS):
    return {**finding(check, "unknown", reason=f"no record of it: {why}"), "not_recorded": why, "lacks": f"host.{fact}"}


def imported(findings, **more):
    made = document(findings, host="workbench")
    made["facts"]["source"] = {**SOURCE, **more}
    made["facts"]["identity"]["hostname"] = ok("workbench")
    made["facts"]["nvidia"] = {**made["facts"]["nvidia"], "driver_version": ok("580.95.05")}
    return made


FINDINGS = [lacking("swappiness", 'sysctl."vm.swappiness"'), lacking("ksm", "memory.ksm.run"),
            lacking("lxc", "guests.containers"), lacking("ras", "ras.controllers"),
            finding("thp", "fail", priority="P1", actual="always", recommended="madvise")]


def test_the_shortest_command_comes_first_and_the_recorder_last():
    wanted = asks.asks(FINDINGS)
    assert [one.command.split()[0] for one in wanted] == ["sysctl", "grep", "pvereport", "python3"]
    assert [one.checks for one in wanted] == [["swappiness"], ["ksm"], ["lxc"], ["ras"]]


def test_older_records_have_the_fact_in_their_reason_only():
    old = {**finding("swappiness", "unknown", reason=f'sysctl."vm.swappiness" is not recorded: {LACKS}'),
           "not_recorded": LACKS}
    assert [one.command for one in asks.asks([old])] == ["sysctl -a"]


def test_what_is_unknown_for_another_reason_is_not_asked_for():
    assert asks.asks([finding("x", "unknown", reason="sysctl.x could not be read: it needs root")]) == []


def test_all_commands_in_one_that_prints_them_before_their_output():
    command = asks.one_line(asks.asks(FINDINGS))
    assert command.startswith("sudo sh -xc 'uname -a; sysctl -a; grep -rH . /sys/kernel/mm/")
    assert command.endswith("' > more.txt 2>&1")
    assert "pvereport" not in command and "python3" not in command
    assert asks.one_line([asks.Ask(asks.EVERYTHING, ["ras"])]) is None


def test_the_report_says_of_when_it_is_and_what_it_lacks():
    text = markdown_report(imported(FINDINGS))
    assert ("Made from nvidia-bug-report.log.gz, a report of nvidia-bug-report.sh (script 33500001), of "
            "2024-05-06T05:08:10Z: the host itself was not read.") in text
    assert "- dmesg no longer uses the start of this boot" in text
    assert f"4 checks cannot be judged for lack of data: {LACKS}." in text
    assert "| `sysctl -a` | 1 | `swappiness` |" in text


def test_the_terminal_says_so_too():
    text = full_report(imported(FINDINGS), {"report": "x"})
    assert "Made from nvidia-bug-report.log.gz" in text
    assert "4 checks cannot be judged" in text


def test_a_host_that_was_read_itself_has_nothing_of_it():
    made = document(FINDINGS)
    assert source.source_section(made) == [] and source.source_lines(made) == []
    assert short.short_report(made) is None
    assert "Made from" not in markdown_report(made)


def test_the_short_form_fits_into_a_post():
    many = [finding(f"check{number}", "fail", priority="P2", actual=number, recommended=1, title="word " * 200)
            for number in range(60)]
    text = short.short_report(imported([*FINDINGS, *many]))
    lines = text.splitlines()
    assert len(lines) <= 30
    assert lines[0] == "**GPU host audit** (gpuhost.tuning) of nvidia-bug-report, 2024-05-06"
    assert any(re.fullmatch(r"- and \d+ more things", line) for line in lines)
    assert all(len(line) <= 304 or "`" in line for line in lines)


def test_without_findings_and_gaps():
    text = short.short_report(imported([finding("x", "pass")], collected_at=None))
    assert "Nothing to improve; see below for what is unknown." in text
    assert "an unknown" in text.splitlines()[0]


@pytest.mark.parametrize("secret", [
    "workbench", "GPU-11111111-2222-3333-4444-555555555555", "1a2fdf51-e3a5-4a65-ac22-fc9c6a79f3e6",
    "aa:bb:cc:dd:ee:ff", "192.168.17.4", "fe80:1:2:3:4:5:6:7", "/home/alice", "alice@example.org", "secret-vm"])
def test_nothing_tells_whose_machine_it_is(secret):
    said = f"of vm 200 (secret-vm): it has {secret} and root={secret}, see {secret}"
    made = imported([finding("x", "fail", priority="P1", reason=said, actual=said)])
    made["facts"]["guests"] = {"vms": ok([{"name": "secret-vm"}]), "containers": ok([])}
    text = short.short_report(made)
    assert secret not in text.replace("/home/masked", "")
    assert "masked" in text


def test_a_host_named_after_its_file_does_not_hide_the_program_to_run():
    """A listing saved as lspci.txt is the host `lspci`."""
    made = imported([*FINDINGS, lacking("pcie", "pcie.functions")])
    made["host"], made["facts"]["identity"]["hostname"] = "lspci", ok("sysctl")
    [command] = [line for line in short.short_report(made).splitlines() if line.startswith("To judge more")]
    assert "sysctl -a; " in command and "; lspci -nnDvvvxxxx" in command


def test_serial_numbers_are_masked_where_they_are_called_so():
    assert short.mask("Serial Number 0422715081539, serial=A7", imported([])) == "Serial Number masked serial=masked"


def test_what_is_needed_to_understand_it_stays():
    text = short.mask("0000:01:00.0 carries 15.8 GB/s, driver 580.126.09, kernel 6.8.0-90-generic, 12:30:00",
                      imported([]))
    assert text == "0000:01:00.0 carries 15.8 GB/s, driver 580.126.09, kernel 6.8.0-90-generic, 12:30:00"
