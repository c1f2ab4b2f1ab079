# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the text of a report to the facts of the host that it tells of."""
from __future__ import annotations

import pytest


@pytest.fixture
def imported(tmp_path):
    """`imported(text)` reads a bug report and gives the facts of the folder that is made of it."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.bug_report import read_report
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.writer import write_host

    def facts_of(text):
        sysroot = write_host(read_report(text.splitlines(), "test.log"), tmp_path / "host")
        return collect(Host(str(sysroot)), [])

    return facts_of


@pytest.fixture
def pasted(tmp_path):
    """`pasted(text)` does the same with the outputs of programs."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.pasted_text import read_text
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.writer import write_host

    def facts_of(text):
        return collect(Host(str(write_host(read_text(text.splitlines(), "paste.txt"), tmp_path / "host"))), [])

    return facts_of
