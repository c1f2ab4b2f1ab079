# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report

from audit_document import GPUS, document, finding


def change(address, before, wanted, after, outcome, reason=None):
    return {"address": address, "before": before, "wanted": wanted, "after": after, "outcome": outcome,
            "reason": reason}


def test_sections_follow_what_a_fix_needs():
    text = markdown_report(document([
        finding("iommu_acs", "fail", priority="P0", fix_class="reboot", how="add iommu=pt"),
        finding("numa_balancing", "fail", priority="P1", actual="1", recommended="0",
                how="sysctl -w kernel.numa_balancing=0"),
        finding("nmi_watchdog", "fail", priority="info"),
        finding("cpu_isolation", "fail", priority="info", fix_class="reboot", how="take isolcpus= off"),
        finding("swappiness", "not_applicable", reason="the host has no swap"),
        finding("thp_enabled", "pass", actual="madvise"),
        finding("pcie_aer", "unknown", reason="absent: firmware owns AER"),
    ]))
    order = ["# pve1: what to improve", "## First", "### P0 Title of iommu\\_acs", "### P1 Title of numa\\_balancing",
             "## Summary", "## At run time", "### info Title of nmi\\_watchdog", "## With a reboot",
             "### info Title of cpu\\_isolation", "## Unknown", "## As it should be",
             "## Does not apply here", "## 8 GPUs", "## How GPUs reach each other"]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)
    assert text.count("### P0 Title of iommu") == 1
    assert "| P0 | Title of iommu\\_acs | host | `-` | `-` | reboot |" in text
    assert "the host has no swap" in text


def test_commands_of_eight_gpus_are_one_block_without_repeats():
    findings = [finding("pcie_maxreadreq", "fail", subject=address, actual=512, recommended=4096,
                        how=f"# one command a GPU\nsetpci -s {address} CAP_EXP+8.w=5000:7000") for address in GPUS]
    text = markdown_report(document(findings))
    assert text.count("# one command a GPU") == 1
    assert text.count("setpci -s ") == 8
    assert "- where: all 8 GPUs" in text


def test_a_run_shows_before_and_after_and_how_to_keep_it():
    run = {"run_id": "20261129T183000Z-4f2a", "time": "2026-11-29T18:31:00Z", "notes": ["lxc:101 stopped running"],
           "harm": [{"device": "0000:41:00.0", "what": "its link had 16 lanes and has 8"}],
           "planned": [{**change("sysctl:vm.swappiness", "60", "10", None, "would_change"),
                        "persist": "vm.swappiness = 10"},
                       {**change("sysctl:kernel.nmi_watchdog", "1", "0", None, "would_change"),
                        "persist": "kernel.nmi_watchdog = 0"},
                       {**change("pcie_maxreadreq:0000:41:00.0", None, 4096, None, "skipped", "bound to vfio-pci"),
                        "persist": None}],
           "changes": [change("sysctl:vm.swappiness", "60", "10", "10", "changed"),
                       change("sysctl:kernel.nmi_watchdog", "1", "0", "1", "refused", "EACCES (Permission denied)")]}
    text = markdown_report(document([]), run)
    assert "## What run `20261129T183000Z-4f2a` changed" in text
    assert "1 changed, 1 refused, 1 skipped" in text
    assert "> 0000:41:00.0: its link had 16 lanes and has 8. The run was rolled back." in text
    assert "- during the run: lxc:101 stopped running" in text
    assert "| `sysctl:vm.swappiness` | `60` | `10` | `10` | changed |  |" in text
    assert "| `sysctl:kernel.nmi_watchdog` | `1` | `0` | `1` | refused | EACCES (Permission denied) |" in text
    assert "| `pcie_maxreadreq:0000:41:00.0` | `-` | `4096` | `-` | skipped | bound to vfio-pci |" in text
    assert "1 change will be gone after the next boot or reset. To keep what this run changed" in text
    assert "\nansible-playbook gpuhost.tuning.persist -e gpuhost_run_id=20261129T183000Z-4f2a\n" in text
    kept = {**run, "kept": {"same": ["sysctl:vm.swappiness"], "other": {}}}
    assert "is persisted: it comes back at the next boot" in markdown_report(document([]), kept)
    other = markdown_report(document([]), {**run, "kept": {"same": [], "other": {"sysctl:vm.swappiness": "20"}}})
    assert "- `sysctl:vm.swappiness` is persisted as `20`, which comes back at the next boot" in other
    assert "gone after" not in other


def test_what_a_host_says_is_escaped():
    hostile = finding("a", "fail", title="<script>x</script>", actual="a|b\n# c", reason="[x](y)")
    text = markdown_report(document([hostile], host="pve<b>1"))
    assert "<script>" not in text
    assert "<b>" not in text
    assert "`a\\|b # c`" in text
    assert "\\[x\\](y)" in text


def test_nothing_to_do_is_said():
    text = markdown_report(document([finding("a", "pass")], gpus=[]))
    assert "Nothing to improve" in text
    assert "## Summary" not in text


def test_a_waiver_is_listed_with_its_end():
    waived = {"reason": "measured here", "expires": "2027-06-30"}
    text = markdown_report(document([finding("w", "fail", waived=waived)]))
    assert "| `w` | host | measured here | 2027-06-30 |" in text
