# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section Placement of a report, its line in a terminal, and the drawing."""
from __future__ import annotations

import copy
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement import report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.picture import placement_drawing
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError, write_json
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.svg import svg_file
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

from fleet_documents import HOSTILE
from placed_guests import FIRST, SECOND, host, lxc, ten_guests, vm

RIGHT = (lxc(101, None, 64, FIRST, gpus=(0, 1, 2, 3)), lxc(102, None, 64, SECOND, gpus=(4, 5, 6, 7)))
RULE = "{http://www.w3.org/2000/svg}"


def made_of(facts):
    return placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})


def test_commands_can_be_pasted_from_the_report():
    facts = ten_guests()
    lines = evidence.markdown([report.section(made_of(facts), facts)])
    at = lines.index("```sh")
    assert lines[at - 2:at + 2] == ["Do:", "", "```sh",
                                    "qm set 200 --affinity 0-31,128-159 --numa 1 "
                                    "--numa0 cpus=0-31,hostnodes=0,memory=262144,policy=bind"]
    assert [line for line in lines if line.startswith("qm set") and "--revert" not in line and "after it" not in line
            ] == lines[at + 1:at + 6]
    assert "In /etc/pve/lxc/101.conf:" in lines and "lxc.cgroup2.cpuset.cpus: 112-119,240-247" in lines
    assert "| mean NUMA distance of CPUs and memory | 17.68 | 10 | 10: the same node |" in lines
    assert "![Placement of guests on pve1](placement.svg)" in lines


def test_a_terminal_has_a_line_where_there_is_something_to_do():
    assert report.summary(made_of(ten_guests())).startswith(
        "Placement: a better one for 7 of 9 guests is in the report (vCPUs that share cores ")
    assert report.summary(made_of(host(*RIGHT))) is None


def test_guests_that_are_right_are_shown_without_commands():
    facts = host(*RIGHT)
    section = report.section(made_of(facts), facts)
    assert section.notes == ["No other placement of these guests is better by the measure."]
    assert section.blocks == () and [table.caption for table in section.tables] == ["Guests"]


def test_the_record_in_the_folder_is_what_is_shown(tmp_path):
    facts = ten_guests()
    assert report.read(tmp_path, facts) is None
    write_json(tmp_path / "placement.json", made_of(host()))
    assert report.read(tmp_path, facts) is None         # no guests
    write_json(tmp_path / "placement.json", made_of(facts))
    assert report.read(tmp_path, facts) == report.section(made_of(facts), facts)
    write_json(tmp_path / "placement.json", {"schema": "gpuhost.placement/0"})
    with pytest.raises(RecordError, match=r"gpuhost\.placement/0"):
        report.read(tmp_path, facts)


def texts(drawing):
    return [shape.words for shape in drawing.shapes if shape.name == "text"]


def bars(drawing, look):
    return [shape for shape in drawing.shapes if shape.name == "rect" and shape.look == look]


def test_the_drawing_has_today_left_and_the_proposal_right():
    facts = ten_guests()
    drawing = placement_drawing(made_of(facts), facts)
    shown = texts(drawing)
    assert shown.count("today") == shown.count("as proposed") == 2
    assert {"socket 0", "socket 1", "switch 0000:01:00.0", "0000:a4:00.0", "vm:204", "384 GiB"} <= set(shown)
    # 201 runs far from its GPU on eight caches of node 1; 101 has seven cores of node 0, two of which lie side by side.
    middle = 218 + 340
    red = bars(drawing, "mark-bad")
    assert len(red) == 8 + 7 and all(float(one.attributes["x"]) < middle for one in red)


def test_without_a_proposal_there_is_one_half():
    facts = host(*RIGHT)
    drawing = placement_drawing(made_of(facts), facts)
    assert "as proposed" not in texts(drawing) and texts(drawing).count("today") == 2
    assert not bars(drawing, "mark-bad")


def test_hundreds_of_guests_end_in_a_line():
    facts = host(*(vm(300 + number, 2, 2) for number in range(200)))
    assert texts(placement_drawing(made_of(facts), facts)).count("and 176 more guests") == 2


def test_hostile_names_stay_text():
    facts = copy.deepcopy(ten_guests())
    for guest in facts["placement"]["guests"]["value"]:
        guest["name"] = HOSTILE
    facts["network"]["interfaces"][0]["name"] = HOSTILE
    made = made_of(facts)
    root = ET.fromstring(svg_file(placement_drawing(made, facts)))
    assert {element.tag for element in root.iter()} == {
        RULE + name for name in ("svg", "title", "desc", "style", "rect", "text")}
    assert "<script>" not in "\n".join(evidence.markdown([report.section(made, facts)]))
