# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built collection, installed as users install it, works without the checkout and without its ansible.cfg."""
from __future__ import annotations

import json
import subprocess
import sys

from checkout import REPOSITORY, environment


def test_the_installed_collection_audits_this_machine(tmp_path):
    def ansible(*words):
        done = subprocess.run(
            [sys.executable, "-m", "ansible", *words], text=True, capture_output=True, stdin=subprocess.DEVNULL,
            cwd=tmp_path, check=False,
            env=environment(ANSIBLE_HOME=str(tmp_path / "home"),
                            ANSIBLE_COLLECTIONS_PATH=str(tmp_path / "collections")))
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    ansible("galaxy", "collection", "build", str(REPOSITORY), "--output-path", str(tmp_path))
    [tarball] = tmp_path.glob("*.tar.gz")
    ansible("galaxy", "collection", "install", "--offline", str(tarball), "-p", str(tmp_path / "collections"))
    ansible("playbook", "gpuhost.tuning.audit", "-i", "localhost,", "-c", "local", "-e", json.dumps(
        {"gpuhost_become": False, "ansible_python_interpreter": sys.executable}))
    record = json.loads((tmp_path / "reports" / "localhost" / "audit.json").read_text())
    assert record["schema"] == "gpuhost.audit/2"
    assert record["findings"]
