# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.bracketed import choices, chosen


@pytest.mark.parametrize(("text", "word"), [
    ("always [madvise] never", "madvise"),
    ("[always] madvise never\n", "always"),
    ("always defer [defer+madvise] madvise never", "defer+madvise"),
    ("[none] integrity confidentiality", "none"),
    ("madvise\n", "madvise"),
    ("always within_size advise [never] deny force", "never"),
])
def test_the_word_in_brackets(text, word):
    assert chosen(text) == word


@pytest.mark.parametrize("text", ["", "always madvise never", "[always] [madvise]", "always [madvise never"])
def test_no_single_choice_is_an_error(text):
    with pytest.raises(ValueError):
        chosen(text)


def test_all_words_in_order():
    assert choices("always defer [defer+madvise] madvise never") == [
        "always", "defer", "defer+madvise", "madvise", "never"]
