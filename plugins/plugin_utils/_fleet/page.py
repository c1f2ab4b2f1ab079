# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""index.html: one self-contained file that makes no network request."""
from __future__ import annotations

import base64
import hashlib
import pathlib
import string
from typing import Any

from .pack import to_script

PARTS = pathlib.Path(__file__).parents[1] / "fleet_page"
SCRIPTS = ("dom.js", "data.js", "filters.js", "tables.js", "checks.js", "matrix.js", "hosts.js", "host.js",
           "differences.js", "guests.js", "main.js")


def page(data: dict[str, Any]) -> str:
    """The page for the result of `pack`. Its policy has the hashes of its one script and one style: nothing else runs,
    whatever got into the page."""
    style = _part("style.css") + _part("drawing.css")
    script = "(() => {\n\"use strict\";\n" + "".join(_part(name) for name in SCRIPTS) + "})();\n"
    policy = (f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
              "form-action 'none'")
    return string.Template(_part("page.html")).substitute(
        policy=policy, style=style, script=script, data=to_script(data))


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
