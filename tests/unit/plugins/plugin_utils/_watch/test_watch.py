# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose record cannot be used costs itself alone."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch.watch import watch


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"findings": 7, "facts": null}'])
def test_a_damaged_record_is_named_and_nothing_is_kept(tmp_path, text):
    (tmp_path / "pve1").mkdir()
    record = tmp_path / "pve1" / "audit.json"
    record.write_text(text)
    found = watch(str(tmp_path), ["pve1", "pve2"], {}, "", 1.0)
    assert found["hosts"] == {}
    assert found["missing"] == {
        "pve1": f"{record} is damaged or of another release: audit the host again", "pve2": "never audited"}
    assert [path.name for path in (tmp_path / "pve1").iterdir()] == ["audit.json"]
