# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Name and version of this collection, for files used outside of it. galaxy.yml has the same ones."""
from __future__ import annotations

COLLECTION = "gpuhost.tuning"
VERSION = "1.0.0"
