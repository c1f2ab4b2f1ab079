# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts side by side, by the whole playbooks."""
from __future__ import annotations

import json

import pytest

from hosts.twins import fast_twin, slow_twin


def test_the_slow_twin_and_what_is_wrong_with_it(controller, make_tree):
    hosts = {"pve1": fast_twin(make_tree("pve1")), "pve2": slow_twin(make_tree("pve2"))}
    controller.play("audit.yml", hosts).succeeded()
    run = controller.play("compare.yml", {}, variables={"gpuhost_compare": ["pve1", "pve2"]}).succeeded()
    result = run.one("localhost", action="compare")
    assert (result["different"], result["changed"]) == (True, False)
    assert "pve1 and pve2 differ in 3 things" in run.stdout
    report = (controller.reports / "compare-pve1-pve2.md").read_text()
    record = json.loads((controller.reports / "compare-pve1-pve2.json").read_text())
    checks = sorted(one["check"] for one in record["differences"])
    assert checks == ["cpu_governor", "numa_balancing", "pcie_link_width"]
    assert "| `cpu_governor` | `performance` | `powersave` |" in report


@pytest.mark.one_core
def test_a_host_that_was_never_audited(controller):
    run = controller.play("compare.yml", {}, variables={"gpuhost_compare": ["pve1", "pve2"]}).failed()
    assert "'pve1' is neither an audited host below" in run.output


@pytest.mark.one_core
def test_nothing_to_compare(controller):
    run = controller.play("compare.yml", {}).failed()
    assert "wanted is a list of two" in run.output
