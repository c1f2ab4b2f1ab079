# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user is told to do next, step by step from the first audit to the way back."""
from __future__ import annotations

import pytest

from hosts.story_before import story_before


def text(run):
    return " ".join(run.output.replace("\\n", " ").split())


@pytest.mark.one_core
def test_each_step_names_the_next_one(controller, make_tree):
    tree = story_before(make_tree("pve1"))
    hosts = {"pve1": tree}
    one = {"gpuhost_only": ["nmi_watchdog"]}

    def play(playbook, *words, **variables):
        return controller.play(playbook, hosts, *words, variables=one | variables)

    audited = play("audit.yml").succeeded()
    assert "Next, to see the 1 change that a tune would make at run time and can undo:" in audited.stdout
    assert "playbooks/tune_runtime.yml --check --diff" in audited.stdout
    assert "Next, to make these changes:" in play("tune_runtime.yml", "--check").succeeded().stdout
    tuned = play("tune_runtime.yml").succeeded().stdout
    assert "playbooks/verify.yml" in tuned and "playbooks/restore.yml" in tuned

    tree.sysctl("kernel.nmi_watchdog", 7)
    refused = text(play("restore.yml").failed())
    assert "changed by something else: found 7, expected 0" in refused
    option = "-e gpuhost_force=sysctl:kernel.nmi_watchdog"
    assert f"To restore values that something else changed, regardless of their current value: {option}" in refused

    play("restore.yml", *option.split()).succeeded()
    assert tree.path("/proc/sys/kernel/nmi_watchdog").read_text().strip() == "1"
    verified = play("verify.yml").succeeded()
    assert "pve1: all settings changed since boot are restored" in verified.stdout
