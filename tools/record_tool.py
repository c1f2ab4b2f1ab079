# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""record_tool.py FILE: write gpuhost-record to FILE, a single-file program that records a host without Ansible.

It is built from the sources that audits and recordings send. The output is reproducible: the same sources give the same
bytes with any Python version. PYTHONPATH must contain plugins/, as set by `make record-tool`.
"""
from __future__ import annotations

import hashlib
import pathlib
import sys

from module_utils._one_file.archive import make_program

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "plugins" / "module_utils"


def read(room: str, file: str) -> str:
    return (SOURCES / room / f"{file}.py").read_text(encoding="utf-8")


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    program = make_program("gpuhost-record", ("_recording", "command"), read)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(program)
    print(f"{target}: {len(program)} bytes, SHA-256 {hashlib.sha256(program).hexdigest()}")


if __name__ == "__main__":
    main()
