# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import about_checks, entries, fleet_row
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import Groups

from audit_document import GPUS, document, finding, ok
from fleet_documents import HOSTILE, hostile_document
from hosts.story_before import story_before


def test_alike_findings_are_one_entry_and_unlike_ones_are_not():
    assert entries(Groups([
        finding("width", "pass", subject=GPUS[0], actual=16, recommended={"at_least": 16}, fix_class="manual"),
        finding("width", "pass", subject=GPUS[1], actual=16, recommended={"at_least": 16}, fix_class="manual"),
        finding("width", "fail", subject=GPUS[2], actual=8, recommended={"at_least": 16}, fix_class="manual",
                reason="two lanes are dirty"),
        finding("boost", "fail", priority="P1", actual=False, waived={"reason": "a lab", "expires": "2027-01-01"}),
    ])) == [
        ("width", "pass", "P2", "16", "at least 16", "", "manual", "", "", "", "", GPUS[:2]),
        ("width", "fail", "P2", "8", "at least 16", "two lanes are dirty", "manual", "", "", "", "", [GPUS[2]]),
        ("boost", "fail", "P1", "no", "-", "", "runtime", "a lab (until 2027-01-01)", "", "", "", [])]


def test_a_thing_has_its_commands_once_and_what_is_unknown_says_what_to_do():
    sizes = [finding("size", "fail", subject=gpu, actual=512, commands=[f"setpci -s {gpu} CAP_EXP+8.w=5000:7000"],
                     undo_commands=[f"setpci -s {gpu} CAP_EXP+8.w=2000:7000"]) for gpu in GPUS[:2]]
    made = entries(Groups([
        *sizes, finding("busy", "fail", fix_class="manual", how="Ask first.", forbidden="lxc:101 uses it"),
        finding("seat", "fail", fix_class="manual", how="Reseat the card."),
        finding("log", "unknown", reason="log could not be read: it needs root")]))
    assert [(one.commands, one.undo, one.advice) for one in made] == [
        ('for device in 0000:01:00.0 0000:11:00.0; do setpci -s "$device" CAP_EXP+8.w=5000:7000; done',
         'for device in 0000:01:00.0 0000:11:00.0; do setpci -s "$device" CAP_EXP+8.w=2000:7000; done', ""),
        ("", "", "Not now: lxc:101 uses it."), ("", "", "Reseat the card."),
        ("", "", "Audit as root, or as a user with sudo.")]


def test_what_a_row_says_of_a_host():
    made = document([finding("boost", "fail")])
    made["facts"]["firmware"] = {"system_vendor": ok("ASUSTeK"), "product_name": ok("ESC8000A"),
                                 "bios_version": ok("1302")}
    made["facts"]["kernel"]["parameters"] = [
        {"name": "root", "value": "UUID=1"}, {"name": "iommu", "value": "pt"}, {"name": "quiet", "value": None}]
    made["facts"]["cpu"]["microcode"] = ok(["0x2", "0x1", "0x2"])
    row = fleet_row(made)
    assert row["model"] == "ASUSTeK ESC8000A / AMD EPYC 9335 32-Core Processor / RTX PRO 6000"
    assert row["traits"] == {
        "kernel": "6.8.12-9-pve", "kernel command line": "iommu=pt quiet", "Proxmox VE": "8.4.1",
        "kind of machine": "bare_metal", "firmware version": "1302", "microcode": "0x1, 0x2", "sockets": "2",
        "CPUs": "128", "memory": "503 GiB", "GPUs": "8"}
    assert row["gpus"][0] == ["0000:01:00.0", "nvidia", "ok", "0", "2.5 GT/s x16", "32.0 GT/s x16", "256", "512",
                              "RTX PRO 6000"]


def test_a_gpu_that_does_not_answer_has_a_row_too():
    made = document([])
    made["facts"]["gpus"][0] |= {"state": "gone", "pcie": {"status": "gone", "value": None}, "model": None,
                                 "driver": None, "numa_node": {"status": "absent", "value": None}}
    assert fleet_row(made)["gpus"][0] == ["0000:01:00.0", "none", "gone", "-", "-", "-", "-", "-", "10de:2bb5"]


def test_the_facts_of_a_whole_host_have_every_trait(facts_of):
    row = fleet_row(document([]) | {"facts": facts_of(story_before)})
    assert row["traits"] == {
        "kernel": "6.8.12-9-pve", "kernel command line": "ro quiet",
        "operating system": "Debian GNU/Linux 12 (bookworm)", "Proxmox VE": "8.4.1",
        "kind of machine": "bare_metal", "firmware version": "1302", "microcode": "0xb002147",
        "sockets": "2", "CPUs": "128", "memory": "503 GiB", "GPUs": "8", "NVIDIA driver": "570.133.20"}
    assert row["model"] == ("ASUSTeK COMPUTER INC. ESC8000A-E13P / AMD EPYC 9335 32-Core Processor / "
                            "NVIDIA RTX PRO 6000 Blackwell Server Edition")


def test_a_text_without_an_end_is_cut_and_control_characters_are_gone():
    row = fleet_row(document([finding("boost", "fail", actual="x" * 10000, reason=HOSTILE + "\x07")]))
    assert row["findings"][0].actual == "x" * 237 + "..."
    assert "\x1b" not in json.dumps(fleet_row(hostile_document()), ensure_ascii=False)


def test_what_is_the_same_everywhere_is_said_once():
    assert about_checks(document([
        finding("boost", "fail", contested={"by": ["some", "others"], "why": "noise"}), finding("boost", "pass")])) == {
        "boost": {"topic": "kernel", "title": "Title of boost", "why": "why boost", "evidence": "kernel_doc",
                  "sources": ["Documentation/admin-guide/sysctl/vm.rst"], "contested": "some, others: noise"}}


def test_a_record_of_the_release_before_makes_the_same_row():
    old = document([finding("governor", "fail", subject=f"policy{number}", actual="powersave") for number in range(4)])
    old["schema"] = "gpuhost.audit/1"
    for name in ("things", "places"):
        del old["summary"][name]
    for one in old["findings"]:
        for name in ("commands", "undo_commands", "forbidden"):
            del one["fix"][name]
    row = fleet_row(old)
    assert (row["things"]["P2"], row["places"]["P2"]) == (1, 4)
    assert [(one.actual, one.commands, len(one.subjects)) for one in row["findings"]] == [("powersave", "", 4)]
