# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plot of an experiment as a browser draws it: on the page of the fleet, and as the file beside the report."""
from __future__ import annotations

import pytest

from audit_document import document, finding
from experiment_document import HELPS, arm, experiment
from fleet_documents import HOSTILE
from fleet_rows import fleet_of
from readable import CROWDED, FAINT


@pytest.fixture
def measured_page(tmp_path):
    """Writes the page of one host with an experiment; the plot as a file of its own beside it."""
    def measured_page(**more):
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment import report
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import pack
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.page import page
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

        section = report.section(experiment(**more))
        fleet = fleet_of([document([finding("swappiness", "pass")])])
        fleet.hosts["pve1"]["evidence"] = evidence.for_page([section])
        (tmp_path / "index.html").write_text(page(pack(fleet, "2026-11-30T02:00:00Z")))
        evidence.write_drawings(tmp_path, [section])
        return tmp_path / "index.html"

    return measured_page


def plot(opened, path, scheme="light"):
    page = opened(path, scheme).page
    page.goto(page.url + "#/host/pve1")
    return page.locator("main svg")


def test_the_plot_is_drawn_and_named_for_those_who_do_not_see_it(opened, measured_page):
    svg = plot(opened, measured_page())
    assert svg.get_attribute("role") == "img"
    assert svg.locator("title").text_content() == "Effects of the changes on vllm serving"
    assert "numa_balancing, tokens_per_second: hurts: -4.0 %" in svg.locator("desc").text_content()
    assert svg.locator("circle").count() == 4 and svg.locator("rect.mark-bad").count() == 1
    assert svg.evaluate(CROWDED) == []
    regions = svg.page.get_by_role("region", name="Effects of the changes on vllm serving")
    assert regions.count() == 1
    rows = svg.page.get_by_role("region", name="Effect of each change").locator("tbody tr")
    assert rows.first.inner_text().split("\t")[:4] == [
        "thp_enabled", "tokens_per_second", "helps", "+12.4 % (+10.9 to +13.8)"]


@pytest.mark.parametrize("scheme, good", [("light", "rgb(28, 102, 48)"), ("dark", "rgb(134, 217, 155)")])
def test_the_plot_can_be_read_in_the_light_and_in_the_dark(opened, measured_page, scheme, good):
    svg = plot(opened, measured_page(), scheme)
    assert svg.locator("circle.good").first.evaluate("one => getComputedStyle(one).fill") == good
    assert svg.evaluate(FAINT) == []


@pytest.mark.parametrize("scheme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 27)")])
def test_the_file_is_the_same_plot_and_asks_for_nothing(chromium, measured_page, scheme, ground):
    path = measured_page().parent / "effects.svg"
    context = chromium.new_context(color_scheme=scheme)
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    svg = page.locator("svg")
    assert svg.locator("rect.ground").evaluate("one => getComputedStyle(one).fill") == ground
    assert svg.evaluate(CROWDED) == [] and svg.evaluate(FAINT) == []
    assert requests == [path.as_uri()]
    context.close()


def test_long_names_do_not_run_into_the_plot(opened, measured_page):
    long = "m" * 60
    metrics = [{"name": long, "better": "lower", "unit": None}]
    svg = plot(opened, measured_page(metrics=metrics, arms=[arm(long * 3, "one", "sysctl:a.b", "1", **{long: HELPS})]))
    assert svg.evaluate(CROWDED) == []


def test_a_hostile_experiment_is_only_text(opened, measured_page):
    metrics = [{"name": HOSTILE, "better": "higher", "unit": HOSTILE}]
    svg = plot(opened, measured_page(benchmark=HOSTILE, ended=HOSTILE, metrics=metrics, arms=[
        arm(HOSTILE, "one", "sysctl:a.b", "1", **{HOSTILE: HELPS | {"said": HOSTILE}})]))
    assert svg.page.evaluate("window.hacked") is None
    assert svg.page.locator("main img, main script, main b").count() == 0
    assert "</script><script>" in svg.locator("title").text_content()
