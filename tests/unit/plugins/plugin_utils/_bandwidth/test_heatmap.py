# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heat map: a cell where it belongs, with its figure and its look."""
from __future__ import annotations

from xml.etree import ElementTree

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.heatmap import bandwidth_drawing
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.svg import svg_file

from bandwidth_document import LATER, gpu_answer, pair_answer, record

ONE, TWO, THREE = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"


def boxes(drawing):
    """`[(look, words)]` of the cells in the order drawn, row by row."""
    found = []
    for shape, after in zip(drawing.shapes, drawing.shapes[1:]):
        if shape.name == "rect":
            middle = float(shape.attributes["x"]) + float(shape.attributes["width"]) / 2
            within = after.name == "text" and float(after.attributes["x"]) == middle
            found.append((shape.look, after.words if within else ""))
    return found


def headings(drawing):
    return [shape.words for shape in drawing.shapes if shape.look == "heading"]


def test_two_gpus_and_their_host():
    pairs = [pair_answer(ONE, TWO, write=40.0, read=49.9), pair_answer(TWO, ONE, write=48.0)]
    drawing = bandwidth_drawing([record([gpu_answer(ONE, h2d=10.0, d2h=20.0), gpu_answer(TWO, h2d=30.0, d2h=50.0)],
                                        pairs, expected=None)])
    assert headings(drawing) == ["Copies and writes, 2026-11-29T18:31:00Z, host", "Reads, 2026-11-29T18:31:00Z, host"]
    # Five steps up to the fastest, 50: below 10, 20, 30, 40, and the rest.
    assert boxes(drawing) == [
        ("none", ""), ("heat2", "10.0"), ("heat4", "30.0"),
        ("heat3", "20.0"), ("none", ""), ("heat5", "40.0"),
        ("heat5", "50.0"), ("heat5", "48.0"), ("none", ""),
        ("none", ""), ("heat5", "49.9"),
        ("heat5", "48.7"), ("none", "")]
    labels = [shape.words for shape in drawing.shapes if shape.look == "label"]
    assert labels[:6] == ["", "host", "0000:", "01:00.0", "0000:", "02:00.0"]
    assert drawing.description == ("copies to and from the host from 10.0 to 50.0 GB/s; transfers between GPUs from "
                                   "40.0 to 49.9 GB/s. All values are in the tables.")


def test_what_is_not_sound_has_a_frame_and_a_sign_beside_its_colour():
    made = record([gpu_answer(ONE, "slow", h2d=11.0), gpu_answer(TWO, "hang", h2d=None, d2h=None), THREE], [
        pair_answer(ONE, THREE, "wrong_data"), pair_answer(ONE, TWO, "wrong_data", write=None, read=None),
        pair_answer(TWO, ONE, "unsupported", write=None, read=None)])
    cells = boxes(bandwidth_drawing([made]))[:16]
    assert cells[1] == ("bad", "11.0")              # slow from the host, not to it
    assert cells[4] == ("heat5", "52.9")
    assert cells[2] == cells[8] == ("bad", "hang")
    assert cells[6] == ("bad", "wrong")
    assert cells[7] == ("bad", "51.2!")
    assert cells[9] == ("none", "-")


def test_before_and_after_stand_side_by_side_on_one_scale():
    older = record([gpu_answer(ONE, h2d=10.0, d2h=10.0)], expected=None)
    newer = record([gpu_answer(ONE, h2d=50.0, d2h=50.0)], expected=None, run_id=LATER,
                   measured_at="2026-11-30T08:00:00Z")
    drawing = bandwidth_drawing([older, newer])
    assert headings(drawing) == ["Copies and writes, before: 2026-11-29T18:31:00Z, host",
                                 "Copies and writes, after: 2026-11-30T08:00:00Z, host"]
    assert [look for look, _words in boxes(drawing)] == ["none", "heat2", "heat2", "none", "none", "heat5", "heat5",
                                                         "none"]
    left, right = (float(shape.attributes["x"]) for shape in drawing.shapes if shape.look == "heading")
    assert right - left > 400
    assert max(float(shape.attributes["x"]) for shape in drawing.shapes) < drawing.width


def test_a_gpu_that_only_one_of_two_records_has_is_empty_in_the_other():
    drawing = bandwidth_drawing([record([ONE]), record([ONE, TWO], run_id=LATER)])
    assert [words for _look, words in boxes(drawing)[:9]] == ["", "55.3", "-", "52.9", "", "-", "-", "-", ""]


def test_nothing_measured_is_no_drawing():
    assert bandwidth_drawing([record([])]) is None


def test_eight_gpus_twice_fit_into_their_frame():
    names = [f"0000:{bus:02x}:00.0" for bus in range(8)]
    drawing = bandwidth_drawing([record(names), record(names, run_id=LATER)])
    root = ElementTree.fromstring(svg_file(drawing))
    for shape in root.iter("{http://www.w3.org/2000/svg}rect"):
        if shape.get("class") != "ground":
            assert float(shape.get("x")) + float(shape.get("width")) <= float(root.get("width"))
            assert float(shape.get("y")) + float(shape.get("height")) <= float(root.get("height"))
