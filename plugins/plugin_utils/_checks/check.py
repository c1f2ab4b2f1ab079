# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A check, compiled from its YAML; schemas/check.schema.json explains the keys."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._expressions.errors import CatalogueError, ExpressionError
from .._expressions.expression import Expression, compile_expression
from .._expressions.template import Template, compile_template
from .instructions import Instructions, compile_instructions
from .operators import parse_wanted

_LINK = re.compile(r"https?://[^\s<>\"]+|[^\s:@]+@[^\s:@]+:[^\s:]+:[^\s:]+")
_WRITABLE_OPS = ("equals", "at_least")


@dataclass(frozen=True, slots=True)
class Expectation:
    op: str
    type: str
    value: Any                      # as the file has it
    wanted: Any                     # parsed by the type
    source: Expression | None       # expect.from


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that must be true, and the message if it is false."""

    expression: Expression
    otherwise: Template | None


@dataclass(frozen=True, slots=True)
class Fix:
    kind: str                       # the class
    tunable: Template | None
    value: Any                      # a Template if it is text
    how: Instructions | None
    risk: Template | None
    undo: Instructions | None
    persist: Template | None


class Escalation(NamedTuple):
    """A failing finding gets `priority` if `condition` is true."""

    priority: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Effect:
    """What serving gains from the fix, and the source for that."""

    size: str                       # one of EFFECTS
    source: str | None              # None: the check names none


@dataclass(frozen=True, slots=True)
class Check:
    id: str
    file: str
    name: str | None                # None: it is shown by its title
    title: Template
    topic: str
    priority: str
    escalations: tuple[Escalation, ...]
    applies: Expression | None
    otherwise: Template | None
    each: Expression | None
    subject: Expression | None
    actual: Expression
    absent_verdict: str | None
    absent_reason: Template | None
    expect: Expectation
    plan: bool
    plan_if: tuple[Condition, ...]
    why: Template
    problem: Template | None
    effect: Effect
    on_fail: Template | None
    on_pass: Template | None
    evidence: str
    contested: dict | None
    sources: list[str]
    source_links: list[str]
    takes_effect: str
    fix: Fix
    examples: dict[str, Any]

    def wanted(self, value: Any, origin: str) -> Any:
        """`value` of a profile or override, parsed like the check's own; CatalogueError if it does not fit."""
        try:
            return parse_wanted(self.expect.op, self.expect.type, value)
        except ValueError as error:
            raise CatalogueError(origin, self.id, "value", str(error)) from None

    def allow_priority(self, priority: str, origin: str) -> str:
        """`priority`; CatalogueError if it puts a tunable above P1."""
        if priority == "P0" and self.fix.tunable is not None:
            raise CatalogueError(origin, self.id, "priority", "a tunable is never above P1")
        return priority

    def expressions(self) -> Iterator[tuple[str, Expression]]:
        """Every expression over `host` and `it` except `each`, with its key."""
        named = [("applies", self.applies), ("subject", self.subject), ("actual", self.actual),
                 ("expect.from", self.expect.source),
                 *(("escalate.if", escalation.condition) for escalation in self.escalations),
                 *(("plan_if", condition.expression) for condition in self.plan_if)]
        return ((key, expression) for key, expression in named if expression is not None)

    def all_expressions(self) -> Iterator[Expression]:
        """The same, including `each` and the expressions in texts."""
        if self.each is not None:
            yield self.each
        for _key, expression in self.expressions():
            yield expression
        for _key, text in self.texts():
            yield from text.expressions

    def texts(self) -> Iterator[tuple[str, Template]]:
        """Every text, with its key."""
        fix = self.fix
        named = [("title", self.title), ("otherwise", self.otherwise), ("absent.reason", self.absent_reason),
                 ("why", self.why), ("problem", self.problem), ("fail", self.on_fail), ("pass", self.on_pass),
                 ("fix.tunable", fix.tunable), ("fix.value", fix.value), ("fix.risk", fix.risk),
                 ("fix.persist", fix.persist),
                 *(("fix.how", text) for text in (fix.how.templates() if fix.how else ())),
                 *(("fix.undo", text) for text in (fix.undo.templates() if fix.undo else ())),
                 *(("plan_if", condition.otherwise) for condition in self.plan_if)]
        return ((key, text) for key, text in named if isinstance(text, Template))


def build(data: dict[str, Any], file: str) -> Check:
    """The check described by one mapping of a file; the mapping is valid by the schema."""
    return _Builder(data, file).check()


