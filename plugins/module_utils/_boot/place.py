# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Where the plan of the values to set at boot is."""
from __future__ import annotations

PLAN = "/usr/local/lib/gpuhost/boot.json"
