# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare commands in a text with the documented options of their programs (program_options.yml)."""
from __future__ import annotations

import pathlib
import re
import shlex

import yaml

PROGRAMS = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
SHELL_WORDS = {"for", "while", "read", "do", "done", "if", "then", "fi", "in", "seq"}
_NAMES = "|".join(sorted(map(re.escape, PROGRAMS), key=len, reverse=True))
# A command ends with its sentence or its part of a pipe.
_COMMAND = re.compile(rf"(?<![\w./@-])({_NAMES})((?: +(?!(?:{_NAMES})\b)(?:'[^']*'|[^\s'`|;()]+))*)")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")


def unknown_options(text: str) -> list[str]:
    """`program: option` for each option or subcommand in `text` that is not in the program's manual."""
    found = []
    for name, rest in _COMMAND.findall(text):
        program = PROGRAMS[name]
        words = re.split(r"[,.:](?= |$)", rest)[0].split()
        known, commands = list(program.get("options", ())), program.get("commands", {})
        if words and words[0] in commands:
            known += commands[words[0]]
        elif words and commands and not program.get("options") and _OPTION.fullmatch(words[0]):
            found.append(f"{name}: {words[0]} before a subcommand")
        options = [match[0] for word in words if (match := _OPTION.match(word))]
        found += [f"{name}: {option}" for option in options if not _is_known(option, known)]
    return found


def unknown_programs(script: str) -> list[str]:
    """The programs started by a shell script whose manual is not listed."""
    found = []
    for line in script.splitlines():
        for part in re.split(r"; |\| |&& |\bdo ", line):
            words = shlex.split(part, comments=True) if part.count('"') % 2 == 0 and part.count("'") % 2 == 0 else []
            if words and re.fullmatch(r"[a-z][\w-]*", words[0]) and words[0] not in SHELL_WORDS | PROGRAMS.keys():
                found.append(words[0])
    return found


def _is_known(option: str, known: list[str]) -> bool:
    """A `[n]` stands for a number, or for the N of an instruction."""
    return option in known or re.sub(r"(?:\d+|N)$", "[n]", option) in known
