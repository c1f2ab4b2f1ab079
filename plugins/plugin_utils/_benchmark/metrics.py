# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Extract metrics from the output of a benchmark: by jmespath from JSON, or by a regular expression from text."""
from __future__ import annotations

import json
import math
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._expressions.errors import MissingPackage, in_words, kind, nearest
from .._render.text import one_line

try:
    import jmespath
    from jmespath.exceptions import JMESPathError
except ImportError:
    jmespath, JMESPathError = None, ValueError

HIGHER, LOWER = "higher", "lower"
MATCH_SECONDS = 10.0        # for each pattern: nested repetition can take practically forever
_MATCH = pathlib.Path(__file__).with_name("match.py")
_JSON_START = re.compile(r"^[{\[]", re.MULTILINE)
_LINE_END = re.compile(r"[ \t\r]*$", re.MULTILINE)
_JSON_TRIES = 10_000
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_SHOWN = 120


class Metric(NamedTuple):
    """A metric of a benchmark, with exactly one of `query` (jmespath) and `pattern` (with a group `value`)."""

    name: str
    better: str         # higher or lower
    unit: str
    query: str | None
    pattern: str | None


class MetricError(ValueError):
    """A metric was not found where its definition says, or the output says that the run is not valid."""


def check_metric(metric: Metric, origin: str) -> Metric:
    """The metric itself; ValueError if its expression or pattern is invalid."""
    place = f"{origin}: metric {metric.name}"
    if metric.pattern is None:
        check_expression(metric.query, place)
        return metric
    try:
        groups = re.compile(metric.pattern, re.MULTILINE).groupindex
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{place}: {metric.pattern!r} is not a regular expression: {error}") from None
    if "value" not in groups:
        raise ValueError(f"{place}: {metric.pattern!r} has no group named value: capture the number with "
                         "(?P<value>...)")
    return metric


def check_expression(query: str | None, place: str) -> str | None:
    """The expression itself; ValueError if it is invalid."""
    if query is None:
        return None
    if jmespath is None:
        raise MissingPackage("jmespath", "extract metrics of a benchmark")
    try:
        jmespath.compile(query)
    except (JMESPathError, ValueError, IndexError, KeyError, AttributeError, RecursionError) as error:
        reason = str(error).partition("\n")[0].removesuffix(", for expression:") or type(error).__name__
        raise ValueError(f"{place}: {query!r} is not a jmespath expression: {reason}") from None
    return query


