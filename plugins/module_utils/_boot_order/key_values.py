# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Files of `KEY=value` lines sourced by shells: /etc/default, /etc/sysconfig, tlp.conf, ksmtuned.conf."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .._host.host import Host

_LINE = re.compile(r"""^\s*(?:export\s+)?(?P<key>\w+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s#]*))""")


class Line(NamedTuple):
    value: str
    path: str
    number: int


def read_lines(host: Host, paths: Iterable[str]) -> dict[str, Line]:
    """Return the last line of each key."""
    found = {}
    for path in paths:
        for number, text in enumerate((host.read(path).value or "").splitlines(), 1):
            line = _LINE.match(text)
            if line is not None:
                found[line["key"]] = Line(line["double"] or line["single"] or line["bare"] or "", path, number)
    return found
