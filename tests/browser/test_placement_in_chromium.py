# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The placement of guests as a browser draws it: no text lies on another, and each can be read in light and dark."""
from __future__ import annotations

import pytest

from audit_document import document, finding
from fleet_documents import HOSTILE
from fleet_rows import fleet_of
from placed_guests import host, lxc, ten_guests, vm
from readable import CROWDED, FAINT


@pytest.fixture
def placed_page(tmp_path):
    """Writes the page of one host with guests."""
    def placed_page(facts):
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import pack
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.page import page
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement import report
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

        made = placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})
        fleet = fleet_of([document([finding("swappiness", "pass")])])
        fleet.hosts["pve1"]["evidence"] = evidence.for_page([report.section(made, facts)])
        (tmp_path / "index.html").write_text(page(pack(fleet, "2026-12-01T04:00:00Z")))
        return tmp_path / "index.html"

    return placed_page


def drawing(opened, path, scheme="light"):
    page = opened(path, scheme).page
    page.goto(page.url + "#/host/pve1")
    return page.get_by_role("region", name="Placement of guests on pve1").locator("svg")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ten_guests_and_eight_gpus_can_be_read(opened, placed_page, scheme):
    svg = drawing(opened, placed_page(ten_guests()), scheme)
    assert svg.evaluate(CROWDED) == []
    assert svg.evaluate(FAINT) == []
    blocks = svg.page.locator("main pre").all_text_contents()
    assert blocks[0].startswith("qm set 200 --affinity 0-31,128-159 --numa 1 --numa0 ")
    assert "lxc.cgroup2.cpuset.cpus: 112-119,240-247" in blocks


def test_long_and_hostile_names_stay_in_their_places(opened, placed_page):
    facts = host(*(vm(123456789 + number, 4, 1000, gpus=(number,)) for number in range(8)), lxc(999999999, 4, 1))
    for guest in facts["placement"]["guests"]["value"]:
        guest["name"] = HOSTILE
    facts["network"]["interfaces"] *= 9
    for number, card in enumerate(facts["network"]["interfaces"]):
        facts["network"]["interfaces"][number] = {**card, "name": f"enp{number}" + "w" * 40 + HOSTILE}
    svg = drawing(opened, placed_page(facts))
    assert svg.evaluate(CROWDED) == []
    assert svg.page.evaluate("window.hacked") is None
