# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import terminal

from audit_document import GPUS, document, finding


def slow_gpus():
    return [finding("pcie_maxreadreq", "fail" if address in GPUS[:6] else "pass", subject=address,
                    actual=512 if address in GPUS[:6] else 4096, recommended=4096,
                    contested={"by": ["rtx6kpro"], "why": "no gain measured"}) for address in GPUS]


def test_devices_with_one_answer_are_one_entry():
    text = terminal.full_report(document(slow_gpus()), {})
    assert "pcie_maxreadreq: 512, wanted 4096 (6 of 8 GPUs) [runtime, contested]" in text
    assert text.count("Title of pcie_maxreadreq") == 1
    assert "0000:01:00.0, 0000:11:00.0, 0000:21:00.0, 0000:31:00.0, 0000:41:00.0, 0000:61:00.0" in text


def test_the_most_urgent_comes_first_and_the_counts_agree():
    findings = [finding("b", "fail", priority="P2", actual=1, recommended=0),
                finding("a", "fail", priority="P0", actual="redirect", recommended="none", fix_class="reboot"),
                finding("c", "pass"), finding("d", "not_applicable"),
                finding("e", "unknown", reason="denied: needs root")]
    text = terminal.full_report(document(findings), {"report": "reports/pve1/system-improve.md"})
    assert text.index("P0    Title of a") < text.index("P2    Title of b")
    assert "2 things to do (1 P0, 1 P2) in 2 places, 1 passed, 1 not applicable, 1 unknown" in text
    assert "e: denied: needs root" in text
    assert text.endswith("report: reports/pve1/system-improve.md")


def test_the_machine_is_named():
    assert ("pve1: 2 x AMD EPYC 9335 32 cores, 128 CPUs; 503 GiB memory; 8 x RTX PRO 6000; kernel 6.8.12-9-pve; "
            "Proxmox VE") in " ".join(terminal.full_report(document([]), {}).split())


def test_no_line_is_wider_than_100_columns():
    findings = [finding("x", "fail", title="A very long title " * 12, reason="a long reason " * 30, actual="v" * 60,
                        recommended="w" * 60), *slow_gpus(), finding("u", "unknown", reason="cannot " * 40)]
    text = terminal.full_report(document(findings, privileged=False), {})
    assert max(map(len, text.splitlines())) <= 100


def test_without_root_the_report_says_partial():
    text = terminal.full_report(document([], privileged=False), {})
    assert "PARTIAL: run without root, 1 fact could not be read: PCIe registers (lspci -xxxx). " in text
    assert "PARTIAL" not in terminal.full_report(document([]), {})


def test_a_waived_finding_is_not_to_do_but_counted():
    waived = finding("w", "fail", actual=1, waived={"reason": "measured", "expires": "2027-01-01"})
    text = terminal.full_report(document([waived]), {})
    assert "Nothing to improve" in text
    assert "1 waived" in text


def test_colour_only_where_it_is_asked_for():
    findings = [finding("a", "fail", priority="P1")]
    assert "\x1b" not in terminal.full_report(document(findings), {})
    painted = terminal.full_report(document(findings), {}, lambda text, colour: f"<{colour}>{text}</>")
    assert "<yellow>P1  </>  Title of a" in painted


def test_a_hostile_host_cannot_move_the_cursor():
    findings = [finding("a", "fail", actual="\x1b[31mred", reason="line\nline\x07", title="t\x1b]0;title\x07")]
    text = terminal.full_report(document(findings, host="pve\x1b[2J1"), {})
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)


def test_many_hosts_have_one_line_each():
    line = terminal.short_line(document(slow_gpus(), privileged=False))
    assert line == ("pve1: 1 thing to do (1 P2) in 6 places, 2 passed, 0 not applicable, 0 unknown, "
                    "PARTIAL (no root); first: pcie_maxreadreq")
