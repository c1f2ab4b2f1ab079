# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from hosts.story_before import story_before


@pytest.fixture
def root(tree):
    # A name in no encoding, quotes and a line separator: what a text in a text could lose.
    story_before(tree).file("/sys/class/dmi/id/product_name", "H14DSG \"O\" \\ \u2028 \u00e4\n")
    return str(tree.root)


def test_the_facts_as_a_text_are_the_same_facts(call, root):
    data = call("host_info", {"sysroot": root, "tunables": ["sysctl:vm.laptop_mode"]})
    text = call("host_info", {"sysroot": root, "tunables": ["sysctl:vm.laptop_mode"], "as_text": True})
    assert "facts_text" not in data
    assert "facts" not in text
    facts = json.loads(text["facts_text"])
    for one in (facts, data["facts"]):
        del one["collected_at"]
    assert facts == data["facts"]
    assert "\u2028" in json.dumps(facts, ensure_ascii=False)
