# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests that were audited as hosts, next to their Proxmox VE host."""
from __future__ import annotations

import pytest

from fleet_documents import HOSTILE, big_document
from guest_hosts import documents
from readable import CONTRAST

DIFFERENCE = "its GPUs are at 2 nodes of pve1, and it sees all of them at 1 node"
OF_VM = [["model", "pve1 vm:200", "nodes 0, 1", "node 0"], [DIFFERENCE]]
OF_CONTAINER = [["serve", "pve1 lxc:101", "nodes 0, 1", "nodes 0, 1"]]


@pytest.fixture(scope="module")
def joined(write_page):
    return write_page([*documents(), big_document(0)])


def shown(opened, path, view, scheme="light"):
    page = opened(path, scheme).page
    page.goto(page.url.partition("#")[0] + f"#/{view}")
    page.wait_for_selector("main h2")
    return page


def pairs(page):
    rows = page.get_by_role("region", name="NUMA nodes of the GPUs").locator("tbody tr")
    return rows.evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")


def test_a_guest_with_a_difference_comes_first(opened, joined):
    page = shown(opened, joined, "guests")
    assert page.title() == "Guests - GPU hosts"
    assert pairs(page) == OF_VM + OF_CONTAINER
    page.get_by_role("link", name="pve1").first.press("Enter")
    assert page.locator("main h2").inner_text() == "pve1"


@pytest.mark.parametrize("host, wanted", [
    ("pve1", OF_VM + OF_CONTAINER), ("model", OF_VM), ("serve", OF_CONTAINER), ("node0000", [])])
def test_the_page_of_a_host_has_its_own_pairs(opened, joined, host, wanted):
    page = shown(opened, joined, f"host/{host}")
    assert pairs(page) == wanted
    assert page.get_by_role("heading", name="Guests and their hosts").count() == bool(wanted)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read(opened, joined, scheme):
    page = shown(opened, joined, "guests", scheme)
    assert {key: ratio for key, ratio in page.evaluate(CONTRAST).items() if ratio < 4.5} == {}


@pytest.mark.parametrize("host, wanted", [("model", OF_VM), ("pve", OF_VM + OF_CONTAINER), ("node", [])])
def test_the_filter_keeps_a_pair_for_either_side(opened, joined, host, wanted):
    page = shown(opened, joined, "guests")
    page.locator("#filter-host").fill(host)
    page.wait_for_function("wanted => document.querySelectorAll('main tbody tr').length === wanted", arg=len(wanted))
    assert pairs(page) == wanted


def test_on_a_phone_all_of_a_pair_is_in_sight(opened, joined):
    page = shown(opened, joined, "checks")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("location.hash = '#/guests'")
    page.wait_for_function("document.title === 'Guests - GPU hosts'")
    for cell in page.locator("main tbody th, main tbody td, nav a[aria-current]").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_without_such_a_guest_the_view_says_so(opened, small):
    main = shown(opened, small, "guests").locator("main")
    assert "No guest of these hosts was audited as a host." in main.inner_text()


def test_names_of_hosts_are_only_text(opened, write_page):
    page = shown(opened, write_page(documents(HOSTILE.replace("/", ""), machine="<b>guest</b>")), "guests")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main b, main img, main script").count() == 0
    assert pairs(page)[0][0] == "<b>guest</b>"
