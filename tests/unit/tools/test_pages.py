# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of docs/checks: what they say of a check, and that those in the repository are those of the catalogue."""
from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import load_file, load_profile
from pages import __main__ as program
from pages import reference
from pages.facts import description
from pages.index import index_page
from pages.page import check_page

GOVERNOR = {
    "id": "governor", "title": "It is fast | always", "topic": "cpu", "priority": "P2",
    "escalate": {"priority": "P1", "if": "host.dedicated"},
    "each": "host.cpu.frequency.policies[?status(&epp) == 'absent']", "subject": "it.policy",
    "applies": "host.derived.container == `null`",
    "otherwise": "{host.derived.container || (length(host.cpu.frequency.policies) == `0` && 'no policy') || 'has EPP'}",
    "actual": "it.governor", "expect": {"op": "equals", "value": "performance", "type": "str"},
    "plan_if": [{"if": "contains(it.governors, 'performance')", "otherwise": "{it.policy} offers only {it.governors}"},
                {"if": "host.allow_busy", "otherwise": "it is busy"}],
    "why": "because of time_to_token", "evidence": "vendor", "sources": ["the manual of x_y"],
    "contested": {"by": ["a user", "another"], "why": "no gain"}, "takes_effect": "at_once",
    "fix": {"class": "runtime", "tunable": "sysfs:/sys/devices/system/cpu/cpufreq/{it.policy}/scaling_governor",
            "risk": "heat. {(host.dedicated && 'Nobody else') || join(' ', ['For', it.policy])}",
            "undo": "echo {actual} > /sys/x", "persist": "# a file\nw /sys/{it.policy}/*|x\n"},
}
INFORMS = {
    "id": "informs", "title": "It is known", "topic": "memory", "priority": "info", "why": "to know",
    "actual": 'host.sysctl."vm.swappiness"', "absent": {"verdict": "pass", "reason": "no swap"},
    "expect": {"op": "at_most", "value": 10, "type": "int"}, "evidence": "community", "sources": ["one"],
    "takes_effect": "at_once", "fix": {"class": "none"},
}
PROFILES = {"hasty": "plan: [governor]", "careful": "values: {governor: schedutil}\nleave: [governor]",
            "plain": "evidence: [kernel_doc]"}


@pytest.fixture
def checks(tmp_path):
    path = tmp_path / "own.yml"
    path.write_text(yaml.safe_dump([GOVERNOR, INFORMS]))
    return load_file(path)


@pytest.fixture
def profiles(tmp_path, checks):
    for name, text in PROFILES.items():
        (tmp_path / f"{name}.yml").write_text(f"name: {name}\ndescription: a profile\n{text}\n")
    return [load_profile(str(tmp_path / f"{name}.yml"), checks) for name in PROFILES]


@pytest.fixture
def page(checks, profiles):
    return check_page(checks[0], profiles)


def section(page, heading):
    return page.split(f"## {heading}\n\n")[1].split("\n## ")[0]


def test_the_pages_of_the_repository_are_those_of_the_catalogue():
    assert program.main(["--check"]) is None


def test_the_head_of_a_page(page):
    assert page.splitlines()[:10] == [
        "# It is fast \\| always", "", "|  |  |", "| --- | --- |", "| id | `governor` |", "| subject | CPU and power |",
        "| priority | P2, P1 where `host.dedicated` |", "| evidence | a vendor's documentation or source |",
        "| fix | at run time, a tune can do it |", "| a change is felt | at once |"]
    assert section(page, "Why") == "because of time_to_token\n"


def test_where_facts_are_read_is_said(page):
    rows = section(page, "How it is read").splitlines()[2:8]
    assert rows[0] == ("| what is | `host.cpu.frequency.policies[].governor` | scaling_governor, in "
                       "/sys/devices/system/cpu/cpufreq/policy\\* |")
    assert rows[1].startswith("| of what | `host.cpu.frequency.policies[].epp` | energy_performance_preference; absent")
    assert rows[2] == ("| whether it applies | `host.derived.container` | the target is a container (a sentence); null "
                       "where it is none |")
    assert rows[3].startswith("| whether a change is planned | `host.cpu.frequency.policies[].governors` | ")
    assert rows[4:] == ["|  | `host.allow_busy` | the variable gpuhost_allow_busy: GPUs in use may be written to |",
                        "| how urgent it is | `host.dedicated` | the variable gpuhost_dedicated: the host serves one "
                        "workload alone |"]


def test_the_alternatives_of_a_text_are_told_apart(page):
    text = section(page, "Where it applies")
    assert "named by `it.policy`:\n\n```text\nhost.cpu.frequency.policies[?status(&epp) == 'absent']\n```\n" in text
    assert text.endswith("reasons:\n\n- the target is a container\n- no policy\n- has EPP\n")
    assert "Risk: heat. (Nobody else, or: For `<policy>`)\n" in page


def test_what_each_profile_wants_and_plans(page):
    assert section(page, "What is recommended").splitlines() == [
        "| profile | wanted | planned by a tune |", "| --- | --- | --- |", "| `hasty` | `performance` | yes |",
        "| `careful` | `schedutil` | no: not planned by the profile careful |",
        "| `plain` | `performance` | no: it is contested and not listed in the profile plain: use gpuhost_include "
        "|",
        "", "Whatever the profile, no tune plans it where", "", "- `<policy>` offers only `<governors>`",
        "- it is busy"]


def test_a_condition_without_words_is_shown_itself(tmp_path, profiles):
    path = tmp_path / "other.yml"
    path.write_text(yaml.safe_dump([{**GOVERNOR, "plan_if": "host.dedicated"}]))
    assert "where\n\n- this is not true: `host.dedicated`\n" in check_page(load_file(path)[0], profiles)


