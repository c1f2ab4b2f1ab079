# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Evaluation of checks: facts and checks in, findings out, without access to hosts or files."""
from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._derive.derive import derive
from .._expressions.errors import NOT_RECORDED, STATUS_IN_WORDS, ExpressionError, Unreadable, in_words, kind
from .._expressions.expression import Expression, evaluate
from .._expressions.template import Template
from . import reasons
from .catalogue import Profile
from .check import Check
from .effective import EffectiveCheck, effective_checks, select
from .findings import PRIORITIES, VERDICTS
from .fix import describe_fix
from .operators import compare, parse_wanted, recommended
from .order import ordered
from .saved_facts import completed
from .things import tally
from .waivers import Waiver, counting, expired, parse_waivers

# Derived from the list of GPUs alone.
_FROM_GPUS = ("compute_gpus", "nvidia_gpus", "gpu_count", "gpu_groups", "p2p", "aspm_links")
# Derived from the list of GPUs and other devices named in the kernel log.
_FROM_GPUS_AND_LOG = ("xids", "amdgpu_errors", "corrected_errors", "iommu_faults")
_OF_A_SUBJECT = frozenset(("it", "actual", "recommended"))


def judge(facts: Mapping[str, Any], checks: Sequence[Check], profile: Profile, *, host: str | None = None,
          dedicated: bool = False, allow_busy: bool = False, overrides: Mapping[str, Any] | None = None,
          waivers: Iterable[Mapping] = (), only: Sequence[str] = (), skip: Sequence[str] = (),
          include: Sequence[str] = (), peers: Mapping[str, Any] | None = None,
          today: datetime.date | None = None) -> list[dict[str, Any]]:
    """The findings of one host, the most important first.

    `facts` are plain types (host_info's, or saved ones); `host` is the inventory name, for waivers; `peers` are the
    facts of other cluster nodes by name. User errors (an unknown id, a waiver without a date, a value of the wrong
    type) raise CatalogueError.
    """
    effective, accepted = resolve(checks, profile, overrides=overrides, waivers=waivers, only=only, skip=skip,
                                  include=include)
    return judge_effective(facts, effective, accepted, host=host, dedicated=dedicated, allow_busy=allow_busy,
                           include=include, peers=peers, today=today)


def judge_effective(facts: Mapping[str, Any], effective: Iterable[EffectiveCheck], accepted: Iterable[Waiver], *,
                    host: str | None = None, dedicated: bool = False, allow_busy: bool = False,
                    include: Sequence[str] = (), peers: Mapping[str, Any] | None = None,
                    today: datetime.date | None = None) -> list[dict[str, Any]]:
    """judge() with what resolve() returned."""
    in_force = counting(accepted, host, today or datetime.date.today())
    known = {**_without_unseen_gpus(facts if "derived" in facts else derive(completed(facts), peers)),
             "dedicated": bool(dedicated), "allow_busy": bool(allow_busy), "included": list(include)}
    return ordered(finding for one in effective for finding in _Judge(known, one, in_force).findings())


