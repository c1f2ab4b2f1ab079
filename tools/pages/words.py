# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render catalogue texts as prose: host-dependent values become a name in angle brackets or their alternatives."""
from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import Check
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.instructions import Instructions
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.names import paths, result_path
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.template import Template
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import code, one_line
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import escape as escape_all

from .facts import description

OPEN, CLOSE = "\u27e6", "\u27e7"        # mathematical brackets, which no catalogue text contains
COMMANDS = ("cat", "echo", "for", "grep", "modprobe", "mount", "mv", "nvidia-smi", "prlimit", "rmmod", "setpci",
            "sysctl", "systemctl")
# Occurs in sentences but not in command lines.
SENTENCE = re.compile(r", |\. |: |; (?!do |done)")


def escape(text: object) -> str:
    """Escape `text` for one line of Markdown; characters that are harmless in prose are kept."""
    return re.sub(r"(?<=\w)\\(?=_\w)|\\(?=[{}#~])", "", escape_all(text))


def expression(text: str) -> list[str]:
    return ["```text", *one_line(text).splitlines(), "```"]


def prose(template: Template, check: Check) -> str:
    """The text on one line of Markdown, with placeholders such as `<actual>` for a finding's values."""
    return _marked(_written(template, check))


def lines(template: Template, check: Check) -> list[str]:
    """The text as lines of Markdown; a line that is a command becomes code."""
    if _is_choice(template):
        return [f"- {text}" for text in reasons(template, check)]
    return [code(plain(line)).replace("\\|", "|") if is_command(plain(line)) else _marked(line)
            for line in _written(template, check).strip().splitlines()]


def instructions(text: Instructions, check: Check) -> list[str]:
    """lines() for a text in which commands are marked."""
    return [line for one in text.lines for line in (
        [code(plain(_written(one.template, check))).replace("\\|", "|")] if one.is_command
        else lines(one.template, check))]


def block(template: Template, check: Check) -> list[str]:
    """The text as a code block."""
    return ["```text", *(line.rstrip() for line in plain(_written(template, check)).strip().splitlines()), "```"]


def plain(text: str) -> str:
    return text.replace(OPEN, "<").replace(CLOSE, ">")


def is_command(line: str) -> bool:
    return line.split(" ", 1)[0] in COMMANDS and not SENTENCE.search(line)


def reasons(template: Template | None, check: Check) -> list[str]:
    """One line of Markdown for each alternative of a text."""
    if template is None:
        return []
    if _is_choice(template):
        return [_marked(text) for text in alternatives(template.parts[0].tree, check)]
    return [prose(template, check)]


def _is_choice(template: Template) -> bool:
    return len(template.parts) == 1 and not isinstance(template.parts[0], str)


def alternatives(tree: dict, check: Check) -> list[str]:
    """The possible texts of `{a || (b && 'c') || 'd'}`, without the conditions."""
    if tree["type"] == "or_expression":
        return [text for child in tree["children"] for text in alternatives(child, check)]
    if tree["type"] == "and_expression":
        return alternatives(tree["children"][-1], check)
    return [_term(tree, check)]


def _written(template: Template, check: Check) -> str:
    return "".join(part if isinstance(part, str) else _choice(alternatives(part.tree, check))
                   for part in template.parts)


def _choice(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', or: '.join(dict.fromkeys(texts))})"


def _term(tree: dict, check: Check) -> str:
    """A literal unchanged, a joined list as one text, a name in brackets."""
    if tree["type"] == "literal":
        return str(tree["value"])
    if tree["type"] == "function_expression" and tree["value"] == "join":
        separator, parts = tree["children"]
        if separator["type"] == "literal" and parts["type"] == "multi_select_list":
            pieces = [_choice(alternatives(part, check)) for part in parts["children"]]
            return str(separator["value"]).join(pieces)
        return _term(parts, check)
    read = result_path(tree) or next(reversed([path for _node, path in paths(tree)]), "")
    # A fact that is a sentence is represented by its schema description.
    sentence = description(absolute(read, check)).partition("; null")[0]
    if sentence.endswith(" (a sentence)"):
        return sentence.removesuffix(" (a sentence)")
    return f"{OPEN}{short(read)}{CLOSE}"


def absolute(path: str, check: Check) -> str:
    """`it.governor` as a path from `host`."""
    if check.each is not None and re.match(r"it\b", path):
        above = result_path(check.each.tree)
        return f"{above}{'' if above.endswith(']') else '[]'}{path.removeprefix('it')}" if above else path
    return path


def short(path: str) -> str:
    """The last name of a path."""
    return re.sub(r"\[[^\]]*\]$", "", path).rpartition(".")[2].strip('"') if '"' not in path else path.split('"')[-2]


def _marked(text: str) -> str:
    pieces = re.split(f"{OPEN}(.*?){CLOSE}", one_line(text))
    # Spaces at the ends of a piece must survive the escaping.
    return "".join(code(f"<{piece}>") if number % 2 else escape(f"|{piece}|")[2:-2]
                   for number, piece in enumerate(pieces))


def reads(check: Check) -> Iterator[tuple[str, list[str]]]:
    """The paths that the check reads, by purpose; of nested paths only the longest."""
    groups = [("what is", [check.actual]), ("what is wanted", [check.expect.source]),
              ("of what", [check.each]), ("whether it applies", [check.applies]),
              ("whether a change is planned", [condition.expression for condition in check.plan_if]),
              ("how urgent it is", [escalation.condition for escalation in check.escalations])]
    seen: set[str] = set()
    for purpose, expressions in groups:
        found = [absolute(path, check) for expression in expressions if expression is not None
                 for _node, path in paths(expression.tree)]
        found = [path for path in dict.fromkeys(found) if path.startswith("host.") and path not in seen
                 and not any(other != path and other.startswith((f"{path}.", f"{path}[")) for other in found)]
        seen.update(found)
        if found:
            yield purpose, found
