# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No false alarm on virtual machines as Debian ships them: no test hardware, nothing tuned."""
from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.vm
VIRTUAL = True      # the guests know that they are virtual machines
COMMAND_LINE = ""


@pytest.fixture(scope="module")
def audits(play, controller, hosts):
    play("audit.yml").succeeded()
    return {release: json.loads((controller.reports / release / "audit.json").read_text()) for release in hosts}


def test_nothing_fails(audits, release):
    assert [(finding["check"], finding["reason"]) for finding in audits[release]["findings"]
            if finding["verdict"] == "fail"] == []


def test_it_is_known_for_what_it_is(audits, release):
    facts = audits[release]["facts"]
    assert (facts["identity"]["kind"], facts["identity"]["os"]["version_id"]) == ("vm", release.removeprefix("debian"))
    assert (facts["gpus"], audits[release]["summary"]["failing"]["P0"]) == ([], 0)
