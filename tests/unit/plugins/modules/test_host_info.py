# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import zlib

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take_packed
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import clean_all

from hosts.story_before import story_before


@pytest.fixture
def root(tree):
    # A name in no encoding, quotes and a line separator: what a text in a text could lose.
    story_before(tree).file("/sys/class/dmi/id/product_name", "H14DSG \"O\" \\ \u2028 \u00e4\n")
    return str(tree.root)


def test_packed_facts_are_the_same_facts(call, root):
    data = call("host_info", {"sysroot": root, "tunables": ["sysctl:vm.laptop_mode"]})
    text = call("host_info", {"sysroot": root, "tunables": ["sysctl:vm.laptop_mode"], "packed": True})
    assert "facts_packed" not in data
    assert "facts" not in text
    assert len(text["facts_packed"]) * 5 < len(json.dumps(data["facts"]))
    facts = take_packed(text["facts_packed"])
    for one in (facts, data["facts"]):
        del one["collected_at"]
    assert facts == clean_all(data["facts"])
    assert "\\u2028" in json.dumps(facts, ensure_ascii=False)


@pytest.mark.parametrize(("packed", "message"), [
    ("no base64", "cannot be unpacked: "),
    (base64.b64encode(b"no zlib").decode(), "incorrect header"),
    (base64.b64encode(zlib.compress(b'{"a": 1}')[:-6]).decode(), "are truncated"),
    (base64.b64encode(zlib.compress(b"[" * (65 << 20))).decode(), "more than 67108864 bytes"),
    (base64.b64encode(zlib.compress(b"not JSON")).decode(), "Expecting value"),
])
def test_what_no_host_info_wrote_is_not_taken_for_facts(packed, message):
    with pytest.raises(ValueError, match=message):
        take_packed(packed)
