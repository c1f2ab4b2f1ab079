# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_run import Controller


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    """One for all tests of a file: a start of Ansible under strace takes seconds."""
    return Controller(tmp_path_factory.mktemp("controller"))
