# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each shipped check is called, what it says where it fails, what it is worth, and where its sources are."""
from __future__ import annotations

import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import build
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge

import tiny_catalogue as tiny

CHECKS = {check.id: check for check in shipped()}
# https, or project, version, file and symbol.
LINK = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}/[^\s<>\"]+|[\w.-]+@[\w.-]+:[\w./+-]+:\w+")
NO_EFFECT = re.compile(r"no measurable effect|no effect on (?:serving|inference|speed)|too small to measure|"
                       r"effect on tokens a second is normally|without any effect|"
                       r"made no difference|no difference")


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_check_has_all_that_a_report_says(check):
    assert check.name and len(check.name) <= 60 and not check.name.endswith(".")
    assert check.problem and len(check.problem.text.split()) > 8 and not check.problem.text.endswith(".")
    assert check.effect.source and len(check.effect.source.split()) > 2
    assert (check.effect.size == "unknown") == (not re.match("published: |follows from", check.effect.source)) or (
        check.effect.source.startswith("published: "))


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_source_can_be_opened(check):
    assert len(check.source_links) == len(check.sources)
    assert [link for link in check.source_links if not LINK.fullmatch(link)] == []


def test_names_are_unique():
    names = [check.name.lower() for check in CHECKS.values()]
    assert sorted(set(names)) == sorted(names)


def setting(address: str) -> str:
    """What people search for of a tunable: the key of a sysctl, the last part of a path, the register, the module."""
    kind, _colon, name = address.partition(":")
    if kind == "pcie_maxreadreq":
        return "MaxReadReq"
    return name.rpartition("/")[2] if kind == "sysfs" else name


@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check.fix.kind == "runtime"])
def test_both_sentences_name_the_setting(name):
    check = CHECKS[name]
    wanted = setting(check.fix.tunable.text)
    if "{" in wanted:        # cpu_boost: one of two files, by the driver
        wanted = "it.file"
    assert wanted in check.problem.text
    assert ("boost, no_turbo" if wanted == "it.file" else wanted) in check.title.text


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_what_has_no_effect_is_for_information(check):
    """Also where a check only says so in its own words."""
    says_so = NO_EFFECT.search(f"{check.why.text} {check.problem.text} {check.title.text}")
    if check.effect.size == "none" or says_so:
        assert (check.priority, list(check.escalations)) == ("info", [])


# -- checks of users ---------------------------------------------------------------------------------------------

def test_a_check_of_before_is_shown_by_its_title():
    finding = judge(tiny.host(), [build({**tiny.MUST, "id": "own", "actual": "host.guests"}, "own.yml")], tiny.PLAIN)[0]
    assert (finding["verdict"], finding["name"], finding["title"]) == ("fail", "It is so", "It is so")
    assert (finding["problem"], finding["effect"], finding["source_links"]) == (
        None, {"size": "unknown", "source": None}, [])


OWN = {**tiny.MUST, "id": "own", "actual": "host.guests", "name": "Guests",
       "problem": "{actual} guests, {recommended} is wanted",
       "effect": {"size": "small", "source": "measured by ourselves"}, "source_links": ["linux@v6.12:mm/ksm.c:ksmd"]}


def test_a_check_may_say_all_of_it():
    finding = judge(tiny.host(), [build(OWN, "own.yml")], tiny.PLAIN)[0]
    assert finding["name"] == "Guests"
    assert finding["problem"] == "0 guests, 1 is wanted"
    assert finding["effect"] == {"size": "small", "source": "measured by ourselves"}
    assert finding["source_links"] == ["linux@v6.12:mm/ksm.c:ksmd"]


def test_what_passes_has_a_name_and_no_problem():
    own = {**OWN, "expect": {"op": "equals", "value": 0, "type": "int"}}
    finding = judge(tiny.host(), [build(own, "own.yml")], tiny.PLAIN)[0]
    assert (finding["verdict"], finding["name"]) == ("pass", "Guests")
    assert not {"problem", "effect", "source_links"} & set(finding)


# -- their order -------------------------------------------------------------------------------------------------

def own(name, size, fix_class="manual", **more):
    return build({**tiny.MUST, "id": name, "actual": "host.guests", "effect": {"size": size, "source": "s"},
                  "fix": {"class": fix_class, "how": "h"}, **more}, "own.yml")


def test_within_a_priority_effect_comes_before_effort():
    checks = [own("a", "none"), own("b", "unknown"), own("c", "small"), own("d", "some", "reboot"),
              own("e", "some", "manual"), own("f", "large", "firmware"), own("g", "none", priority="P1")]
    assert [finding["check"] for finding in judge(tiny.host(), checks, tiny.PLAIN)] == list("gfedcba")


def test_what_is_so_everywhere_comes_before_what_is_so_in_a_part():
    of_gpus = {"each": "host.gpus", "subject": "it.bdf", "otherwise": "none"}
    checks = [own("part", "some", **of_gpus, actual="it.pcie.width", expect={"op": "at_least", "value": 16,
                                                                             "type": "int"}),
              own("host", "some"), own("all", "some", **of_gpus)]
    host = tiny.host()
    host["gpus"] = [tiny.gpu(1), {**tiny.gpu(2), "pcie": tiny.ok({"width": 8, "read_request": 512})}]
    failing = [finding["check"] for finding in judge(host, checks, tiny.PLAIN) if finding["verdict"] == "fail"]
    assert failing == ["host", "all", "all", "part"]
