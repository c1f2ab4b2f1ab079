# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible import constants
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible import console


@pytest.mark.parametrize("callback, prints", [
    ("default", True), ("ansible.builtin.default", True), ("gpuhost.tuning.fleet", True), ("minimal", False),
    ("ansible.posix.json", False), ("json", False)])
def test_lines_are_printed_where_standard_output_is_text_and_kept_elsewhere(callback, prints, monkeypatch, capsys):
    monkeypatch.setattr(constants, "DEFAULT_STDOUT_CALLBACK", callback)
    one = console.Console()
    one.show("first\nsecond")
    one.show("third")
    assert (capsys.readouterr().out == "first\nsecond\nthird\n") is prints
    assert one.result() == ({} if prints else {"lines": ["first", "second", "third"]})
