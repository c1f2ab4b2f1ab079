# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Conversion of Ansible's tagged and lazy containers to plain Python types."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = frozenset((str, int, float, bool, type(None)))


def untag(thing: Any) -> Any:
    """`thing` as dict, list, str, int, float, bool and None only.

    Since ansible-core 2.19 filters and action plugins get lazy and tagged containers, which jmespath's functions and
    json.dumps() reject.
    """
    kind = type(thing)
    if kind in _PLAIN:
        return thing
    # A host's facts hold tens of thousands of values, nearly all of these types.
    if kind is dict:
        return {untag(key): value if type(value) in _PLAIN else untag(value) for key, value in thing.items()}
    if kind is list:
        return [item if type(item) in _PLAIN else untag(item) for item in thing]
    return _of_a_subclass(thing)


def _of_a_subclass(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return {untag(key): untag(value) for key, value in thing.items()}
    if isinstance(thing, str):
        return str.__str__(thing)
    if isinstance(thing, Sequence):
        return [untag(item) for item in thing]
    if isinstance(thing, int):
        return int(thing)
    if isinstance(thing, float):
        return float(thing)
    return str(thing)
