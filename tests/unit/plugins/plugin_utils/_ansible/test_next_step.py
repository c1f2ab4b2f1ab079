# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shlex
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.next_step import become_hint, command, lines


@pytest.mark.parametrize("argv, wanted", [
    ("ansible-playbook playbooks/audit.yml", "ansible-playbook playbooks/verify.yml"),
    (".venv/bin/ansible-playbook playbooks/audit.yml -i hosts.yml -l pve1 -v",
     ".venv/bin/ansible-playbook -i hosts.yml -l pve1 playbooks/verify.yml"),
    ("/usr/bin/ansible-playbook gpuhost.tuning.audit -i pve1, --limit=pve1 -K",
     "ansible-playbook -i pve1, --limit=pve1 -K gpuhost.tuning.verify"),
    ("ansible-playbook site.yml -ihosts.yml --check --tags gpu", "ansible-playbook -ihosts.yml gpuhost.tuning.verify"),
    ("/x/ansible/__main__.py playbook /src/playbooks/audit.yml", "ansible-playbook /src/playbooks/verify.yml"),
    # Of variables only ours, and none that belongs to this run; a password stays where it was typed.
    ("ansible-playbook playbooks/audit.yml -e gpuhost_profile=full -e ansible_become_password=secret "
     "-e gpuhost_run_id=20261129T183000Z-4f2a -e gpuhost_fail_on=P1",
     "ansible-playbook -e gpuhost_profile=full playbooks/verify.yml"),
    ("""ansible-playbook audit.yml -e '{"gpuhost_become": true, "ansible_become_password": "secret"}'""",
     "ansible-playbook gpuhost.tuning.verify"),
    ("""ansible-playbook audit.yml -e '{"gpuhost_become": false}'""",
     """ansible-playbook -e '{"gpuhost_become": false}' gpuhost.tuning.verify"""),
])
def test_the_next_command_is_for_the_same_hosts(argv, wanted):
    assert command("verify", argv=shlex.split(argv)) == wanted


def test_a_checkout_is_named_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = os.path.join(os.getcwd(), ".venv", "bin", "ansible-playbook")
    assert command("restore", argv=[program, "playbooks/audit.yml"]) == (
        ".venv/bin/ansible-playbook playbooks/restore.yml")


@pytest.mark.parametrize("message, hinted", [
    ("Task failed: Missing sudo password", True), ("Incorrect sudo password", True),
    ("Premature end of stream waiting for become success.\n>>> Standard Error\nsudo: not found", True),
    ("Failed to connect to the host via ssh: no route to host", False)])
def test_what_to_do_where_nobody_becomes_root(message, hinted):
    assert ("gpuhost_become=false" in (become_hint(message) or "")) is hinted


def test_a_long_command_goes_on_in_lines_that_a_shell_takes_as_one(monkeypatch):
    words = ["-i", "/srv/inventories/production/gpu-hosts-of-the-first-hall.yml", "-l", "pve1", "-e",
             '{"gpuhost_report_dir": "/srv/reports/of the first hall"}']
    monkeypatch.setattr(sys, "argv", ["ansible-playbook", "playbooks/audit.yml", *words])
    made = lines("verify", "--diff")
    assert len(made) == 2 and max(map(len, made)) <= 100
    joined = "\n".join(made).replace("\\\n", " ")
    assert shlex.split(joined) == ["ansible-playbook", *words, "playbooks/verify.yml", "--diff"]
