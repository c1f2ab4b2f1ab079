# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, as_facts, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.ras import find_errors, read

from facts_schema import problems
from hosts.ras import CONTROLLERS, count_errors, plant_controllers


def controllers(host):
    return read(host, ok([]))["controllers"]


def test_controllers_without_errors_list_no_module(tree, host):
    plant_controllers(tree, 2)
    first, _second = controllers(host).value
    assert (first["controller"], first["name"], first["modules"]) == ("mc0", "F1A_M00h", [])
    assert {name: first[name].value for name in ("size_mib", "correctable", "uncorrectable", "seconds")} == {
        "size_mib": 786432, "correctable": 0, "uncorrectable": 0, "seconds": 864000}
    assert problems("ras", as_facts(read(host, ok([])))) == []


def test_the_modules_that_counted_something_by_their_label(tree, host):
    plant_controllers(tree, 12)
    count_errors(tree, 11, 3, correctable=7, uncorrectable=1)
    count_errors(tree, 2, None, correctable=5)
    found = {one["controller"]: one["modules"] for one in controllers(host).value}
    assert list(found) == [f"mc{number}" for number in range(12)]
    assert found["mc11"] == [{"module": "CPU11_DIMM_D1", "correctable": 7, "uncorrectable": 1}]
    assert found["mc2"] == []
    assert problems("ras", as_facts(read(host, ok([])))) == []


def test_ranks_of_older_drivers_without_a_label(tree, host):
    plant_controllers(tree, 1)
    count_errors(tree, 0, None, correctable=2)
    tree.files(f"{CONTROLLERS}/mc0/rank4", {"dimm_ce_count": 2, "dimm_ue_count": 0, "dimm_label": ""})
    assert controllers(host).value[0]["modules"] == [{"module": "rank4", "correctable": 2, "uncorrectable": 0}]


def test_no_driver_is_no_zero(tree, host):
    assert controllers(host).status == "absent"
    tree.file(f"{CONTROLLERS}/power/control", "auto").file(f"{CONTROLLERS}/uevent", "")
    assert controllers(host).status == "absent"


def test_a_counter_that_makes_no_sense(tree, host):
    plant_controllers(tree, 1)
    tree.file(f"{CONTROLLERS}/mc0/ue_count", "none")
    assert controllers(host).value[0]["uncorrectable"].status == "unparsable"


@pytest.mark.parametrize(("text", "counts"), [
    ("mce: [Hardware Error]: Machine check events logged", (1, 0)),
    ("[Hardware Error]: Corrected error, no action required.", (1, 0)),
    ("[Hardware Error]: Uncorrected, software containable error.", (1, 1)),
    ("[Hardware Error]: Deferred error, no action required.", (1, 0)),
    ("{1}[Hardware Error]: event severity: fatal", (1, 1)),
    ("{1}[Hardware Error]: event severity: corrected", (1, 0)),
    ("mce: [Hardware Error]: Kernel panic - not syncing: Fatal machine check", (1, 1)),
    ("pcieport 0000:00:01.1: AER: Uncorrected (Fatal) error received", (0, 0)),
    ("mce: CPU17: Core temperature/speed normal", (0, 0)),
])
def test_lines_that_report_a_hardware_error(text, counts):
    found = find_errors([{"seconds": 1.0, "text": text}])
    assert (found["lines"], found["uncorrected"]) == counts


def test_the_first_ten_lines_are_kept():
    lines = [{"seconds": None, "text": f"[Hardware Error]: {number}"} for number in range(25)]
    found = find_errors(lines)
    assert (found["lines"], found["first"][0], len(found["first"])) == (25, "[Hardware Error]: 0", 10)


def test_a_log_that_is_denied(host):
    assert read(host, Reading("denied"))["errors"].status == "denied"