class _Builder:
    def __init__(self, data: dict[str, Any], file: str) -> None:
        self.data, self.file, self.id = data, file, data["id"]

    def check(self) -> Check:
        data = self.data
        absent = data.get("absent", {})
        check = Check(
            id=self.id, file=self.file, topic=data["topic"], priority=data["priority"], evidence=data["evidence"],
            contested=data.get("contested"), sources=data["sources"], takes_effect=data["takes_effect"],
            source_links=self.source_links(),
            name=data.get("name"), problem=self.text("problem", data.get("problem")),
            effect=Effect(**data.get("effect", {"size": "unknown", "source": None})),
            title=self.text("title", data["title"]), why=self.text("why", data["why"]),
            otherwise=self.text("otherwise", data.get("otherwise")),
            applies=self.expression("applies", data.get("applies")), each=self.expression("each", data.get("each")),
            subject=self.expression("subject", data.get("subject")), actual=self.expression("actual", data["actual"]),
            absent_verdict=absent.get("verdict"), absent_reason=self.text("absent.reason", absent.get("reason")),
            escalations=self.escalations(),
            on_fail=self.text("fail", data.get("fail")), on_pass=self.text("pass", data.get("pass")),
            expect=self.expectation(), plan=data.get("plan", True), plan_if=self.conditions(), fix=self.fix(),
            examples=data.get("examples", {}))
        for priority in (check.priority, *(escalation.priority for escalation in check.escalations)):
            check.allow_priority(priority, self.file)
        self.require_value_to_write(check)
        return check

    def escalations(self) -> tuple[Escalation, ...]:
        given = self.data.get("escalate", [])
        return tuple(Escalation(one["priority"], self.expression("escalate.if", one["if"]))
                     for one in ([given] if isinstance(given, dict) else given))

    def source_links(self) -> list[str]:
        links = self.data.get("source_links", [])
        for link in links:
            if not _LINK.fullmatch(link):
                raise self.error("source_links", f"{link!r} is neither https://... nor PROJECT@VERSION:FILE:SYMBOL")
        return links

    def error(self, key: str, message: str) -> CatalogueError:
        return CatalogueError(self.file, self.id, key, message)

    def expression(self, key: str, text: str | None) -> Expression | None:
        try:
            return None if text is None else compile_expression(text, f"check {self.id}: {key}")
        except ExpressionError as error:
            raise self.error(key, f"{error.message} (in {error.text})") from None

    def text(self, key: str, text: str | None) -> Template | None:
        try:
            return None if text is None else compile_template(text, f"check {self.id}: {key}")
        except ExpressionError as error:
            raise self.error(key, f"{error.message} (in {error.text})") from None

    def instructions(self, key: str, text: str | None) -> Instructions | None:
        try:
            return None if text is None else compile_instructions(text, f"check {self.id}: {key}")
        except ExpressionError as error:
            raise self.error(key, f"{error.message} (in {error.text})") from None

    def expectation(self) -> Expectation:
        expect = self.data["expect"]
        op, type_name, value = expect["op"], expect["type"], expect.get("value")
        try:
            wanted = None if "from" in expect else parse_wanted(op, type_name, value)
        except ValueError as error:
            raise self.error("expect.value", str(error)) from None
        return Expectation(op, type_name, value, wanted, self.expression("expect.from", expect.get("from")))

    def conditions(self) -> tuple[Condition, ...]:
        given = self.data.get("plan_if", [])
        if isinstance(given, str):
            given = [{"if": given}]
        return tuple(Condition(self.expression("plan_if", one["if"]), self.text("plan_if", one.get("otherwise")))
                     for one in given)

    def fix(self) -> Fix:
        fix = self.data["fix"]
        value = fix.get("value")
        texts = {key: self.text(f"fix.{key}", fix.get(key)) for key in ("tunable", "risk", "persist")}
        instructions = {key: self.instructions(f"fix.{key}", fix.get(key)) for key in ("how", "undo")}
        return Fix(kind=fix["class"], value=self.text("fix.value", value) if isinstance(value, str) else value, **texts,
                   **instructions)

    def require_value_to_write(self, check: Check) -> None:
        """CatalogueError unless the operator yields one value to write; only the sysctl setter supports `at_least`."""
        fix, op = check.fix, check.expect.op
        if fix.tunable is None or fix.value is not None:
            return
        if op not in _WRITABLE_OPS or (op == "at_least" and not fix.tunable.text.startswith("sysctl:")):
            raise self.error("fix.value", f"the op {op} does not determine the value to write to {fix.tunable.text}: "
                                          "set it here")
