# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import (
    BadExpression,
    BadValue,
    Unreadable,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.template import compile_template, render

SCOPE = {
    "host": {"swap": ["zram0", "sda2"], "cores": 64, "speed": 2.5, "on": True, "none": None,
             "boot": {"status": "denied", "value": None}, "limit": {"at_least": 4096}},
    "it": {"bdf": "0000:41:00.0", "policy": "policy7"},
}


@pytest.mark.parametrize("text, rendered", [
    ("plain", "plain"),
    ("", ""),
    ("pcie_maxreadreq:{it.bdf}", "pcie_maxreadreq:0000:41:00.0"),
    ("/sys/{it.policy}/max_{host.cores}", "/sys/policy7/max_64"),
    ("{{literal}} {it.policy}", "{literal} policy7"),
    ("{{{it.policy}}}", "{policy7}"),
    ("{ {a: host.cores}.a }", "64"),
    ("{join('}', host.swap)}", "zram0}sda2"),
    ("{'it\\'s'}", "it's"),
])
def test_render(text, rendered):
    assert render(text, SCOPE) == rendered


@pytest.mark.parametrize("text, message", [
    ("a } alone", "unmatched }: write }} for a literal brace"),
    ("{{a: host.cores}.a}", "unmatched }: write }} for a literal brace"),
    ("{it.bdf", "unclosed {: write {{ for a literal brace"),
    ("{'}", "unclosed {: write {{ for a literal brace"),
    ("{it bdf}", 'not a jmespath expression: Unexpected token: bdf: Parse error at column 3, token "bdf" '
                 "(UNQUOTED_IDENTIFIER)"),
    ("{}", "not a jmespath expression: Invalid JMESPath expression: cannot be empty."),
])
def test_stray_braces_and_bad_expressions(text, message):
    with pytest.raises(BadExpression) as caught:
        compile_template(text, "check x: why")
    assert caught.value.message == message
    assert str(caught.value).startswith("check x: why: ")


@pytest.mark.parametrize("text, message", [
    ("{host.swap}", "the text needs a string or a whole number here, not an array"),
    ("{host.on}", "the text needs a string or a whole number here, not a boolean"),
    ("{host.none}", "the text needs a string or a whole number here, not null"),
    ("{host.speed}", "the text needs a string or a whole number here, not a number"),
])
def test_an_address_takes_no_other_types(text, message):
    with pytest.raises(BadValue) as caught:
        render(text, SCOPE)
    assert caught.value.message == message


def test_an_address_that_cannot_be_read_is_an_error():
    with pytest.raises(Unreadable, match=r"the boot configuration .* could not be read: it needs root"):
        render("{host.boot}", SCOPE)


@pytest.mark.parametrize("text, shown", [
    ("swap on {host.swap}", "swap on zram0, sda2"),
    ("{host.speed} GT/s on {host.cores} cores, {host.on}", "2.5 GT/s on 64 cores, yes"),
    ("driver {host.none}", "driver -"),
    ("wanted {host.limit}", "wanted at least 4096"),
    ("booted with {host.boot}",
     "booted with (the boot configuration (/etc/default/grub, /etc/kernel) could not be read: it needs root)"),
    ("on {it.node}", "on (there is no 'node')"),
    ("{host.none > `1`} of them", "(not known) of them"),
])
def test_a_text_for_people_is_always_a_text(text, shown):
    assert compile_template(text).show(SCOPE) == shown


def test_roots_tell_what_a_text_depends_on():
    assert compile_template("plain {{it}}").roots == frozenset()
    assert compile_template("{it.bdf} of {host.cores}, {actual}").roots == {"it", "host", "actual"}
