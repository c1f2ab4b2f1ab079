# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The command for the next step, with the host and connection options of the current command."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import sys
from collections.abc import Iterator, Sequence

PLAYBOOKS = ("audit", "tune_runtime", "verify", "restore", "persist")
_COLLECTION = "gpuhost.tuning."
# Which hosts, and how to reach them. Other arguments may hold a password or belong to the current step.
_TAKEN = ("-i", "--inventory", "--inventory-file", "-l", "--limit", "-u", "--user")
_TAKEN_ALONE = ("-K", "--ask-become-pass", "-k", "--ask-pass", "-b", "--become")
_VARIABLES = ("-e", "--extra-vars")
_WIDTH = 97     # including the continuation backslash
_OF_THIS_RUN = ("gpuhost_run_id", "gpuhost_fail_on")

# Ansible's messages when sudo or a similar program is missing or wants a password.
_NO_BECOME = re.compile(r"(?:missing|incorrect) \w+ password|become success|privilege escalation", re.IGNORECASE)


def become_hint(message: str) -> str | None:
    """What to do about a privilege escalation error; None for another error."""
    if not _NO_BECOME.search(message):
        return None
    return ("Only root can read everything on a host: use --ask-become-pass, connect as root with -u root, or audit "
            "without root and get fewer results: -e gpuhost_become=false")


def command(playbook: str, *words: str, argv: Sequence[str] | None = None) -> str:
    """`ansible-playbook -i hosts.yml -l pve1 gpuhost.tuning.verify WORDS`, as the user would type it.

    Takes from `argv` (default: this process' arguments) the options that select and reach hosts, and the variables of
    this collection except those of the current run.
    """
    argv = sys.argv if argv is None else argv
    program, *given = argv
    return shlex.join([_program(program), *_taken(given), _playbook(playbook, given), *words])


def lines(playbook: str, *words: str) -> list[str]:
    """The command, wrapped with backslashes to at most 100 columns."""
    found = ["  "]
    for word in shlex.split(command(playbook, *words)):
        quoted = shlex.quote(word)
        if len(found[-1]) + len(quoted) > _WIDTH and found[-1].strip():
            found[-1] += "\\"
            found.append("      ")
        found[-1] += f"{quoted} "
    return [line.rstrip(" ") for line in found]


def _program(path: str) -> str:
    """The program's name, or its relative path if it belongs to a checkout that is not on PATH."""
    name = os.path.basename(path)
    if name != "ansible-playbook":
        return "ansible-playbook"       # python -m ansible playbook
    here = os.path.relpath(path)
    in_checkout = here.startswith(".venv" + os.sep)
    return here if in_checkout else path if os.sep in path and not os.path.isabs(path) else name


def _playbook(name: str, given: Sequence[str]) -> str:
    """The playbook next to the running one; its fully qualified name if the running one is the user's own."""
    for word in given:
        path = pathlib.PurePath(word)
        if path.suffix in (".yml", ".yaml") and path.stem in PLAYBOOKS and path.parent.name == "playbooks":
            return str(path.with_name(f"{name}.yml"))
    return _COLLECTION + name


def _taken(given: Sequence[str]) -> Iterator[str]:
    words = iter(given)
    for word in words:
        option, equals, value = word.partition("=")
        if word in _TAKEN_ALONE:
            yield word
        elif option in _TAKEN or option in _VARIABLES:
            value = value if equals else next(words, "")
            if option in _TAKEN or _is_ours(value):
                yield from (f"{option}={value}",) if equals else (option, value)
        elif word[:2] in ("-i", "-l", "-u") and not word.startswith("--"):
            yield word


def _is_ours(variables: str) -> bool:
    """Whether the text (JSON or `name=value` words) sets only variables of this collection, none of the current run."""
    try:
        given = json.loads(variables) if variables.startswith("{") else dict(
            word.partition("=")[::2] for word in shlex.split(variables))
    except ValueError:
        return False
    return all(name.startswith("gpuhost_") and name not in _OF_THIS_RUN for name in given)
