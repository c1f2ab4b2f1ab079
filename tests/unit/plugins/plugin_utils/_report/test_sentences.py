# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of findings, in a terminal, in Markdown, for a CI server and on the page."""
from __future__ import annotations

from xml.etree import ElementTree

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import about_checks, entries
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import Groups
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.junit import junit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.sentences import (
    effect_of,
    name_of,
    sentence,
    sentences,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.terminal import full_report, short_line

from audit_document import GPUS, document, finding


def named(check, verdict, name, problem=None, size="some", **more):
    made = finding(check, verdict, **more)
    made["name"] = name
    if verdict == "fail":
        made.update(problem=problem, effect={"size": size, "source": "published: by hand"},
                    source_links=["https://example.org/vm"])
    return made


WATCHDOG = named("nmi_watchdog", "fail", "NMI watchdog", "kernel.nmi_watchdog is 1: no effect", priority="P1",
                 reason="the detector is on")


@pytest.mark.parametrize("made, name, text", [
    (WATCHDOG, "NMI watchdog", "kernel.nmi_watchdog is 1: no effect"),
    # A record of before has neither a name nor a problem, and a user's check need not have them.
    (finding("old", "fail", title="It is so", reason="it is not"), "It is so", "it is not"),
    (finding("old", "fail", title="It is so"), "It is so", ""),
    (named("x", "pass", "X", title="X is on (x)", reason="since boot"), "X", "X is on (x): since boot"),
    (named("x", "pass", "X", title="X is on (x)"), "X", "X is on (x)"),
    (finding("old", "pass", title="It is so", reason="it is 4"), "It is so", "it is 4"),
    (named("x", "unknown", "X", reason="it needs root"), "X", "it needs root"),
])
def test_the_name_and_the_sentence_of_a_finding(made, name, text):
    assert (name_of(made), sentence(made)) == (name, text)


def gpu_with(width, address):
    return named("pcie_link_width", "fail", "Link width", f"x{width} of x16", priority="P0", subject=address)


def test_places_that_say_the_same_are_one_sentence():
    assert sentences([gpu_with(8, address) for address in GPUS]) == ["x8 of x16"]


def test_places_that_differ_are_counted():
    widths = (8, 8, 8, 4, 4, 2, 1)
    assert sentences([gpu_with(width, address) for width, address in zip(widths, GPUS)]) == [
        "x8 of x16 (3 places)", "x4 of x16 (2 places)", "x2 of x16 (1 place)", "Similar in 1 place more."]


def test_the_effect_names_its_source():
    assert effect_of(WATCHDOG) == "some (published: by hand)"
    assert effect_of(finding("old", "fail")) == ""


# -- the same words everywhere -----------------------------------------------------------------------------------

def test_all_outputs_have_the_name_and_the_problem():
    made = document([WATCHDOG])
    row = entries(Groups(made["findings"]))[0]
    failure = ElementTree.fromstring(junit(made, "20261129T183000Z-4f2a").encode()).find(".//failure")
    assert about_checks(made)["nmi_watchdog"]["title"] == "NMI watchdog"
    assert row.reason == "kernel.nmi_watchdog is 1: no effect"
    assert failure.get("message").startswith("NMI watchdog (1 thing in 1 place): ")
    assert failure.text.startswith("kernel.nmi_watchdog is 1: no effect. ")
    for text in (full_report(made, {}), markdown_report(made).replace("\\", "")):
        assert "P1    NMI watchdog\n" in text or "### P1 NMI watchdog\n" in text
        assert "kernel.nmi_watchdog is 1: no effect" in text
        assert "the detector is on" not in text


def test_a_link_that_could_end_itself_is_text():
    made = {**WATCHDOG, "source_links": ["https://example.org/>[x](y"]}
    text = markdown_report(document([made]))
    assert "](<https" not in text and "`https://example.org/>[x](y`" in text
    assert "](<https://example.org/vm>)" in markdown_report(document([WATCHDOG]))


# -- what comes first --------------------------------------------------------------------------------------------

def three_and_more():
    return [named(check, "fail", check.upper(), f"{check} is wrong", priority=priority, fix_class="manual",
                  how=f"mend {check}") for check, priority in
            (("a", "P1"), ("b", "P1"), ("c", "P2"), ("d", "P2"), ("e", "info"))]


def test_a_terminal_says_first_what_why_how_and_at_which_risk():
    text = full_report(document(three_and_more()), {})
    first, rest = text.split("\nFirst:\n")[1].split("\nThen:\n")
    assert first.splitlines()[:6] == [
        "P1    A", "      a is wrong", "      a: - [manual]", "      do: mend a", "      risk: none known",
        "      expected effect: some (published: by hand)"]
    assert [line for line in first.splitlines() if line[:1] == "P"] == ["P1    A", "P1    B", "P2    C"]
    assert [line for line in rest.splitlines() if line[:2] in ("P2", "in")] == ["P2    D", "info  E"]


def test_what_is_forbidden_now_is_not_said_as_a_thing_to_do():
    made = three_and_more()[:1]
    made[0]["fix"] |= {"forbidden": "the cluster has no quorum", "commands": ["qm set 1"]}
    text = full_report(document(made), {})
    assert "not now: the cluster has no quorum" in text and "mend a" not in text and "qm set" not in text


def test_a_host_with_cosmetics_alone_has_nothing_to_begin_with():
    made = document(three_and_more()[4:])
    assert "Nothing above info: the items are cosmetic or informational." in full_report(made, {})
    assert "Nothing above info: the items are cosmetic or informational." in markdown_report(made)
    assert "first:" not in short_line(made)
    assert short_line(document(three_and_more())).endswith("first: a, b, c")


def test_the_name_of_a_setting_is_found_in_the_file():
    text = markdown_report(document([WATCHDOG, named("x", "pass", "X", title="X is off (vm.max_map_count)")]))
    assert "kernel.nmi_watchdog is 1: no effect" in text
    assert "X is off (vm.max_map_count)" in text


def test_what_markdown_would_act_upon_is_escaped_all_the_same():
    text = markdown_report(document([{**WATCHDOG, "problem": "_x_ <b> [a](b) a_b"}]))
    assert "\\_x\\_ \\<b\\> \\[a\\](b) a_b" in text


def test_words_that_differ_from_place_to_place_are_read_once():
    made = [named("lxc_gpu_access", "fail", "Access", "it may not", priority="P0", subject=f"lxc:{number}",
                  fix_class="manual", how=f"pct set {number}") for number in (101, 102, 103)]
    text = full_report(document(made), {})
    assert "      do: pct set 101 (for 2 other places see the report)\n" in text
    assert "pct set 102" not in text
    assert "pct set 103" in markdown_report(document(made))


def test_a_terminal_shows_a_dozen_commands():
    made = named("x", "fail", "X", "x is wrong", priority="P1")
    made["fix"] |= {"commands": [f"{word} --fix" for word in "abcdefghijklmno"]}
    text = full_report(document([made]), {})
    assert "      l --fix\n" in text and "m --fix" not in text and "and 3 more lines: see the report" in text
