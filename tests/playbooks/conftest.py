# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of whole playbooks may use."""
from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import tempfile

import pytest

from ansible_run import Controller


@pytest.fixture
def controller(tmp_path):
    """A controller whose plays run on planted hosts; see tests/support/ansible_run.py."""
    return Controller(tmp_path)


@pytest.fixture
def make_tree(tmp_path):
    """Makes an empty planted host by name."""
    from hosts.tree import Tree

    return lambda name: Tree(tmp_path / "hosts" / name)


@pytest.fixture
def machine_alone():
    """This machine is to be changed: no test that needs it at rest runs beside this one."""
    with _machine(fcntl.LOCK_EX):
        yield


@pytest.fixture
def machine_at_rest():
    """This machine is looked at twice: no test changes it meanwhile."""
    with _machine(fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def _machine(kind):
    """Tests run in several processes at once, which share the folder for temporary files."""
    path = pathlib.Path(tempfile.gettempdir(), f"gpuhost-tests-{os.getuid()}.lock")
    with path.open("w", encoding="ascii") as lock:
        fcntl.flock(lock, kind)
        yield
