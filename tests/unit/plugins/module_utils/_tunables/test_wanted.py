# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables.wanted import Wanted, parse_wanted, scalar


@pytest.mark.parametrize(("value", "text"), [
    (10, "10"), ("10", "10"), (0, "0"), (-1, "-1"), ("4096\t131072\t6291456", "4096\t131072\t6291456"),
    ("defer+madvise", "defer+madvise"), ("fq\n", "fq")])
def test_a_value_is_the_text_the_kernel_gets(value, text):
    assert scalar(value) == text


@pytest.mark.parametrize(("value", "message"), [
    (True, "true is a boolean: quote it"), (False, "false is a boolean"), (None, "None is neither"),
    (0.5, "0.5 is neither"), ([1], "[1] is neither"), ("", "empty"), ("  ", "empty"), ("1\n2", "line end"),
    ("1\x00", "control character"), ("a\rb", "control character")])
def test_what_yaml_made_of_it_is_rejected_in_words(value, message):
    with pytest.raises(ValueError, match=r".") as caught:
        scalar(value)
    assert message in str(caught.value)


def test_guards():
    spec = {"set": 512, "only_from": 4096, "identity": "10de:2bb5", "restores": True}
    assert parse_wanted(spec, int) == Wanted(512, False, 4096, "10de:2bb5", True)


def test_a_value_alone_has_no_guards():
    assert parse_wanted("60", scalar) == Wanted("60", False, None, None, False)


def test_at_least_is_a_number_and_stands_alone():
    assert parse_wanted({"at_least": "16777216"}, scalar, numbers=True) == Wanted(16777216, at_least=True)
    for spec, message in (({"at_least": "4k"}, "not a decimal number"), ({"at_least": True}, "boolean"),
                          ({"at_least": 1, "only_from": 2}, "cannot be combined")):
        with pytest.raises(ValueError, match=message):
            parse_wanted(spec, scalar, numbers=True)


def test_at_least_is_for_kinds_that_count():
    with pytest.raises(ValueError, match="at_least is for sysctls"):
        parse_wanted({"at_least": 4096}, scalar)


@pytest.mark.parametrize(("spec", "message"), [
    ({"sett": 1}, "unknown: sett"), ({"only_from": 1}, "neither a value"), ({}, "neither a value"),
    ({"set": True}, "boolean"), ({"set": 1, "only_from": False}, "boolean"), ({"set": 1, "identity": 5}, "not text"),
    ({"set": 1, "restores": "yes"}, "neither true nor false")])
def test_a_misspelt_guard_is_named(spec, message):
    with pytest.raises(ValueError, match=message):
        parse_wanted(spec, scalar)
