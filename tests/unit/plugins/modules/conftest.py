# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules run through main(), as Ansible runs them."""
from __future__ import annotations

import importlib
import json

import pytest


@pytest.fixture
def call(capsys):
    """`call("sysctl_snapshot", {"keys": [...]}, check=False, diff=False)` is the module's answer; failed or not."""
    from ansible.module_utils.testing import patch_module_args

    def run(name: str, arguments: dict, check: bool = False, diff: bool = False) -> dict:
        module = importlib.import_module(f"ansible_collections.gpuhost.tuning.plugins.modules.{name}")
        with patch_module_args({**arguments, "_ansible_check_mode": check, "_ansible_diff": diff}), \
                pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run
