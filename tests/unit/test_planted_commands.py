# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of reports, pasted from the Markdown file as it is.

Those of run-time changes are run on planted hosts, forth and back. Those of other classes are never run: a shell reads
them, and shellcheck.
"""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import (
    asked_tunables,
    load_profile,
    shipped,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge, summary
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report

from command_cage import Cage, can_enter
from hosts.reference import reference
from hosts.runtime import PLANTED
from hosts.setters import file_bytes
from hosts.sick import sick
from hosts.story_before import story_before
from hosts.tree import Tree
from program_options import unknown_options, unknown_programs
from report_actions import Action, actions
from requirement import need
from verdicts import TODAY

RUNTIME = {check.id for check in shipped() if check.fix.kind == "runtime"}
# A kernel prints all words and brackets the chosen one; of a planted file that was written the word alone is left.
BRACKETED = ("transparent_hugepage/enabled", "transparent_hugepage/defrag", "transparent_hugepage/shmem_enabled",
             "transparent_hugepage/hugepages-2048kB/enabled", "pcie_aspm/parameters/policy")


def wrong_governors(tree: Tree) -> Tree:
    """256 CPUs: most ask for powersave, a few for something else, and no two neighbours have the same limit."""
    story_before(tree, cores=64)
    governors = {1: "schedutil", 7: "ondemand", 200: "schedutil"}
    for number in range(256):
        policy = f"/sys/devices/system/cpu/cpufreq/policy{number}"
        tree.file(f"{policy}/scaling_governor", governors.get(number, "powersave"))
    return tree


HOSTS = {"story_before": story_before, "reference": reference, "sick": sick, "wrong_governors": wrong_governors,
         **PLANTED}


class Report(NamedTuple):
    name: str
    tree: Tree
    text: str               # the Markdown file


def judged(tree: Tree) -> tuple[list[dict], dict]:
    facts = collect(Host(str(tree.root)), asked_tunables(shipped()))
    return judge(facts, shipped(), load_profile("full"), today=TODAY, dedicated=True, allow_busy=True), facts


def reported(name: str, tree: Tree) -> Report:
    findings, facts = judged(tree)
    return Report(name, tree, markdown_report({
        "schema": "gpuhost.audit/2", "host": name, "profile": "full", "boot_id": None, "facts": facts,
        "collected_at": facts["collected_at"], "findings": findings, "summary": summary(findings, today=TODAY)}))


@pytest.fixture(scope="module", params=sorted(HOSTS))
def planted(request, tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp(request.param) / "host")
    HOSTS[request.param](tree)
    return reported(request.param, tree)


def test_run_time_commands_go_forth_and_back(planted, tmp_path):
    need(can_enter(), "root that may make namespaces and mount in them")
    before, cage = file_bytes(planted.tree.root, BRACKETED), Cage(planted.tree.root, tmp_path)
    runtime = [one for one in actions(planted.text, RUNTIME) if one.runtime and one.do]
    assert runtime and all(one.undo for one in runtime)
    for action in runtime:
        done = cage.run(action.do)
        assert (done.code, done.errors) == (0, ""), action
        assert ("modprobe nvidia_peermem" in done.noted) is (action.check == "nvidia_peermem")
    now, _facts = judged(planted.tree)
    still = {one["check"] for one in now if one["verdict"] == "fail" and one["fix"]["commands"]}
    # No module is loaded by a stub.
    assert still & {one.check for one in runtime} <= {"nvidia_peermem"}

    for action in reversed(runtime):
        done = cage.run(action.undo)
        assert (done.code, done.errors) == (0, ""), action
        assert ("rmmod nvidia_peermem" in done.noted) is (action.check == "nvidia_peermem")
    assert file_bytes(planted.tree.root, BRACKETED) == before
    print(f"{planted.name}: {len(runtime)} actions, {sum(len(one.do.splitlines()) for one in runtime)} commands forth, "
          f"{sum(len(one.undo.splitlines()) for one in runtime)} back")


def test_every_command_is_one_for_a_shell(planted):
    shellcheck = shutil.which("shellcheck", path=f"{pathlib.Path(sys.executable).parent}:/usr/bin")
    for action in actions(planted.text, RUNTIME):
        for script in filter(None, (action.do, action.undo)):
            subprocess.run(["sh", "-n"], input=script, text=True, check=True)
            if shellcheck:
                done = subprocess.run([shellcheck, "--shell=sh", "-"], input=script, text=True, check=False,
                                      capture_output=True)
                assert done.stdout == ""


def test_programs_and_options_are_documented(planted):
    assert unknown_options(planted.text) == []
    scripts = [script for action in actions(planted.text, RUNTIME) for script in (action.do, action.undo)]
    assert [name for script in scripts for name in unknown_programs(script)] == []


def test_256_wrong_governors_are_one_thing_one_loop_one_undo(tmp_path):
    tree = wrong_governors(Tree(tmp_path / "host"))
    report = reported("wrong_governors", tree)
    found = [one for one in actions(report.text, RUNTIME) if one.check == "cpu_governor"]
    folder = "/sys/devices/system/cpu/cpufreq/policy"
    assert found == [Action(
        "cpu_governor", True,
        f'for n in $(seq 0 255); do echo performance > "{folder}$n/scaling_governor"; done\n',
        f'for n in 0 $(seq 2 6) $(seq 8 199) $(seq 201 255); do echo powersave > "{folder}$n/scaling_governor"; done\n'
        f'for n in 1 200; do echo schedutil > "{folder}$n/scaling_governor"; done\n'
        f"echo ondemand > {folder}7/scaling_governor\n")]
    assert "is: `powersave (253), schedutil (2), ondemand (1)`, wanted: `performance`" in report.text
