# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacement for the get-pip.py that ansible-test downloads: installs pip into an empty virtual environment.

The original is hosted outside the package index. Here pip comes from Python's ensurepip and then, in the requested
version, from the package index, so that access to an index is sufficient.
"""
from __future__ import annotations

import subprocess
import sys

packages = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", *packages])
