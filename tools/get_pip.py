# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the get-pip.py that ansible-test downloads: puts pip into an empty virtual environment.

The original lies on a host of its own. Here pip comes from Python's ensurepip and then, in the version asked for, from
the package index, so that a network which reaches nothing but an index will do.
"""
from __future__ import annotations

import subprocess
import sys

packages = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", *packages])