def _without_unseen_gpus(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts, with everything about GPUs lost if the PCI bus could not be read: an empty list would mean that there
    are none."""
    functions = facts.get("pcie", {}).get("functions", {"status": "ok"})      # a test's facts may lack it
    if functions["status"] in ("ok", NOT_RECORDED) or facts["derived"]["container"] is not None:
        return facts
    unseen = {"status": "the PCI bus is not visible (/sys/bus/pci/devices)", "value": None}
    empty = [name for name in _FROM_GPUS_AND_LOG if not facts["derived"][name]]
    return {**facts, "gpus": unseen, "derived": {**facts["derived"], **dict.fromkeys((*_FROM_GPUS, *empty), unseen)}}


def resolve(checks: Sequence[Check], profile: Profile, *, overrides: Mapping[str, Any] | None = None,
            waivers: Iterable[Mapping] = (), only: Sequence[str] = (), skip: Sequence[str] = (),
            include: Sequence[str] = ()) -> tuple[list[EffectiveCheck], list[Waiver]]:
    """The effective checks by the profile and the user's choices, and the waivers.

    Needs no facts, so that user errors are found before any host is contacted.
    """
    effective = effective_checks(checks, profile, overrides or {}, include)
    chosen = [effective[check.id] for check in select(checks, only or profile.only, skip)]
    return chosen, parse_waivers(waivers, effective)


def summary(findings: Iterable[dict[str, Any]], waivers: Iterable[Mapping] = (), *, host: str | None = None,
            today: datetime.date | None = None) -> dict[str, Any]:
    """Counts of findings by verdict; of failing findings without a waiver, by priority, also the things to do and their
    places; and the expired waivers."""
    findings = list(findings)
    verdicts, failing = dict.fromkeys(VERDICTS, 0), dict.fromkeys(PRIORITIES, 0)
    for finding in findings:
        verdicts[finding["verdict"]] += 1
        if finding["verdict"] == "fail" and not finding["waived"]:
            failing[finding["priority"]] += 1
    return {
        "verdicts": verdicts, "failing": failing, **tally(findings),
        "waived": sum(1 for finding in findings if finding["waived"]),
        "expired_waivers": expired(parse_waivers(waivers), host, today or datetime.date.today()),
    }


class _Judge:
    """One check on one host."""

    def __init__(self, host: dict[str, Any], effective: EffectiveCheck, waivers: list[Waiver]) -> None:
        self.host, self.effective, self.check = host, effective, effective.check
        self.waivers = [waiver for waiver in waivers if waiver.check == effective.check.id]
        self._texts: dict[int, str] = {}

    def findings(self) -> list[dict[str, Any]]:
        check = self.check
        if check.applies is not None and "it" not in check.applies.roots:
            unfit = self._applies(None)
            if unfit:
                return [unfit]
        if check.each is None:
            return [self._judge(None)]
        try:
            subjects = evaluate(check.each, {"host": self.host})
        except ExpressionError as error:
            return [self._unknown(None, "each", error, check.each)]
        if not isinstance(subjects, list):
            return [self._finding(None, "unknown", f"each yields {in_words([kind(subjects)])}, not a list of subjects")]
        if not subjects:
            return [self._finding(None, "not_applicable", self.text(check.otherwise, None))]
        return [self._judge(it) for it in subjects]

    def _judge(self, it: Any) -> dict[str, Any]:
        check = self.check
        if check.applies is not None and "it" in check.applies.roots:
            unfit = self._applies(it)
            if unfit:
                return unfit
        try:
            actual = evaluate(check.actual, self._scope(it))
        except Unreadable as error:
            if error.status == "absent" and check.absent_verdict:
                return self._finding(it, check.absent_verdict, self.text(check.absent_reason, it))
            return self._unknown(it, "actual", error, check.actual)
        except ExpressionError as error:
            return self._unknown(it, "actual", error, check.actual)
        return self._compare(it, actual)

    def _applies(self, it: Any) -> dict[str, Any] | None:
        """The finding if the check does not apply, or if that is not known; None if it applies."""
        try:
            answer = evaluate(self.check.applies, self._scope(it))
        except ExpressionError as error:
            return self._unknown(it, "applies", error, self.check.applies)
        if answer is False:
            lacking = self.check.otherwise and self.check.otherwise.lacking(self._scope(it))
            if lacking:     # it does not apply, but the reason cannot be given
                return self._unknown(it, "otherwise", lacking, self.check.applies)
            return self._finding(it, "not_applicable", self.text(self.check.otherwise, it))
        if answer is not True:
            return self._finding(it, "unknown", reasons.of_answer(self.check.applies, answer, self._scope(it)))
        return None

    def _unknown(self, it: Any, key: str, error: ExpressionError, expression: Expression, actual: Any = None) -> dict:
        """The finding if `expression`, the check's `key`, has no answer."""
        found = self._finding(it, "unknown", reasons.of_error(key, error, expression, self._scope(it)), actual)
        lacking = isinstance(error, Unreadable) and error.status == NOT_RECORDED
        return {**found, "not_recorded": error.why or STATUS_IN_WORDS[NOT_RECORDED], "lacks": error.name} \
            if lacking else found

    def _compare(self, it: Any, actual: Any) -> dict[str, Any]:
        expect, read = self.check.expect, self.effective.source
        try:
            value, wanted = self._wanted(it)
            read = self.check.actual
            passed = compare(expect.op, expect.type, actual, wanted)
        except ExpressionError as error:
            return self._unknown(it, "expect.from", error, read, actual)
        except (ValueError, OverflowError) as error:
            return self._finding(it, "unknown", reasons.of_value(read, error, self._scope(it)), actual)
        reason = self.text(self.check.on_pass if passed else self.check.on_fail, it, actual, value)
        return self._finding(it, "pass" if passed else "fail", reason, actual, value)

    def _wanted(self, it: Any) -> tuple[Any, Any]:
        """The wanted value, as shown and as compared."""
        if self.effective.source is None:
            return self.effective.value, self.effective.wanted
        value = evaluate(self.effective.source, self._scope(it))
        return value, parse_wanted(self.check.expect.op, self.check.expect.type, value)

    def _finding(self, it: Any, verdict: str, reason: str | None, actual: Any = None,
                 value: Any = None) -> dict[str, Any]:
        check = self.check
        if value is None and self.effective.source is None:
            value = self.effective.value
        subject = self._subject(it)
        waived = next((waiver.as_finding_says() for waiver in self.waivers if waiver.covers(check.id, subject)), None)
        scope = self._scope(it, actual, value)
        return {
            "check": check.id, "subject": subject, "topic": check.topic,
            "name": check.name or self.show(check.title, scope), "title": self.show(check.title, scope),
            "verdict": verdict, "priority": self._priority(verdict, it), "actual": actual,
            "recommended": None if value is None and check.expect.source else recommended(check.expect.op, value),
            "reason": reason, "why": self.show(check.why, scope), "evidence": check.evidence,
            "contested": check.contested, "takes_effect": check.takes_effect,
            "fix": describe_fix(self.effective, verdict, reason, waived, subject, scope, self.show),
            "sources": check.sources, "waived": waived, "measured_here": [],
            **(self._of_a_fault(scope) if verdict == "fail" else {}),
        }

    def _of_a_fault(self, scope: dict[str, Any]) -> dict[str, Any]:
        """The keys that only failing findings have: hundreds pass, and each run keeps an audit document."""
        effect = self.check.effect
        return {"problem": self.show(self.check.problem, scope),
                "effect": {"size": effect.size, "source": effect.source}, "source_links": self.check.source_links}

    def _subject(self, it: Any) -> str | None:
        if it is None or self.check.subject is None:
            return None
        try:
            return str(evaluate(self.check.subject, self._scope(it)))
        except ExpressionError as error:
            return f"({error.message})"

    def _priority(self, verdict: str, it: Any) -> str:
        if verdict != "fail" or not self.effective.escalates:
            return self.effective.priority
        return next((escalation.priority for escalation in self.check.escalations
                     if self._holds(escalation.condition, it)), self.effective.priority)

    def _holds(self, condition: Expression, it: Any) -> bool:
        try:
            return evaluate(condition, self._scope(it)) is True
        except ExpressionError:
            return False

    def _scope(self, it: Any, actual: Any = None, value: Any = None) -> dict[str, Any]:
        return {"host": self.host, "it": it, "actual": actual, "recommended": value}

    def text(self, template: Template | None, it: Any, actual: Any = None, value: Any = None) -> str | None:
        return self.show(template, self._scope(it, actual, value))

    def show(self, template: Template | None, scope: dict[str, Any]) -> str | None:
        """The rendered text; one that is the same for every subject is rendered once."""
        if template is None:
            return None
        if template.roots & _OF_A_SUBJECT:
            return template.show(scope)
        if id(template) not in self._texts:
            self._texts[id(template)] = template.show(scope)
        return self._texts[id(template)]
