# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stub of `qm set` for tests without Proxmox VE.

It takes the options and the digest like qemu-server, and writes the configuration: for a running VM, changes that need
a restart go to the section PENDING (sources in docs/placement.md).
"""
from __future__ import annotations

import hashlib
import pathlib
import re

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.program import ProgramResult

OPTION = re.compile(r"--(affinity|numa[0-7]?|delete|revert|digest)")


class QmStub:
    """`calls` are the argument lists of its calls; `meanwhile` is called before it reads the file."""

    def __init__(self, folder: pathlib.Path, running: bool) -> None:
        self.folder, self.running = folder, running
        self.calls: list[list[str]] = []
        self.meanwhile = lambda: None

    def __call__(self, argv: list[str], _timeout: float) -> ProgramResult:
        self.calls.append(argv)
        self.meanwhile()
        assert argv[:2] == ["qm", "set"] and argv[2].isdecimal() and len(argv) % 2 == 1
        options = {}
        for name, text in zip(argv[3::2], argv[4::2]):
            known = OPTION.fullmatch(name)
            if known is None:
                return _failed(f"Unknown option: {name}")
            options[known[1]] = text
        path = self.folder / f"{argv[2]}.conf"
        raw = path.read_bytes()
        if hashlib.sha1(raw).hexdigest() != options.pop("digest"):
            return _failed("checksum mismatch (file change by other user?)")
        now, _bracket, waiting = raw.decode().partition("[PENDING]\n")
        path.write_text(self._write(_pairs(now), _pairs(waiting), options))
        return ProgramResult(0, "", "", None)

    def _write(self, now: dict[str, str], waiting: dict[str, str], options: dict[str, str]) -> str:
        gone = set(filter(None, waiting.pop("delete", "").split(",")))
        reverted, deleted = (set(filter(None, options.pop(name, "").split(","))) for name in ("revert", "delete"))
        for name in reverted | set(options) | deleted:
            waiting.pop(name, None)
            gone.discard(name)
        target = waiting if self.running else now
        target.update(options)
        waiting = {name: text for name, text in waiting.items() if now.get(name) != text}
        if self.running:
            gone |= {name for name in deleted if name in now}
        else:
            now = {name: text for name, text in now.items() if name not in deleted}
        pending = ({"delete": ",".join(sorted(gone))} if gone else {}) | waiting
        lines = [f"{name}: {text}\n" for name, text in now.items()]
        return "".join(lines + (["[PENDING]\n"] + [f"{name}: {text}\n" for name, text in pending.items()]
                                if pending else []))


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def _failed(message: str) -> ProgramResult:
    return ProgramResult(255, "", message, f"qm ended with status 255: {message}")
