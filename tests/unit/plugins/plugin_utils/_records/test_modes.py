# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may read what is written."""
from __future__ import annotations

import os
import stat

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import modes
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import (
    HostFolder,
    RecordError,
    write_text,
)


@pytest.fixture(autouse=True)
def umask():
    before = os.umask(0o022)
    yield
    modes.choose(None)
    os.umask(before)


def mode(path):
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_records_are_their_owners(tmp_path):
    write_text(tmp_path / "reports" / "pve1" / "audit.json", "{}")
    assert [mode(path) for path in (tmp_path / "reports", tmp_path / "reports" / "pve1",
                                    tmp_path / "reports" / "pve1" / "audit.json")] == ["0o700", "0o700", "0o600"]


@pytest.mark.parametrize("name", ["gpuhost.prom", "junit.xml", "index.html", "findings.jsonl"])
def test_files_of_findings_follow_the_umask(tmp_path, name):
    write_text(tmp_path / name, "")
    assert mode(tmp_path / name) == "0o644"


@pytest.mark.parametrize(("given", "of_file", "of_folder"), [
    ("0644", "0o644", "0o755"), ("0640", "0o640", "0o750"), ("600", "0o600", "0o700"), ("0660", "0o660", "0o770")])
def test_the_user_decides(tmp_path, given, of_file, of_folder):
    modes.choose(given)
    write_text(tmp_path / "pve1" / "audit.json", "{}")
    assert (mode(tmp_path / "pve1" / "audit.json"), mode(tmp_path / "pve1")) == (of_file, of_folder)


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    folder = tmp_path / "pve1"
    folder.mkdir()
    folder.chmod(0o755)
    write_text(folder / "audit.json", "{}")
    assert mode(folder) == "0o755"


@pytest.mark.parametrize("given", [420, "0o644", "rw-r--r--", "0044", "", "07777", True])
def test_what_is_no_mode_is_one_clear_error(given):
    with pytest.raises(ValueError, match="gpuhost_report_mode: wanted four octal digits"):
        modes.choose(given)


@pytest.mark.parametrize("name", [".clusters", ".rollouts", "index.html", "..", "a/b", "a\0b"])
def test_no_host_has_the_name_of_what_lies_beside_it(tmp_path, name):
    with pytest.raises(RecordError, match="cannot be used as a directory name"):
        HostFolder(str(tmp_path), name)
