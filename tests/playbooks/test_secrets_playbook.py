# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of a host are in nothing that an audit and a recording leave on the controller, and in nothing they print."""
from __future__ import annotations

import gzip

from hosts.secretive import SECRETS, secretive


def test_no_secret_in_any_file_nor_on_the_terminal(controller, make_tree):
    hosts = {"pve1": secretive(make_tree("pve1"))}
    said = "".join(controller.play(playbook, hosts, "-vvv").succeeded().output
                   for playbook in ("audit.yml", "record.yml"))
    files = [path for path in controller.reports.rglob("*") if path.is_file()]
    assert {"audit.json", "system-improve.md", "recording.tar.gz"} <= {path.name for path in files}
    held = b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files)
    assert [secret for secret in SECRETS if secret in said or secret.encode() in held] == []
    assert b"masked" in held