def test_commands_and_files_stand_as_code(page):
    fix = section(page, "How to fix it")
    assert "What a tune writes to: `sysfs:/sys/devices/system/cpu/cpufreq/<policy>/scaling_governor`.\n" in fix
    assert "Undo: `echo <actual> > /sys/x`\n" in fix
    assert fix.endswith("```text\n# a file\nw /sys/<policy>/*|x\n```\n")


def test_who_disagrees_and_the_sources(page):
    assert section(page, "Who disagrees") == "- a user\n- another\n\nno gain\n"
    assert section(page, "Sources") == "- the manual of x_y\n\n[All checks](README.md)\n"


def test_a_check_that_only_informs(checks, profiles):
    page = check_page(checks[1], profiles)
    assert "a change is felt" not in page
    assert "How to fix it" not in page
    assert "Who disagrees" not in page
    assert "It applies to every host.\n" in page
    assert "Where there is no such thing the check passes: no swap.\n" in page
    assert "`at most 10`, whatever the profile. No tune changes it.\n" in page
    assert '`host.sysctl."vm.swappiness"` | /proc/sys/vm/swappiness, 0 to 200 |' in page


def test_the_index(checks, profiles):
    page = index_page(checks, profiles)
    assert ("### CPU and power\n\n| check | name | priority | fix | evidence |\n| --- | --- | --- | --- | "
            "--- |\n| [governor](governor.md) | It is fast \\| always | P2, or P1 | runtime | vendor |\n") in page
    assert "| P1 | - | [governor](governor.md) |\n| P2 | [governor](governor.md) | - |\n| info | [informs]" in page
    assert "| [governor](governor.md) | a user; another | yes | no | no |" in section(page, "Contested")
    assert "informs" not in section(page, "What a tune plans")


@pytest.mark.parametrize("path, text", [
    ("host.gpus[].bdf", "The address, as the kernel writes it"),
    ("host.gpus[].derived.compute", "Whether it is a card, not the display inside a processor"),
    ("host.ports[].acs.request_redirect", "in /sys/bus/pci/devices/*/config"),
    ("host.derived.boost_switches[].boosts", "those of policies that are off although the global one is on"),
    ('host.tunables."sysctl:vm.laptop_mode"', "that host_info was asked for by address: sysctl:vm.laptop_mode"),
])
def test_descriptions_of_facts(path, text):
    assert description(path).endswith(text)


def test_stale_pages_are_named_with_the_command_that_writes_them(tmp_path, monkeypatch):
    folder = tmp_path / "docs" / "checks"
    monkeypatch.setattr(program, "__file__", str(tmp_path / "tools" / "pages" / "__main__.py"))
    monkeypatch.setattr(program, "pages", lambda: {"one.md": "one\n", "two.md": "two\n"})
    monkeypatch.setattr(program, "reference_pages", lambda: {"parts.md": "parts\n"})
    assert program.main(["--check"]) == (
        "not as the catalogue and the documentation have it: docs/checks: one.md, two.md; docs/reference: parts.md; "
        "write them anew with: make check-pages")
    assert program.main([]) is None
    assert program.main(["--check"]) is None
    (folder / "one.md").write_text("by hand\n")
    (folder / "gone.md").write_text("of a check that is no more\n")
    assert program.main(["--check"]).startswith(
        "not as the catalogue and the documentation have it: docs/checks: gone.md, one.md; write")
    program.main([])
    assert sorted(path.name for path in folder.iterdir()) == ["one.md", "two.md"]
    assert (folder / "one.md").read_text() == "one\n"


def test_the_reference_says_of_a_variable_what_its_roles_say():
    known = reference.variables()
    assert known["gpuhost_force"]["roles"] == ["restore"]
    assert known["gpuhost_fail_on"]["roles"] == ["audit"]
    assert known["gpuhost_link_samples"]["default"] == 0
    assert known["gpuhost_serial"]["roles"] == ["playbook tune_runtime"]
    assert ("lookup", "hosts", "A pattern of hosts that is known to match some") in reference.parts()


def test_markup_of_documentation_becomes_markdown():
    assert reference.plain(["Writes C(audit.json),", "see O(report_dir)."]) == "Writes `audit.json`, see `report_dir`."


NAMED = {**INFORMS, "id": "named", "name": "Swappiness", "title": "Swap is left alone (vm.swappiness)",
         "problem": "vm.swappiness is {actual}", "effect": {"size": "small", "source": "published: two percent"},
         "source_links": ["https://example.org/one"]}


def test_a_check_with_a_name_says_its_sentences_and_its_effect(tmp_path, profiles):
    (tmp_path / "named.yml").write_text(yaml.safe_dump([NAMED]))
    page = check_page(load_file(tmp_path / "named.yml")[0], profiles)
    assert page.splitlines()[:5] == ["# Swappiness", "", "Where it fails: vm.swappiness is `<actual>`.", "",
                                     "Where it passes: Swap is left alone (vm.swappiness)."]
    assert "| expected effect | small: published: two percent |" in page
    assert section(page, "Sources").startswith("- [one](<https://example.org/one>)\n")


def test_a_file_and_symbol_is_no_link(tmp_path, profiles):
    (tmp_path / "named.yml").write_text(yaml.safe_dump([{**NAMED, "source_links": ["linux@v6.12:mm/vmscan.c:swappy"]}]))
    page = check_page(load_file(tmp_path / "named.yml")[0], profiles)
    assert section(page, "Sources").startswith("- one: `linux@v6.12:mm/vmscan.c:swappy`\n")
