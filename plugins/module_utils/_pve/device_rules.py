# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Device rules of a container, `lxc.cgroup2.devices.allow: c 195:* rwm`, parsed the way LXC parses them.

Source: device_cgroup_rule_parse(), device_cgroup_parse_access() and device_cgroup_rule_parse_devpath() in
src/lxc/cgroups/cgfsng.c of lxc 6; lxc_safe_int() in src/lxc/string_utils.c. A container with a rule that they
reject does not start. This file only parses; it reads nothing.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .._kernel.device_majors import owners

_KEY = re.compile(r"lxc\.cgroup2?\.devices\.(allow|deny)")
_ACCESS = frozenset("rwm")
_MAJOR_WORD = re.compile(r"[abc]?\s*(0[xX][0-9a-fA-F]{1,8}|[0-9a-fA-F]{1,8})\s*(?::|$)")
_DECIMAL = re.compile(r"[1-9][0-9]{0,8}")
_OF_GPUS = ("nvidia", "gdrdrv", "kfd", "drm")


class Rule(NamedTuple):
    """One line of a container's device rules; a number that is None stands for `*`."""

    key: str
    value: str
    kind: str | None    # a, b or c; None if LXC cannot parse the line, and for a rule by path
    major: int | None
    minor: int | None
    access: str         # a combination of r, w and m
    path: str | None    # path of a device node of the host, if the rule names one
    error: str | None   # why LXC cannot parse the line
    ignored: str | None     # trailing text, which LXC ignores


def parse_rules(settings: list[tuple[str, str]], verb: str = "allow") -> list[Rule]:
    """The allow or deny rules among a container's settings, for both cgroup versions."""
    return [parse_rule(key, value) for key, value in settings
            if (found := _KEY.fullmatch(key)) is not None and found[1] == verb]


def parse_rule(key: str, value: str) -> Rule:
    """Parse one line. `value` has no surrounding blanks; LXC strips them as well."""
    text = _unquoted(value)
    if text == "a":
        return Rule(key, value, "a", None, None, "rwm", None, None, None)
    if text.startswith("/") and key.endswith("cgroup2.devices.allow"):
        return _parse_path(key, value, text)
    try:
        kind, major, minor, rest = _parse_numbers(text)
        access, ignored = _parse_access(rest)
    except ValueError as error:
        return Rule(key, value, None, None, None, "", None, str(error), None)
    return Rule(key, value, kind, major, minor, access, None, None, ignored)


def _unquoted(value: str) -> str:
    """Strip one pair of quotes, as LXC does (parse_line() in src/lxc/confile.c)."""
    return value[1:-1] if len(value) > 1 and value[0] in "'\"" and value[-1] == value[0] else value


def _parse_numbers(text: str) -> tuple[str, int | None, int | None, str]:
    """`c 195:* rwm` as c, 195, None and `rwm`. ValueError: why LXC rejects the text."""
    if text[:1] not in ("a", "b", "c"):
        raise ValueError("it does not begin with a, b or c")
    if not text[1:2].isspace():
        raise ValueError(f"no space after {text[0]}")
    if text[2:3].isspace():
        raise ValueError(f"more than one space after {text[0]}")
    major, rest = _parse_number(text[2:], "major")
    if rest[:1] != ":":
        raise ValueError(f"the major {text[2:].partition(':')[0]!r} is not a decimal number")
    minor, rest = _parse_number(rest[1:], "minor")
    if not rest[:1].isspace():
        raise ValueError("no space and access letters (r, w, m) after the minor")
    return text[0], major, minor, rest[1:]


def _parse_number(text: str, name: str) -> tuple[int | None, str]:
    """The leading number and the rest of the text; as with strtol() and base 0, a leading 0 means octal."""
    if text[:1] == "*":
        return None, text[1:]
    digits = re.match(r"[0-9]*", text)[0]
    word = re.match(r"[^:\s]*", text)[0]
    if not digits:
        raise ValueError(f"the {name} {word!r} is neither a number nor *")
    try:
        number = int(digits, 8) if digits[0] == "0" and digits != "0" else int(digits)
    except ValueError:
        raise ValueError(f"the {name} {word!r} begins with 0 but is not an octal number") from None
    if number > 0x7FFFFFFF:
        raise ValueError(f"the {name} {word!r} is too large")
    return number, text[len(digits):]


def _parse_access(text: str) -> tuple[str, str | None]:
    """The access letters and the text after them: LXC looks at three characters only."""
    wrong = next((sign for sign in text[:3] if sign not in _ACCESS), None)
    if wrong is not None:
        raise ValueError(f"the access {text!r} has letters other than r, w and m")
    return text[:3], text[3:].strip() or None


def _parse_path(key: str, value: str, text: str) -> Rule:
    """`/dev/nvidia0 rw`: LXC uses the device numbers that the node has when the container starts."""
    path, _blank, rest = text.partition(" ")
    access, _blank, ignored = rest.strip().partition(" ")
    if not access or not _ACCESS.issuperset(access[:3]):
        return Rule(key, value, None, None, None, "", path, "no access letters (r, w, m) after the path", None)
    return Rule(key, value, None, None, None, access[:3], path, None, ignored.strip() or None)


def at_path(rule: Rule, nodes: Mapping[str, Mapping]) -> Rule:
    """Fill in the device numbers of a rule by path from the host's `nodes`; other rules are returned unchanged.

    `nodes` is `{path: {type, major, minor}}`.
    """
    if rule.path is None or rule.error is not None:
        return rule
    node = nodes.get(rule.path)
    if node is None:
        return rule._replace(error=f"the host has no device node {rule.path}")
    return rule._replace(kind=node["type"], major=node["major"], minor=node["minor"])


def base_hint(rule: Rule, majors: list[dict]) -> str | None:
    """The GPU driver that the major would mean if it were written in another base; None if there is none.

    `majors` are those of /proc/devices, `[{name, major}]`. `stat -c %t` prints majors in hexadecimal.
    """
    found = _MAJOR_WORD.match(rule.value)
    if found is None or (rule.error is None and owners(majors, rule.major)):
        return None
    word = found[1]
    if _DECIMAL.fullmatch(word) and owners(majors, int(word)):
        return None
    others = ((16, "hexadecimal"), (8, "octal"), *([(10, "decimal")] if word.startswith("0") else []))
    for base, name in others:
        try:
            number = int(word, base)
        except ValueError:
            continue
        drivers = [owner for owner in owners(majors, number) if owner.startswith(_OF_GPUS)]
        if drivers and number != rule.major:
            return f"{word} read as {name} is {number}, the major of {drivers[0]}: LXC takes decimal numbers"
    return None


def allows_everything(settings: list[tuple[str, str]]) -> bool:
    """Whether the last rule about all devices (`a`, without numbers) is an allow: LXC then skips all other allows.

    See bpf_list_add_device() in src/lxc/cgroups/cgroup2_devices.c. Containers default to `deny = a`.
    """
    verbs = [found[1] for key, value in settings if (found := _KEY.fullmatch(key)) and _unquoted(value) == "a"]
    return verbs[-1:] == ["allow"]
