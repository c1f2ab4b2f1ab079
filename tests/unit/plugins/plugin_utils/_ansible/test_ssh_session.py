# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words for ssh, held against ssh itself, which prints what it makes of them (`ssh -G`)."""
from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.ssh_session import start_no_master

from requirement import need


def words_for(kind, given):
    connection = connection_loader.get(kind, PlayContext())
    connection.set_options(direct={"ssh_args": given} if kind == "ssh" else {})
    start_no_master(connection)
    return connection.get_option("ssh_args") if kind == "ssh" else None


@pytest.mark.parametrize("given", [
    "-C -o ControlMaster=auto -o ControlPersist=60s", "-o controlmaster=autoask -o ServerAliveInterval=15"])
def test_ssh_starts_no_master(given):
    need(shutil.which("ssh"), "openssh-client")
    options = subprocess.run(["ssh", "-F", "none", "-G", *shlex.split(words_for("ssh", given)), "host"], check=True,
                             capture_output=True, text=True).stdout.splitlines()
    assert "controlmaster false" in options


@pytest.mark.parametrize("given", ["", "-o ServerAliveInterval=15"])
def test_the_configuration_of_ssh_decides_if_ansible_gives_no_option(given):
    assert words_for("ssh", given) == given


def test_another_connection_is_left_alone():
    assert words_for("local", "") is None
