# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Classify why a module did not load, from modprobe's message and the kernel log. Pure: nothing is read here.

Sources: kernel/module/main.c, kernel/module/signing.c, kernel/module/version.c; nvidia-peermem.c, which returns EINVAL
without a message if it was built without the peer memory interface.
"""
from __future__ import annotations

import re
from typing import NamedTuple

NOT_APPLICABLE = "not_applicable"
SYMBOL_MISMATCH = "symbol_mismatch"
SYMBOL_MISSING = "symbol_missing"
STUB = "stub"
SIGNATURE_REJECTED = "signature_rejected"
WRONG_VERSION = "wrong_version"
NO_DEVICE = "no_device"
IN_USE = "in_use"
NOT_INSTALLED = "not_installed"
TIMEOUT = "timeout"
UNKNOWN = "unknown"

_DMA_BUF = "use dma-buf (open driver, Linux 5.12 or newer), or install MLNX_OFED or DOCA-OFED and rebuild the driver"
HINTS = {
    SYMBOL_MISMATCH: "rebuild the driver after installing MLNX_OFED or DOCA-OFED, for the ib_core that is loaded",
    SYMBOL_MISSING: f"the ib_core of this kernel has no peer memory interface: {_DMA_BUF}",
    STUB: f"the module was built without the peer memory interface: {_DMA_BUF}",
    SIGNATURE_REJECTED: "the kernel does not trust the module's signature: enrol the key that DKMS signs with (MOK)",
    WRONG_VERSION: "the module was built for another kernel or driver: rebuild it",
    NO_DEVICE: "no device for the module",
    IN_USE: "it is in use",
    NOT_INSTALLED: "there is no such module for the running kernel",
}

# Checked in this order: the kernel's log is more specific than the error that it returned.
_LOG_RULES = (
    (SYMBOL_MISMATCH, re.compile(r"disagrees about version of symbol|Unknown symbol .*\(err -22\)")),
    (SYMBOL_MISSING, re.compile(r"Unknown symbol .*\(err (0|-2)\)")),
    (WRONG_VERSION, re.compile(r"version magic|NVRM: API mismatch")),
    (SIGNATURE_REJECTED, re.compile(r"Loading of (unsigned module|module with unavailable key) is rejected|"
                                    r"Lockdown: .*unsigned module")),
    (NO_DEVICE, re.compile(r"NVRM: No NVIDIA (devices|GPU)")),
)
# The strerror() text after `could not insert 'name': `.
_TEXT_RULES = (
    (NOT_INSTALLED, re.compile(r"Module \S+ not found")),
    (SIGNATURE_REJECTED, re.compile(r"Key was rejected by service|Required key not available|Key has (expired|been "
                                    r"revoked)|Bad message")),
    (WRONG_VERSION, re.compile(r"Exec format error|Invalid module format")),
    (NO_DEVICE, re.compile(r"No such device")),
    (IN_USE, re.compile(r"Device or resource busy|is in use|File exists")),
    (TIMEOUT, re.compile(r"timeout")),
    (SYMBOL_MISSING, re.compile(r"Unknown symbol in module")),
    (SIGNATURE_REJECTED, re.compile(r"Operation not permitted")),
)
_INVALID = re.compile(r"Invalid argument")
_SAID = re.compile(r"could not (?:insert|remove) '[^']*': (.+)")
_RELEVANT = re.compile(r"symbol|version magic|NVRM:|Lockdown:|module verification|Loading of|signature")
QUOTED = 4      # log lines


class Failure(NamedTuple):
    kind: str               # one of the failure classes above
    message: str               # the program's message
    log: list[str]          # what the kernel logged during the attempt
    hint: str | None

    def reason(self) -> str:
        return "; ".join([f"{self.kind}: {self.message}", *(f"kernel: {line}" for line in self.log[:QUOTED]),
                          *([self.hint] if self.hint else [])])


def classify(name: str, message: str, log: list[str]) -> Failure:
    """Classify a failure; `message` is what modprobe or rmmod printed, `log` the kernel log lines since it started."""
    spellings = (name, name.replace("_", "-"))
    lines = [line for line in log if line.startswith(spellings) or _RELEVANT.search(line)]
    found = _SAID.search(message)
    text = found[1] if found else message.strip()
    kind = _first(_LOG_RULES, lines) or _first(_TEXT_RULES, [text])
    if kind is None:
        kind = STUB if name == "nvidia_peermem" and _INVALID.search(text) and not lines else UNKNOWN
    return Failure(kind, text, lines, HINTS.get(kind))


def _first(rules: tuple, lines: list[str]) -> str | None:
    return next((kind for kind, pattern in rules if any(pattern.search(line) for line in lines)), None)
