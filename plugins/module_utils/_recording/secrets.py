# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What no recording holds: passwords and keys in files that an audit reads for other reasons."""
from __future__ import annotations

import re

WITHHELD = b"withheld"
_ENVIRONMENT = re.compile(r"/proc/[^/]+/environ")
_CONFIGURATION = re.compile(r"/etc/pve/.*\.(?:conf|cfg)")
# qm.conf(5) and pct.conf(5): comments are the description of a guest, free text that no fact needs.
_DESCRIPTION = re.compile(rb"^(#|%23).*$", re.MULTILINE)
_SECRET_KEY = re.compile(
    rb"^([ \t]*(?:cipassword|ciuser|cicustom|sshkeys|description|lxc\.environment[^\s:=]*)[ \t:=]+).*$", re.MULTILINE)
# QEMU takes secrets as objects: -object secret,id=...,data=...
_SECRET_OBJECT = re.compile(rb"(\bsecret,[^\0\n]*?\bdata=)[^,\0\s]*")
_PASSWORD = re.compile(rb"((?:password|passwd|passphrase|token|secret)=)[^,\0\s]*", re.IGNORECASE)


def withhold(path: str, data: bytes) -> bytes:
    """`data` of the file at `path` without secrets. Whether a container manager started the first process stays."""
    if _ENVIRONMENT.fullmatch(path):
        return b"".join(entry + b"\0" for entry in data.split(b"\0") if entry.startswith(b"container="))
    if _CONFIGURATION.fullmatch(path):
        data = _SECRET_KEY.sub(rb"\1" + WITHHELD, _DESCRIPTION.sub(rb"\1", data))
    if path.endswith("/config"):        # of PCI devices: registers
        return data
    return _PASSWORD.sub(rb"\1" + WITHHELD, _SECRET_OBJECT.sub(rb"\1" + WITHHELD, data))
