# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage done to bytes, texts and documents, told by a random number generator: the same seed does the same."""
from __future__ import annotations

import random
from typing import Any

ODD_BYTES = (b"\0", b"\xff\xfe", b"\x1b[2J", b"9" * 5000, b"-1", b"[" * 3000, b"{" * 3000, b"0-65535," * 400,
             b"\n" * 500, b"=", b":", b"\xe2\x80\xae", b"0x" + b"f" * 400, b"%s%n", b"../" * 60, b"A" * 9000, b"\t",
             b"\"", b"1e999")
ODD_VALUES = (None, True, -1, 1 << 70, 1.5, "", "\ud800", "\x1b[2J", "9" * 5000, [], {}, [[]], {"status": "ok"},
              {"status": "ok", "value": []}, {"status": "absent", "value": None}, "0-65535", "../../etc/shadow",
              "A" * 70000)


def damage_bytes(dice: random.Random, data: bytes) -> bytes:
    """`data` with one to three kinds of damage."""
    for _time in range(dice.randint(1, 3)):
        at = dice.randint(0, len(data))
        end = min(len(data), at + dice.randint(0, 40))
        odd = dice.choice(ODD_BYTES)
        kind = dice.randrange(8)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + odd + data[at:]
        elif kind == 2:
            data = data[:at] + odd + data[end:]
        elif kind == 3:
            data = data[:at] + dice.randbytes(dice.randint(1, 8)) + data[end:]
        elif kind == 4:
            data = data[:at] + data[end:]
        elif kind == 5:
            data += data
        elif kind == 6:
            data = data[:at] + data[:end] + data[at:]
        else:
            data = dice.choice((odd, b"", odd + b"\n"))
    return data[:1 << 20]


def damage_document(dice: random.Random, document: Any) -> None:
    """Change one to four places of a document in place: another value, a key less or more, a list that is long."""
    for _time in range(dice.randint(1, 4)):
        place, key = document, dice.choice(sorted(document))
        while isinstance(place[key], (dict, list)) and place[key] and dice.random() < 0.8:
            place = place[key]
            key = dice.choice(sorted(place, key=str)) if isinstance(place, dict) else dice.randrange(len(place))
        change = dice.random()
        if change < 0.2:
            del place[key]
        elif change < 0.3 and isinstance(place, dict):
            place[dice.choice(("odd", "\x1b[2J", "\ud800", ""))] = dice.choice(ODD_VALUES)
        elif change < 0.4 and isinstance(place[key], list) and place[key]:
            place[key] = place[key] * dice.choice((2, 40))
        else:
            place[key] = dice.choice(ODD_VALUES)
