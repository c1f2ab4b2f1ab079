# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, and pages for it. Chromium comes from the system (bindep.txt), its driver from the lock."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil

import pytest

from fleet_documents import big_document, hostile_document
from requirement import need

# No service of a browser's maker is asked for anything.
QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
MADE = "2026-11-29T18:40:00Z"


@pytest.fixture(scope="session")
def chromium():
    """The browser, one for all tests."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    need(program, "chromium (on Debian: apt-get install chromium)")
    need(importlib.util.find_spec("playwright"), "playwright, which make pytest installs into .venv")
    from playwright.sync_api import sync_playwright

    # As root Chromium starts only without its sandbox; what it opens here is a file of ours.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


class Opened:
    """A page in the browser, and everything it complained of or asked for."""

    def __init__(self, chromium, path: pathlib.Path, scheme: str = "light") -> None:
        self.context = chromium.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")


@pytest.fixture
def opened(chromium):
    """Opens a page; at the end it must have had nothing to complain of and asked for nothing but itself."""
    pages = []

    def opened(path, scheme="light"):
        pages.append(Opened(chromium, path, scheme))
        return pages[-1]

    yield opened
    for one in pages:
        one.context.close()
        assert one.complaints == []
        assert {url.partition("#")[0] for url in one.requests} == {one.requests[0]}


@pytest.fixture(scope="session")
def write_page(tmp_path_factory):
    def write_page(documents):
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.pack import pack
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.page import page

        from fleet_rows import fleet_of

        path = tmp_path_factory.mktemp("fleet") / "index.html"
        path.write_text(page(pack(fleet_of(documents), MADE)))
        return path

    return write_page


@pytest.fixture(scope="session")
def small(write_page):
    """Twelve hosts that fail at this and that, and one that is hostile in everything."""
    return write_page([*map(big_document, range(12)), hostile_document("</script><b>evil</b>")])


@pytest.fixture(scope="session")
def large(write_page):
    return write_page(map(big_document, range(1000)))
