# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.fleet import Fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.markdown import markdown
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.outliers import outliers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import Table, pack, to_script
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.page import page

from fleet_documents import HOSTILE, big_document, hostile_document
from fleet_rows import fleet_of

MADE = "2026-11-29T18:40:00Z"
MEGABYTE = 1000 * 1000


class Reader(html.parser.HTMLParser):
    """What a browser sees: elements in order, and the text of script and style elements."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.raw, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1] in ("script", "style") and self.cdata_elem:
            self.raw.append((self.elements[-1], data))


@pytest.fixture(scope="module")
def hostile():
    return page(pack(fleet_of([hostile_document(HOSTILE.replace("/", ""))]), MADE))


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_whatever_a_host_calls_itself_the_page_has_the_same_elements(hostile):
    plain = page(pack(fleet_of([big_document(1)]), MADE))
    assert Reader(hostile).elements == Reader(plain).elements
    assert Reader(plain).elements.count("script") == 2
    assert "<img" not in hostile


def test_the_data_comes_through_unchanged(hostile):
    # What is not seen is shown as an escape, as everywhere; nothing else is changed.
    shown = HOSTILE.replace("\x1b", r"\x1b").replace("\u2028", r"\u2028").replace("\u202e", r"\u202e")
    assert shown in embedded(hostile)["strings"]
    assert all(text.replace("\n", "").isprintable() for text in embedded(hostile)["strings"])


def test_in_the_data_is_no_character_that_html_or_old_javascript_acts_upon():
    text = to_script({"a": "</script><!--&\u2028\u2029\ud800"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()
    assert json.loads(text) == {"a": "</script><!--&\u2028\u2029\ud800"}


def test_the_policy_allows_this_script_and_this_style_alone(hostile):
    reader = Reader(hostile)
    policy = next(found["content"] for tag, found in reader.attributes
                  if found.get("http-equiv") == "Content-Security-Policy")
    raw = {}
    for tag, data in reader.raw:
        raw.setdefault(tag, []).append(data)
    script, style = raw["script"][-1], raw["style"][0]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == (f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
                      "base-uri 'none'; form-action 'none'")


def test_the_page_asks_no_network_and_parses_no_markup(hostile):
    reader = Reader(hostile)
    assert not {"src", "srcset", "style", "onclick", "onload"} & {
        name for _tag, found in reader.attributes for name in found}
    assert "link" not in reader.elements
    script = reader.raw[-1][1]
    # The name of a licence and of SVG's namespace; neither is fetched.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|"
                         r"XMLHttpRequest|import\(|https?://(?!www\.gnu\.org/licenses|www\.w3\.org/2000/svg)", script)


@pytest.mark.parametrize("hosts, megabytes", [(100, 1.5), pytest.param(1000, 10, marks=pytest.mark.soak)])
def test_the_page_stays_small(hosts, megabytes):
    text = page(pack(fleet_of(big_document(number) for number in range(hosts)), MADE))
    data = embedded(text)
    assert len(data["hosts"]) == hosts
    assert len(text) < megabytes * MEGABYTE
    assert len(markdown(fleet_of([big_document(number) for number in range(3)]), MADE)) < MEGABYTE


def test_what_many_share_is_there_once():
    one, two = (len(json.dumps(pack(fleet_of(hosts), MADE))) for hosts in (
        [big_document(0)], [big_document(0) | {"host": f"node{number}"} for number in range(10)]))
    assert two < one * 1.5
    table = Table()
    assert [table.number(text) for text in ("a", "b", "a")] == [0, 1, 0]
    assert table.values() == ["a", "b"]


def test_markdown_names_hosts_by_check_and_escapes_them():
    hosts = [big_document(number) for number in range(12)]
    hosts[3]["facts"]["kernel"]["release"]["value"] = "6.5.0"
    hosts[7]["facts"]["kernel"]["release"]["value"] = "6.8.12-9-pve"
    text = markdown(fleet_of([*hosts, hostile_document()]), MADE)
    assert text.startswith("# 13 GPU hosts\n\nMade 2026-11-29T18:40:00Z: 307 things to do (80 P0, ")
    assert "## P0\n\n| check | name | hosts | is | which |\n" in text
    assert "| `host_check_000` | Setting number 0 of the host has the value that suits its work | 2 of 13 | " in text
    assert "| `kernel` | `6.8.12-9-pve` (11 of 12) | node0003: `6.5.0` |" in text
    prose = re.sub(r"(`+).+?\1", "", text)
    assert "<script" not in prose.replace("\\<", "")
    assert "<!--" not in prose.replace("\\<", "")


def test_markdown_of_a_fleet_without_fault_is_short():
    fleet = Fleet({}, {}, outliers({}), {"pve1": "audit.json is not JSON"})
    assert markdown(fleet, MADE) == (
        "# 0 GPU hosts\n\nMade 2026-11-29T18:40:00Z: 0 things to do; 0 hosts with nothing to do.\n\n"
        "## Unusable records\n\n| host | why |\n| --- | --- |\n| pve1 | audit.json is not JSON |\n")


def test_the_history_says_what_its_numbers_count():
    """Audits of the release before are known by their findings alone; a verify counts nothing."""
    fleet = fleet_of([big_document(0)])
    failing = {"P0": 9, "P1": 0, "P2": 0, "info": 0}
    old = {"run_id": "old", "stage": "audit", "at": "", "profile": "", "failing": failing, "unknown": 0, "said": ""}
    new = old | {"run_id": "new", "things": failing | {"P0": 2}, "places": failing}
    verify = new | {"stage": "verify", "failing": {}, "things": {}, "places": {}}
    fleet.hosts["node0000"]["audits"] = [old, new, verify]
    packed = pack(fleet, MADE)
    audits = packed["hosts"][0][11]
    assert [(packed["strings"][audit[5]], audit[6]) for audit in audits] == [("findings", 9), ("things", 2), ("", 0)]
