# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisted values in the playbooks that are no persist: tune says how to keep, verify who overrules, restore what
comes back."""
from __future__ import annotations

import pytest

from hosts.story_before import story_before

OWN = {"gpuhost_only": ["swappiness"], "gpuhost_values": {"sysctl": {"vm.swappiness": 10, "kernel.sysrq": 1}}}


@pytest.mark.one_core
def test_from_a_tune_to_who_overrules_it_and_what_comes_back(controller, make_tree):
    tree = story_before(make_tree("pve1"), cores=1).folder("/run/systemd/system")
    tree.sysctl("kernel.sysrq", 438)
    hosts = {"pve1": tree}
    run = controller.play("tune_runtime.yml", hosts, variables=OWN).succeeded()
    assert "Or to keep it after a reboot:" in run.stdout
    run_id = run.one("pve1", task="Audit before, plan and record")["run_id"]
    assert f"gpuhost.tuning.persist -e gpuhost_run_id={run_id}" in (
        controller.reports / "pve1/system-improve.md").read_text()

    controller.play("persist.yml", hosts, variables={"gpuhost_run_id": run_id}).succeeded()
    tree.file("/etc/sysctl.d/99-site.conf", "# ours\nvm.swappiness = 35\n")
    run = controller.play("verify.yml", hosts).failed()
    assert {line["address"]: line["state"] for line in run.one("pve1", action="verify")["persisted"]} == {
        "sysctl:vm.swappiness": "overruled", "sysctl:kernel.sysrq": "applied"}
    assert "pve1: persisted: 1 overruled, 1 applied" in run.stdout
    assert run.one("pve1", task="Fail for what was persisted and is not in effect")["msg"] == (
        "sysctl:vm.swappiness: overruled: wanted 10, found 10: it is in effect now, and at the next boot "
        "/etc/sysctl.d/99-site.conf, line 2, sets 35: 99-site.conf is read after 90-gpuhost.conf")

    run = controller.play("restore.yml", hosts).succeeded()
    assert "sysctl:vm.swappiness: persisted, comes back at the next boot" in run.stdout
    assert "-e gpuhost_persist_state=absent" in run.stdout
    assert set(run.one("pve1", action="restore_plan")["persisted"]) == {"sysctl:vm.swappiness", "sysctl:kernel.sysrq"}
