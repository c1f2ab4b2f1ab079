# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings are well-formed XML whatever is in their texts, and need nothing from elsewhere."""
from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render import svg

from fleet_documents import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing):
    return ElementTree.fromstring(svg.svg_file(drawing))


def test_every_shape_is_where_it_was_put():
    found = parsed(svg.Drawing("Bandwidth", "one cell", 200, 80.5, [
        svg.rect(10, 20.128, 30, 40, "heat3"), svg.line(0, 1, 2, 3, "strong"), svg.circle(5, 6, 2.5, "good"),
        svg.text(12, 34, "51 of 55", "bad", "middle"), svg.text(1, 2, "plain")]))
    assert found.attrib == {"class": "drawing", "role": "img", "width": "200", "height": "80.5",
                            "viewBox": "0 0 200 80.5"}
    assert [child.tag.removeprefix(SVG) for child in found] == ["title", "desc", "style", "rect", "rect", "line",
                                                                "circle", "text", "text"]
    assert [child.attrib for child in found][4:] == [
        {"x": "10", "y": "20.13", "width": "30", "height": "40", "class": "heat3"},
        {"x1": "0", "y1": "1", "x2": "2", "y2": "3", "class": "strong"},
        {"cx": "5", "cy": "6", "r": "2.5", "class": "good"},
        {"x": "12", "y": "34", "text-anchor": "middle", "class": "bad"},
        {"x": "1", "y": "2", "text-anchor": "start"}]
    assert [child.text for child in found][-2:] == ["51 of 55", "plain"]
    assert (found[0].text, found[1].text) == ("Bandwidth", "one cell")


def test_a_hostile_text_stays_a_text():
    hostile = HOSTILE + "]]>\ud800\uffff\0"
    drawing = svg.Drawing(hostile, hostile, 10, 10, [svg.text(0, 0, hostile, "label")])
    found = parsed(drawing)
    assert [child.tag.removeprefix(SVG) for child in found] == ["title", "desc", "style", "rect", "text"]
    shown = ("</script><script>window.hacked=1</script><!--<img src=x onerror=\"window.hacked=1\">'`${1}"
             r"\u2028\u202e\x1b[31m|$data]]>\ud800\uffff\x00")
    assert [found[0].text, found[1].text, found[4].text] == [shown] * 3
    assert svg.packed(drawing)["shapes"] == [["text", "label", shown, "x", "0", "y", "0", "text-anchor", "start"]]
    json.dumps(svg.packed(drawing)).encode("ascii")


def test_a_drawing_asks_for_nothing_and_follows_light_and_dark():
    made = svg.svg_file(svg.Drawing("a", "b", 1, 1, []))
    assert not re.search(r"url\(|@import|href|<script|\bon\w+=", made)
    style = ElementTree.fromstring(made)[2].text
    assert style.startswith(".drawing {")
    assert "prefers-color-scheme: dark" in style
    assert made.count("http") == 1      # the namespace


def test_every_colour_of_the_style_is_defined_for_light_and_for_dark():
    style = svg.STYLE
    used = set(re.findall(r"var\((--\w[\w-]*)\)", style))
    light, dark = (set(re.findall(r"(--\w[\w-]*):", part)) for part in style.split("@media"))
    assert used <= light
    assert light == dark
