# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render import text


def test_control_characters_cannot_move_the_cursor():
    assert text.clean("pve1\x1b[2J\x07") == r"pve1\x1b[2J\x07"


@pytest.mark.parametrize(("given", "shown"), [
    ("\u202egnp.exe", r"\u202egnp.exe"),             # a mark of direction
    ("a\u200bb\ufeffc\u00ad", r"a\u200bb\ufeffc\xad"),      # blanks of no width, a hyphen that is not there
    ("\x9b31mred\x7f", r"\x9b31mred\x7f"),         # C1 and DEL
    ("a\u2028b\u2029", r"a\u2028b\u2029"),         # ends of lines and paragraphs
    ("\udcff\ud800", r"\udcff\ud800"),             # halves of pairs, which no encoding can hold
    ("\U000e0041", r"\U000e0041"),                 # a tag
    ("two\nlines\tand a tab", "two\nlines and a tab"),
    ("ünïcödé 日本 \U0001f600", "ünïcödé 日本 \U0001f600"),
])
def test_what_is_not_seen_is_shown_as_an_escape(given, shown):
    assert text.clean(given) == shown


@pytest.mark.parametrize("given, shown", [
    (None, "-"), ("", "-"), ([], "none"), (True, "yes"), (512, "512"), (2.5, "2.5"),
    ("4096\t131072\t6291456", "4096 131072 6291456"),
    ([10, 32], "10, 32"), ({"at_least": 16777216}, "at least 16777216"), ({"set": 512, "only_from": 4096}, "512"),
    ({"one_of": ["madvise", "always"]}, "one of madvise, always"), ({"empty": True}, "none"),
    ({"at_most": 10}, "at most 10"),
    ({"b": 1, "a": 2}, '{"a": 2, "b": 1}'),
])
def test_values_as_people_write_them(given, shown):
    assert text.show(given) == shown


@pytest.mark.parametrize("given, shown", [
    ("<script>alert(1)</script>", r"\<script\>alert(1)\</script\>"),
    ("a|b", r"a\|b"), ("line\nline", "line line"), ("# title", r"\# title"), ("a & b", "a &amp; b"),
])
def test_markdown_and_html_are_escaped(given, shown):
    assert text.escape(given) == shown


@pytest.mark.parametrize("given, shown", [
    ("plain", "`plain`"), ("a`b", "``a`b``"), ("`x`", "`` `x` ``"), ("a|b", "`a\\|b`")])
def test_code_survives_back_ticks_and_pipes(given, shown):
    assert text.code(given) == shown


@pytest.mark.parametrize("size, shown", [(512, "512 bytes"), (97887 << 20, "96 GiB"), (540 << 30, "540 GiB")])
def test_sizes(size, shown):
    assert text.binary_size(size) == shown


def test_counts():
    assert text.count(1, "GPU") == "1 GPU"
    assert text.count(8, "GPU") == "8 GPUs"
    assert text.count(2, "policy", "policies") == "2 policies"
