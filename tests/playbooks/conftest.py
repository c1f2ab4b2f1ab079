# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of whole playbooks may use."""
from __future__ import annotations

import pytest

from ansible_run import Controller


@pytest.fixture
def controller(tmp_path):
    """A controller whose plays run on planted hosts; see tests/ansible_run.py."""
    return Controller(tmp_path)


@pytest.fixture
def make_tree(tmp_path):
    """Makes an empty planted host by name."""
    from hosts.tree import Tree

    return lambda name: Tree(tmp_path / "hosts" / name)
