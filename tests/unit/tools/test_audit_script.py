# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/audit.sh: which words ansible-playbook gets, and that nobody is asked for a password."""
from __future__ import annotations

import pytest


@pytest.fixture
def ready(checkout):
    """A checkout that is set up, on a machine of an ordinary user without sudo."""
    checkout.program(".venv/bin/ansible-playbook")
    checkout.program("bin/id", "echo 1000")
    return checkout


def test_this_machine_alone_is_audited(ready):
    ready.program("bin/id", "echo 0")
    assert ready.run("audit.sh").returncode == 0
    assert ready.calls("ansible-playbook") == ["[playbooks/audit.yml] [-i] [inventory/hosts.yml] [-l] [localhost]"]


def test_without_root_and_sudo_the_audit_is_partial(ready):
    done = ready.run("audit.sh")
    assert ready.calls("ansible-playbook") == [
        '[playbooks/audit.yml] [-i] [inventory/hosts.yml] [-l] [localhost] [-e] [{"gpuhost_become": false}]']
    assert done.stdout == "PARTIAL: for what only root may read: make audit, as root\n"


def test_sudo_that_would_ask_is_not_used_but_named(ready):
    ready.program("bin/sudo", "exit 1")
    done = ready.run("audit.sh")
    assert ready.calls("sudo") == ["[-n] [true]"]
    assert "gpuhost_become" in ready.calls("ansible-playbook")[0]
    assert done.stdout.startswith("PARTIAL: ")
    assert done.stdout.endswith(": .venv/bin/ansible-playbook playbooks/audit.yml --ask-become-pass\n")


def test_sudo_that_does_not_ask_gives_all(ready):
    ready.program("bin/sudo")
    done = ready.run("audit.sh")
    assert "gpuhost_become" not in ready.calls("ansible-playbook")[0]
    assert "PARTIAL" not in done.stdout


def test_hosts_of_an_inventory(ready):
    done = ready.run("audit.sh", HOSTS="my hosts.yml")
    assert ready.calls("ansible-playbook") == ["[playbooks/audit.yml] [-i] [my hosts.yml]"]
    assert "PARTIAL" not in done.stdout
    assert ready.calls("sudo") == []


def test_further_words_keep_their_quotes(ready):
    ready.run("audit.sh", HOSTS="hosts", ARGS="-l pve1 -e '{\"gpuhost_only\": [\"swappiness\", \"thp_enabled\"]}'")
    assert ready.calls("ansible-playbook") == [
        '[playbooks/audit.yml] [-i] [hosts] [-l] [pve1] [-e] [{"gpuhost_only": ["swappiness", "thp_enabled"]}]']


def test_the_exit_status_is_that_of_the_playbook(ready):
    ready.program(".venv/bin/ansible-playbook", "exit 2")
    done = ready.run("audit.sh")
    assert done.returncode == 2
    assert "PARTIAL" in done.stdout


@pytest.mark.parametrize("hosts, status", [
    ('"a": "ok", "b": "findings"', 3), ('"a": "findings", "b": "failed"', 2),
    ('"a": "findings", "b": "unreachable"', 2),
    ('"a": "findings", "b": "not audited"', 2), ('"a": "ok"', 2),
])
@pytest.mark.parametrize("folder, words", [("reports", ""), ("other", "-e gpuhost_report_dir=other")])
def test_findings_alone_have_a_status_of_their_own(ready, hosts, status, folder, words):
    (ready.folder / folder).mkdir()
    ready.program(".venv/bin/ansible-playbook",
                  f"echo '{{\"hosts\": {{{hosts}}}}}' >{ready.folder}/{folder}/last-run.json; exit 2")
    assert ready.run("audit.sh", HOSTS="hosts", ARGS=words).returncode == status


def test_the_file_of_an_earlier_run_says_nothing_of_this_one(ready):
    ready.file("reports/last-run.json", '{"hosts": {"a": "findings"}}')
    ready.program(".venv/bin/ansible-playbook", "exit 2")
    assert ready.run("audit.sh", HOSTS="hosts").returncode == 2


def test_host_is_no_inventory(ready):
    done = ready.run("audit.sh", HOST="pve1")
    assert (done.returncode, ready.calls("ansible-playbook")) == (2, [])
    assert done.stderr == ("HOST=pve1 is not used: an inventory is given as HOSTS=FILE, one host of it with "
                           "ARGS='-l pve1'\n")


@pytest.mark.parametrize("given, json", [
    ("/tmp/bug report.log.gz", '{"gpuhost_import": ["/tmp/bug report.log.gz"]}'),
    ('/tmp/a"b.log', '{"gpuhost_import": ["/tmp/a\\"b.log"]}'),
])
def test_a_report_is_imported_without_root(ready, given, json):
    assert ready.run("audit.sh", REPORT=given, ARGS="-e gpuhost_import_name=gpu7").returncode == 0
    assert ready.calls("ansible-playbook") == [
        f"[playbooks/import.yml] [-i] [inventory/hosts.yml] [-e] [{json}] [-e] [gpuhost_import_name=gpu7]"]


def test_a_report_or_an_inventory_but_not_both(ready):
    done = ready.run("audit.sh", REPORT="x.log", HOSTS="hosts")
    assert (done.returncode, done.stderr) == (2, "HOSTS=hosts is not used with REPORT=x.log: give one of them\n")
