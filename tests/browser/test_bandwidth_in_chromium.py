# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heat map of the bandwidth as a browser draws it: on the page of the fleet, and as the file beside the report."""
from __future__ import annotations

import pytest

from audit_document import GPUS, document, finding
from bandwidth_document import LATER, gpu_answer, pair_answer, record
from fleet_documents import HOSTILE
from fleet_rows import fleet_of
from luminance import LUMINANCE

# Figures that do not fit into their cell, and those that stand out from it by less than WCAG 2.2 wants (4.5 to 1).
BAD_CELLS = """
svg => {""" + LUMINANCE + """
  const cells = [...svg.querySelectorAll("rect:not(.ground)")].map((rect) => [rect, rect.nextElementSibling])
    .filter(([, text]) => text.matches("[text-anchor=middle]:not(.label)"));
  if (cells.length < 100) return ["too few cells"];
  return cells.filter(([rect, text]) => {
    const [inner, outer] = [text.getBoundingClientRect(), rect.getBoundingClientRect()];
    const [one, other] = [text, rect].map((shape) => luminance(getComputedStyle(shape).fill)).sort((a, b) => b - a);
    return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom
      || (one + 0.05) / (other + 0.05) < 4.5;
  }).map(([rect, text]) => `${rect.getAttribute("class")} ${text.textContent}`);
}
"""


def two_records():
    """Eight GPUs twice, with everything that a cell can be."""
    gpus = [gpu_answer(GPUS[0], "slow", d2h=3.1), gpu_answer(GPUS[1], "hang", h2d=None, d2h=None), *GPUS[2:]]
    before = record(gpus, [
        pair_answer(GPUS[2], GPUS[3], "wrong_data", write=51.25),
        pair_answer(GPUS[2], GPUS[4], "wrong_data", write=None),
        pair_answer(GPUS[3], GPUS[4], "unsupported", write=None, read=None),
        pair_answer(GPUS[4], GPUS[5], "slow", write=12.0, read=10.1),
        *(pair_answer(GPUS[6], other, write=10.0 + 9 * step) for step, other in enumerate(GPUS[:5]))])
    return [before, record(GPUS, run_id=LATER, measured_at="2026-11-30T08:00:00Z")]


@pytest.fixture
def measured_page(tmp_path):
    """Writes the page of one host that was measured; the heat map as a file of its own beside it."""
    def measured_page(records, notes=("Measured",)):
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.heatmap import bandwidth_drawing
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import pack
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.page import page
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.section import Section
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

        section = Section("Bandwidth", list(notes), [], {"bandwidth.svg": bandwidth_drawing(records)})
        fleet = fleet_of([document([finding("swappiness", "pass")])])
        fleet.hosts["pve1"]["evidence"] = evidence.for_page([section])
        (tmp_path / "index.html").write_text(page(pack(fleet, "2026-11-30T02:00:00Z")))
        evidence.write_drawings(tmp_path, [section])
        return tmp_path / "index.html"

    return measured_page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_heat_map_can_be_read_on_the_page(opened, measured_page, scheme):
    page = opened(measured_page(two_records()), scheme).page
    page.goto(page.url + "#/host/pve1")
    svg = page.get_by_role("region", name="Bandwidth of pve1").locator("svg")
    assert svg.get_attribute("role") == "img"
    assert svg.locator("title").text_content() == "Bandwidth of pve1"
    # One copy that is slow, two that hung, two writes and two reads with wrong data, a write and a read that are slow.
    assert svg.locator("rect.bad").count() == 9
    assert svg.evaluate(BAD_CELLS) == []


@pytest.mark.parametrize("scheme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 27)")])
def test_the_file_is_the_same_and_asks_for_nothing(chromium, measured_page, scheme, ground):
    path = measured_page(two_records()).parent / "bandwidth.svg"
    context = chromium.new_context(color_scheme=scheme)
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    svg = page.locator("svg")
    assert svg.locator("rect.ground").evaluate("one => getComputedStyle(one).fill") == ground
    assert svg.evaluate(BAD_CELLS) == []
    assert requests == [path.as_uri()]
    context.close()


def test_a_hostile_name_is_only_text(opened, measured_page):
    page = opened(measured_page([record([gpu_answer(HOSTILE)], host=HOSTILE, where=HOSTILE)], [HOSTILE])).page
    page.goto(page.url + "#/host/pve1")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main b").count() == 0
    assert "<img src=x onerror=" in page.locator("main svg").text_content()
    assert "<img src=x onerror=" in page.locator("main ul").inner_text()