class Output:
    """The output of one run."""

    def __init__(self, text: str, source: str, *, every: bool = False, cut: bool = False) -> None:
        """`text` came from `source`. `every`: expressions apply to the list of all JSON values in it, not to the last.
        `cut`: the middle of the text is missing."""
        self._text, self._source, self._every, self._cut = text, source, every, cut
        self._documents: list[Any] | None = None

    def values(self, metrics: Sequence[Metric]) -> dict[str, float]:
        """The values by metric; MetricError for the first one that is missing."""
        return {metric.name: self._by_query(metric) if metric.pattern is None else self._by_pattern(metric)
                for metric in metrics}

    def require(self, query: str) -> None:
        """MetricError if the expression is not true."""
        asked = f"valid: wanted true by json {query!r}"
        found = self._search(query, asked)
        if found is not True:
            raise self._error(asked, one_line(json.dumps(found))[:_SHOWN], "Find out why this run is not valid")

    def _error(self, asked: str, found: str, remedy: str) -> MetricError:
        start = one_line(self._text[:_SHOWN * 2])[:_SHOWN]
        begins = f"{self._source} begins {start!r}" if start else f"{self._source} is empty"
        return MetricError(f"{asked} in {self._source}, found {found}. {begins}. {remedy}")

    def _document(self, asked: str) -> Any:
        if self._documents is None:
            self._documents = json_values(self._text)
        if not self._documents:
            message = "It was too long and its middle is missing: reduce the output of the command" if self._cut else \
                "Let the command print JSON, or use a pattern"
            raise self._error(asked, "no JSON", message)
        return self._documents if self._every else self._documents[-1]

    def _search(self, query: str, asked: str) -> Any:
        document = self._document(asked)
        try:
            return jmespath.search(query, document)
        except (JMESPathError, ValueError, TypeError, RecursionError) as error:
            raise self._error(asked, f"an error: {one_line(error)[:_SHOWN]}", "Correct the expression") from None

    def _by_query(self, metric: Metric) -> float:
        asked = f"metric {metric.name}: wanted a number by json {metric.query!r}"
        found = self._search(metric.query, asked)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return self._finite(found, asked)
        if found is None:
            raise self._error(asked, "nothing (null)", f"There is {_there(metric.query, self._document(asked))}")
        shown = one_line(json.dumps(found))[:_SHOWN]
        message = "Use an expression that selects one element, for example with [0]" if isinstance(found, list) \
            else "Use an expression that yields a number, for example with to_number(...)"
        raise self._error(asked, f"{in_words([kind(found)])}, {shown}", message)

    def _by_pattern(self, metric: Metric) -> float:
        asked = f"metric {metric.name}: wanted a number by pattern {metric.pattern!r}"
        found = self._last_match(metric.pattern, asked)
        if found is None:
            raise self._error(asked, "no match", "Correct the pattern, or let the command print the value")
        if not _NUMBER.fullmatch(found.strip()):
            raise self._error(asked, f"the text {one_line(found)[:_SHOWN]!r}",
                              "Let the group value match only the number")
        return self._finite(float(found), asked)

    def _last_match(self, pattern: str, asked: str) -> str | None:
        try:
            answer = subprocess.run([sys.executable, "-I", str(_MATCH)], timeout=MATCH_SECONDS, check=True, text=True,
                                    encoding="utf-8", input=json.dumps([pattern, self._text]), capture_output=True)
        except subprocess.CalledProcessError as error:
            raise self._error(asked, f"an error: {one_line(error.stderr)[-_SHOWN:]}", "Use a simpler pattern") \
                from None
        except subprocess.TimeoutExpired:
            raise self._error(asked, f"no response within {MATCH_SECONDS:g} s",
                              "Use a pattern without nested repetitions") from None
        return json.loads(answer.stdout)

    def _finite(self, number: float, asked: str) -> float:
        try:
            number = float(number)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._error(asked, "not a number (NaN)" if math.isnan(number) else "infinity",
                              "Find out why the benchmark could not measure it")
        return number


def json_values(text: str) -> list[Any]:
    """The JSON values in `text`, in their order: the whole text, or each object and list that begins and ends at a line
    boundary.

    Tables and progress displays around them are ignored, and a value may span several lines.
    """
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        pass
    decoder, values, end = json.JSONDecoder(), [], 0
    for tried, start in enumerate(_JSON_START.finditer(text)):
        if tried >= _JSON_TRIES:
            break
        if start.start() >= end:
            try:
                value, after = decoder.raw_decode(text, start.start())
            except (ValueError, RecursionError):
                continue
            if _LINE_END.match(text, after):        # not the [12] of a progress display
                values.append(value)
                end = after
    return values


def _there(query: str, document: Any) -> str:
    """The keys that the expression could have used, and the one that may have been meant."""
    if isinstance(document, dict):
        named = re.match(r"\w+", query)
        keys = ", ".join(one_line(key) for key in list(document)[:20]) or "no key"
        near = nearest(named[0], document) if named and named[0] not in document else ""
        return f"an object with {keys}{', ...' if len(document) > 20 else ''}{near}"
    if isinstance(document, list):
        keys = sorted({one_line(key) for entry in document[:20] if isinstance(entry, dict) for key in entry})[:20]
        return f"a list of {len(document)}" + (f" with the keys {', '.join(keys)}" if keys else "")
    return in_words([kind(document)])
