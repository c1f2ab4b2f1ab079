# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Detect the kind of a posted file from its content, not from its name."""
from __future__ import annotations

import codecs
import pathlib
import re
import tarfile

from .blocks import START
from .lines import peek
from .recorded_host import Refused

BUG_REPORT, LSPCI, RECORDING, SOS, PVEREPORT = "nvidia-bug-report", "lspci", "recording", "sosreport", "pvereport"
KINDS = (BUG_REPORT, LSPCI, RECORDING, SOS, PVEREPORT)
WANTED = ("nvidia-bug-report.log or .log.gz, a recording of gpuhost, the archive of a sosreport, what pvereport "
          "prints, or the text of `lspci -nnDvvvxxxx` with that of dmesg or `journalctl -k`")

_ZIP = b"PK\x03\x04"
_TAR_MAGIC = slice(257, 262)
_LSPCI = re.compile(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] [A-Z0-9]", re.MULTILINE)
_DMESG = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d{6}\] ", re.MULTILINE)
# In any language, or with the dates of rsyslog 8: `août 25 19:38:03 host kernel: `, `2026-01-26T12:53:36.7+01:00 ...`
_JOURNAL = re.compile(r"^(?:\S{3,10} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT[\d:.+Z-]+) \S+ kernel: ",
                      re.MULTILINE)
_SETTINGS = re.compile(r"^(?:(?:kernel|vm|net|fs)\.[\w.]+ = |/(?:sys|proc)/[\w/.:-]+:)", re.MULTILINE)
_PASTED = (_LSPCI, _DMESG, _JOURNAL, _SETTINGS)
_PVEREPORT = re.compile(r"^==== general system info ====$", re.MULTILINE)
MEMBERS_LOOKED_AT = 400


def detect(path: pathlib.Path) -> str:
    """One of KINDS. Raises Refused for anything else, OSError if the file cannot be read."""
    start = peek(path)
    if not start:
        raise Refused(f"it is empty, or nothing of it can be unpacked. Wanted {WANTED}")
    if start.startswith(_ZIP):
        raise Refused(f"it is a zip archive: unpack it, and import the file in it. Wanted {WANTED}")
    if start[_TAR_MAGIC] == b"ustar":
        return _kind_of_archive(path)
    text = _decoded(start)
    if START in text:
        return BUG_REPORT
    if _PVEREPORT.search(text):
        return PVEREPORT
    if any(form.search(text) for form in _PASTED):
        return LSPCI
    shown = next((line.strip() for line in text.splitlines() if line.strip()), "")[:60]
    raise Refused(f"it is none of the reports that can be imported: it begins {shown!r}. Wanted {WANTED}")


def _decoded(start: bytes) -> str:
    wide = start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return start.decode("utf-16" if wide else "utf-8", "replace").replace("\r\n", "\n")


def _kind_of_archive(path: pathlib.Path) -> str:
    """A recording has proc, sys or recorded at its top; a sosreport has them and sos_commands in one folder."""
    names: list[str] = []
    try:
        with tarfile.open(path) as members:
            for member in members:
                names.append(member.name.removeprefix("./"))
                if len(names) >= MEMBERS_LOOKED_AT:
                    break
    except (tarfile.TarError, EOFError, OSError) as error:
        if not names:
            raise Refused(f"its archive cannot be read: {error}") from error
    tops = {name.partition("/")[0] for name in names}
    if tops & {"recorded", "proc", "sys"}:
        return RECORDING
    seconds = {name.split("/")[1] for name in names if "/" in name}
    if any(top.startswith("sosreport") for top in tops) or "sos_commands" in seconds:
        return SOS
    raise Refused(f"it is an archive of something else: it holds {', '.join(sorted(tops)[:5])}. Wanted {WANTED}")
