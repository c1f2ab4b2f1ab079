# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play without hosts is an error, wherever it is started: Ansible would pass over it and end with success."""
from __future__ import annotations

import pytest

from checkout import REPOSITORY

AUDIT = str(REPOSITORY / "playbooks" / "audit.yml")
OF_THE_CONTROLLER = ("compare", "fleet_report", "import", "watch")
PLAYBOOKS = sorted(path.stem for path in REPOSITORY.glob("playbooks/*.yml") if path.stem not in OF_THE_CONTROLLER)


@pytest.mark.parametrize("playbook", [*(f"gpuhost.tuning.{name}" for name in PLAYBOOKS), AUDIT])
def test_an_inventory_that_is_not_there(controller, tmp_path, playbook):
    run = controller.ansible("playbook", playbook, "-i", str(tmp_path / "missing.yml"))
    assert run.returncode != 0
    assert f"no hosts: the inventory {tmp_path / 'missing.yml'} does not exist" in (run.stdout + run.stderr)


@pytest.mark.parametrize("words, message", [
    (("-e", "gpuhost_hosts=web"), "no hosts: 'web' matches none of the 2 of the inventory"),
    (("-e", "gpuhost_hosts=h1", "-l", "h2"), "no hosts: --limit 'h2' leaves none of 'h1'"),
    (("-l", "nosuch"), "leaves us with no hosts to target"),
])
def test_hosts_that_are_not_in_the_inventory(controller, words, message):
    run = controller.ansible("playbook", AUDIT, "-i", "h1,h2", *words)
    assert run.returncode != 0
    assert message in (run.stdout + run.stderr)


@pytest.mark.parametrize("words", [
    ("-i", "h1,h2", "-e", "gpuhost_hosts=all:!nogroup"), ("-i", "h1,h2", "-e", '{"gpuhost_hosts": ["h2", "h1"]}'),
    ("-i", "/dev/null", "-e", "gpuhost_hosts=localhost"),
])
def test_patterns_that_match(controller, words):
    assert controller.ansible("playbook", AUDIT, *words, "--list-hosts").returncode == 0


def test_a_look_at_the_syntax_needs_no_inventory(controller):
    assert controller.ansible("playbook", AUDIT, "-i", "/dev/null", "--syntax-check").returncode == 0
