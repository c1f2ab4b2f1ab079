# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Set the placement options of a VM with `qm set --digest`; nothing else of the VM is changed (`man qm`).

Nothing is started, stopped or migrated. The digest is the SHA-1 of the configuration that was read: if it has been
modified since, qm refuses (update_vm_api of PVE/API2/Qemu.pm).
"""
from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from .._host.host import Host
from .._host.program import run_program
from .._host.reading import error_text
from .._pve.config import parse_sections
from .options import Options, alike, check_options, holding_next

TIME_LIMIT = 60.0           # seconds for qm, which waits for the configuration lock
_SUBJECT = re.compile(r"vm:([1-9]\d{2,8})")
Run = Callable[[list[str], float], Any]        # as run_program()


class PlacedVm:
    """One VM and its desired options: `{set: options, only_from: options}`; `only_from` is optional."""

    def __init__(self, host: Host, subject: str, entry: object) -> None:
        """ValueError if `subject` is not a VM, and for options that are not set here."""
        number = _SUBJECT.fullmatch(subject)
        if number is None:
            raise ValueError(f"{subject!r} is no VM: wanted vm: and its number, such as vm:200")
        if not isinstance(entry, dict) or not {"set"} <= set(entry) <= {"set", "only_from"}:
            raise ValueError(f"{subject}: wanted set, and perhaps only_from, found {entry!r}")
        self.host, self.subject, self.number = host, subject, number[1]
        self.wanted = check_options(entry["set"], f"{subject}: set")
        self.only_from = None if entry.get("only_from") is None else check_options(
            entry["only_from"], f"{subject}: only_from")
        self.path = f"/etc/pve/qemu-server/{self.number}.conf"

    def apply(self, check_mode: bool, run: Run = run_program) -> dict:
        """Set the options; returns a change as the setters do, with mappings of options as values."""
        if not self.host.live:
            return self._change(None, "skipped", "needs a live host")
        try:
            text, sections = self._look()
        except (OSError, ValueError) as error:
            reason = error_text(error) if isinstance(error, OSError) else str(error)
            return self._change(None, "refused", f"{self.path}: {reason}")
        before = holding_next(sections, list(self.wanted))
        refusal = self._refusal(dict(sections[""]), before)
        if self._is(before):
            return self._change(before, "unchanged", None)
        if refusal or check_mode:
            return self._change(before, "refused" if refusal else "would_change", refusal)
        result = run(self._command(text, dict(sections[""]), before), TIME_LIMIT)
        return self._read_back(before, "qm is not installed" if result is None else result.problem)

    def _look(self) -> tuple[bytes, dict]:
        text = self.host.read_bytes(self.path)
        return text, parse_sections(text.decode("utf-8", "replace"))

    def _refusal(self, now: dict, before: Options) -> str | None:
        if now.get("lock"):
            return f"the VM is locked ({now['lock']})"
        for name, text in (self.only_from or {}).items():
            if name in before and not alike(name, before[name], text):
                return f"{name} is {before[name] or 'not set'}, and no longer {text or 'not set'}: somebody changed it"
        return None

    def _is(self, found: Options) -> bool:
        return all(alike(name, found[name], text) for name, text in self.wanted.items())

    def _command(self, text: bytes, now: dict, before: Options) -> list[str]:
        """The qm command: a merely pending change is reverted, otherwise the options are set or deleted."""
        command = ["qm", "set", self.number, "--digest", hashlib.sha1(text).hexdigest()]  # nosec: as Proxmox VE does
        different = [name for name, wanted in self.wanted.items() if not alike(name, before[name], wanted)]
        if all(alike(name, now.get(name), self.wanted[name]) for name in different):
            return [*command, "--revert", ",".join(different)]
        for name in different:
            if self.wanted[name] is not None:
                command += [f"--{name}", str(self.wanted[name])]
        deleted = [name for name in different if self.wanted[name] is None]
        return command + (["--delete", ",".join(deleted)] if deleted else [])

    def _read_back(self, before: Options, problem: str | None) -> dict:
        try:
            after = holding_next(self._look()[1], list(self.wanted))
        except (OSError, ValueError) as error:
            return self._change(before, "refused", f"{self.path} cannot be read after qm set: {error}")
        if self._is(after):
            return self._change(before, "changed", None, after)
        reason = problem or "qm set ended well, but the configuration has other values"
        return self._change(before, "refused", reason, after)

    def _change(self, before: Options | None, outcome: str, reason: str | None, after: Options | None = None) -> dict:
        return {"address": self.subject, "before": before, "wanted": self.wanted,
                "after": before if after is None else after, "outcome": outcome, "reason": reason}
