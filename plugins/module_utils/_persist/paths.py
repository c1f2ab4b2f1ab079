# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The fixed list of files that persist settings. No other file below /etc or /usr is ever written.

No name is chosen to sort after another configuration's: which one is effective is known before anything is written.
"""
from __future__ import annotations

from .._boot.place import PLAN

UNIT_NAME = "gpuhost-boot.service"
UNIT_FOLDER = "/etc/systemd/system"

SYSCTLS = "/etc/sysctl.d/90-gpuhost.conf"
UNIT = f"{UNIT_FOLDER}/{UNIT_NAME}"
# The link that `systemctl enable` would create for WantedBy=multi-user.target (man 1 systemctl).
ENABLED = f"{UNIT_FOLDER}/multi-user.target.wants/{UNIT_NAME}"
ENABLED_TEXT = f"../{UNIT_NAME}"
RULE = "/etc/udev/rules.d/90-gpuhost.rules"
PROGRAM = "/usr/local/lib/gpuhost/gpuhost-boot.pyz"
LEDGER = "/var/lib/gpuhost/persisted.json"

# In the order of writing: each file comes after those that it starts. Removed in reverse order.
FILES = (PROGRAM, PLAN, UNIT, RULE, ENABLED, SYSCTLS)
EVERY_PATH = (*FILES, LEDGER)
# Folders that are ours by name.
OWN_FOLDERS = ("/usr/local/lib/gpuhost", "/var/lib/gpuhost")
