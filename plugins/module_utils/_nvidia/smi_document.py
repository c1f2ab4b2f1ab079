# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Extract a parsable XML document from the output of `nvidia-smi -q -x`."""
from __future__ import annotations

import re
from xml.etree import ElementTree

END = "</nvidia_smi_log>"
# Characters that XML 1.0 does not allow (www.w3.org/TR/xml, 2.2).
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME, _NAME_END = "<process_name>", "</process_name>"
_PLAIN_NAME = re.compile(r"[\w./+:=@ -]{1,200}", re.ASCII)


def parse_document(text: str) -> ElementTree.Element | None:
    """The element nvidia_smi_log; None for any other text."""
    text = _clean(text)
    if "<!ENTITY" in text:      # nvidia-smi defines none; an entity bomb does
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    return root if root.tag == "nvidia_smi_log" else None


def _clean(text: str) -> str:
    """The document without what a parser must reject: process names that are not plain text, as they may be arbitrary
    bytes, control characters elsewhere, and warnings that nvidia-smi prints before and after it."""
    head, *rest = text.split(_NAME)
    text = head + "".join(_with_plain_name(piece) for piece in rest)
    end = text.rfind(END)
    return _FORBIDDEN.sub("", text[max(text.find("<"), 0):end + len(END) if end >= 0 else None]).strip()


def _with_plain_name(piece: str) -> str:
    """What follows <process_name>: with the name if it is plain text."""
    name, end, behind = piece.rpartition(_NAME_END)
    return f"{_NAME}{name}{end}{behind}" if end and _PLAIN_NAME.fullmatch(name) else behind if end else ""


def why_not_parsed(text: str) -> str:
    """Why parse_document() failed, as a phrase that quotes nothing of the document."""
    if "<" not in text:
        return "no XML: " + ("; ".join(line.strip() for line in text.splitlines()[:2])[:200] or "no output")
    try:
        return f"its XML has the root {ElementTree.fromstring(_clean(text)).tag[:40]!r}, not 'nvidia_smi_log'"
    except ElementTree.ParseError as error:
        return f"its XML cannot be read: {error}"
