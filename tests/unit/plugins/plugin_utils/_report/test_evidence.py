# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured is a section of the report and of the page, whatever is in its texts."""
from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit import outputs
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet import fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import pack
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render import svg
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.section import Block, Section, Table
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report

from audit_document import document
from fleet_documents import HOSTILE

DRAWING = svg.Drawing("A plot", "two cells", 20, 10, [svg.rect(0, 0, 10, 10, "heat1"), svg.text(1, 2, "9 | 8")])
SECTION = Section("Speed", ["measured on <b>Monday</b>"], [Table("By GPU", ["GPU", "GB/s"], [["0000:01:00.0", "5|6"]])],
                  {"speed.svg": DRAWING}, (Block("Do", "sh", ["echo '<b>' | cat"]),))
MARKDOWN = """\
## Speed

- measured on \\<b\\>Monday\\</b\\>

![A plot](speed.svg)

By GPU:

| GPU | GB/s |
| --- | --- |
| 0000:01:00.0 | 5\\|6 |

Do:

```sh
echo '<b>' | cat
```
"""


@pytest.fixture
def reader(monkeypatch):
    """Makes the given thing what the only reader answers with; an error is raised."""
    def reader(answer):
        def read(_folder, _facts):
            if isinstance(answer, Exception):
                raise answer
            return answer
        monkeypatch.setattr(evidence, "READERS", {"Speed": read})
    return reader


def test_a_section_is_in_the_report_before_what_could_not_be_judged():
    text = markdown_report(document([]), None, [SECTION])
    assert MARKDOWN in text
    assert text.index("## Speed") < text.index("## 8 GPUs")


def test_a_drawing_is_a_file_beside_the_report(tmp_path):
    evidence.write_drawings(tmp_path, [SECTION])
    assert ElementTree.parse(tmp_path / "speed.svg").getroot()[-1].text == "9 | 8"


def test_nothing_measured_is_no_section(tmp_path, reader):
    reader(None)
    assert evidence.sections(tmp_path, {}) == []
    assert evidence.markdown([]) == []


@pytest.mark.parametrize("problem, message", [
    (host_folder.RecordError("bandwidth.json is not JSON"), "bandwidth.json is not JSON"),
    (KeyError("gpus"), "the record in {} was not written by this collection (KeyError: 'gpus'): measure again")])
def test_a_broken_record_is_said_and_stops_nothing(tmp_path, reader, problem, message):
    reader(problem)
    assert evidence.sections(tmp_path, {}) == [Section("Speed", [message.format(tmp_path)], [], {})]


def test_the_page_has_it_with_the_row_of_the_host_and_without(tmp_path, reader):
    reader(SECTION)
    folder = host_folder.HostFolder(str(tmp_path), "pve1")
    made = document([], host="pve1")
    host_folder.write_audit(folder.path / "audit.json", made)
    outputs.write_for_machines(folder, made, "20261129T183000Z-4f2a", "audit", [SECTION])
    wanted = [{"heading": "Speed", "notes": ["measured on <b>Monday</b>"], "tables": [
        {"caption": "By GPU", "head": ["GPU", "GB/s"], "rows": [["0000:01:00.0", "5|6"]]}], "drawings": [
        {"title": "A plot", "description": "two cells", "width": "20", "height": "10", "shapes": [
            ["rect", "heat1", "", "x", "0", "y", "0", "width", "10", "height", "10"],
            ["text", "", "9 | 8", "x", "1", "y", "2", "text-anchor", "start"]]}],
        "blocks": [["Do", "echo '<b>' | cat"]]}]
    assert fleet.collect(str(tmp_path)).hosts["pve1"]["evidence"] == wanted
    (folder.path / "fleet.json").unlink()
    assert fleet.collect(str(tmp_path)).hosts["pve1"]["evidence"] == wanted


def test_hosts_share_the_shapes_that_are_the_same(tmp_path, reader):
    reader(SECTION)
    for name in ("pve1", "pve2"):
        host_folder.write_audit(tmp_path / name / "audit.json", document([], host=name))
    packed = pack(fleet.collect(str(tmp_path)), "now")
    first, second = (host[-1] for host in packed["hosts"])
    assert first == second
    heading, notes, tables, drawings, blocks = first[0]
    assert (heading, notes) == ("Speed", ["measured on <b>Monday</b>"])
    assert blocks == [["Do", "echo '<b>' | cat"]]
    text_of = packed["strings"].__getitem__
    assert [text_of(number) for number in packed["rows"][tables[0][2][0]]] == ["0000:01:00.0", "5|6"]
    assert drawings[0][:4] == ["A plot", "two cells", "20", "10"]
    assert [text_of(packed["rows"][shape][0]) for shape in drawings[0][4]] == ["rect", "text"]


def test_hostile_texts_are_escaped():
    hostile = Section(HOSTILE, [HOSTILE], [Table(HOSTILE, [HOSTILE], [[HOSTILE]])],
                      {"x.svg": svg.Drawing(HOSTILE, HOSTILE, 1, 1, [])})
    text = "\n".join(evidence.markdown([hostile]))
    assert not {"\x1b", "\u2028"} & set(text)
    assert text.count("\\</script\\>\\<script\\>") == text.count("window.hacked=1\\</script") == 6
    shown = json.dumps(evidence.for_page([hostile]), ensure_ascii=False)
    assert not {"\x1b", "\u2028"} & set(shown)
