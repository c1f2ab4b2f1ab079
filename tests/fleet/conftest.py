# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet for the tests, taken down whatever happens."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from ansible_run import Controller
from hosts.others import virtual_machine
from hosts.tree import Tree
from requirement import need

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))    # for `from fleet import Fleet`


@pytest.fixture
def controller(tmp_path):
    return Controller(tmp_path)


@pytest.fixture
def make_fleet(tmp_path):
    """Makes a fleet of so many planted hosts, h001 and on, on which the tests' values are not yet set."""
    from fleet import SSHD, Fleet

    need(SSHD, "openssh-server")
    need(subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False, capture_output=True).returncode
         == 0, "root that may make namespaces and mount in them")
    made = []

    def make(number):
        names = [f"h{place:03}" for place in range(1, number + 1)]
        trees = {name: virtual_machine(Tree(tmp_path / "hosts" / name)).sysctl("vm.laptop_mode", 0)
                 .sysctl("vm.stat_interval", 1).sysctl("net.core.somaxconn", 128) for name in names}
        made.append(Fleet(tmp_path / "fleet", trees))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()
