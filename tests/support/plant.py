# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""python3 tests/support/plant.py HOST FOLDER: plant a host of tests/hosts (story_before, reference, sick, ...)."""
from __future__ import annotations

import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from hosts.tree import Tree


def main(argv: list[str]) -> int:
    if len(argv) != 2 or pathlib.Path(argv[1]).exists():
        print(f"{__doc__}\nFOLDER must not exist yet.", file=sys.stderr)
        return 2
    name, folder = argv
    try:
        plant = getattr(importlib.import_module(f"hosts.{name}"), name)
    except (ImportError, AttributeError):
        print(f"{name} is no host: tests/hosts/{name}.py with a function of that name is wanted", file=sys.stderr)
        return 2
    plant(Tree(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
