# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tune, persist, persist again, boot, take out again; who would win is named: whole playbooks."""
from __future__ import annotations

import json
import subprocess

import pytest

from hosts.persisting import snapshot
from hosts.story_before import story_before
from pythons import find_system_python

SYSCTLS = "/etc/sysctl.d/90-gpuhost.conf"
PROGRAM = "/usr/local/lib/gpuhost/gpuhost-boot.pyz"


def planted(make_tree):
    return story_before(make_tree("pve1"), cores=1).folder("/run/systemd/system")


def test_what_a_run_changed_lasts_and_comes_out_again(controller, make_tree):
    tree = planted(make_tree)
    hosts = {"pve1": tree}
    controller.play("tune_runtime.yml", hosts, variables={
        "gpuhost_values": {"sysctl": {"vm.swappiness": 10}}}).succeeded()
    tuned = snapshot(tree)

    run = controller.play("persist.yml", hosts, "--check", "--diff").succeeded()
    assert snapshot(tree) == tuned
    assert "+vm.swappiness = 10" in run.stdout
    assert "+ExecStart=" in run.stdout

    run = controller.play("persist.yml", hosts).succeeded()
    assert run.changed("pve1") == 1
    ledger = json.loads(tree.path("/var/lib/gpuhost/persisted.json").read_text())
    outcome = next((controller.reports / "pve1").glob("*/outcome.json"))
    assert ledger["run_id"] == outcome.parent.name
    assert ledger["values"]["sysctl"]["vm.swappiness"] == "10"
    assert ledger["baseline"]["sysctl"]["vm.swappiness"] == "60"
    assert "vm.swappiness = 10\n" in tree.path(SYSCTLS).read_text()
    assert controller.play("persist.yml", hosts).succeeded().changed("pve1") == 0

    # After a boot the registers are what firmware made of them; what is planted here is what the journal had as before.
    changed = [one for one in json.loads(outcome.read_text())["changes"] if one["address"].startswith("pcie_")]
    assert changed
    controller.play("restore.yml", hosts).succeeded()
    tree.path("/run/gpuhost/journal.jsonl").unlink()
    done = subprocess.run([find_system_python(), "-I", "-B", tree.path(PROGRAM), "--sysroot", str(tree.root)],
                          text=True, check=True, capture_output=True)
    assert f"{changed[0]['address']}: changed: {changed[0]['before']} -> {changed[0]['after']}" in done.stdout
    lines = [json.loads(line) for line in tree.path("/run/gpuhost/journal.jsonl").read_text().splitlines()]
    assert {line["run"] for line in lines} == {"boot-" + lines[0]["boot"][:8]}

    controller.play("persist.yml", hosts, variables={"gpuhost_persist_state": "absent"}).succeeded()
    assert {path for path in snapshot(tree) if "gpuhost" in path} == {"/.gpuhost-sysroot"}


@pytest.mark.one_core
def test_who_would_win_is_named_and_nothing_is_written(controller, make_tree):
    tree = planted(make_tree).file("/etc/sysctl.d/99-site.conf", "# ours\nvm.swappiness = 35\n")
    values = {"sysctl": {"vm.swappiness": 10, "kernel.numa_balancing": 0}}
    before = snapshot(tree)
    run = controller.play("persist.yml", {"pve1": tree}, variables={"gpuhost_values": values}).failed()
    message = run.one("pve1", action="persisted")["msg"]
    assert message.startswith(
        "sysctl:vm.swappiness: /etc/sysctl.d/99-site.conf line 2 sets vm.swappiness = 35, wanted 10")
    assert snapshot(tree) == before
