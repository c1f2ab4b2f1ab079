# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The figures in what a benchmark printed: by jmespath in its JSON, or by a regular expression in its text."""
from __future__ import annotations

import json
import math
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._errors import MissingPackage, in_words, kind, nearest
from ._text import one_line

try:
    import jmespath
    from jmespath.exceptions import JMESPathError
except ImportError:
    jmespath, JMESPathError = None, ValueError

HIGHER, LOWER = "higher", "lower"
MATCH_SECONDS = 10.0        # for one pattern: a nested repetition can take longer than anybody lives
_MATCH = pathlib.Path(__file__).with_name("_match.py")
_JSON_START = re.compile(r"^[{\[]", re.MULTILINE)
_JSON_TRIES = 10_000
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_SHOWN = 120


class Metric(NamedTuple):
    """A figure of a benchmark, by exactly one of `query` (jmespath) and `pattern` (with a group `value`)."""

    name: str
    better: str         # higher or lower
    unit: str
    query: str | None
    pattern: str | None

    @property
    def wanted(self) -> str:
        return f"a number by json {self.query!r}" if self.pattern is None else f"a number by pattern {self.pattern!r}"


class MetricError(ValueError):
    """A figure is not where it was said to be."""

    def __init__(self, metric: Metric, source: str, found: str, text: str, remedy: str) -> None:
        super().__init__(f"metric {metric.name}: wanted {metric.wanted} in {source}, found {found}. "
                         f"{_begins(text, source)}. {remedy}")


def _begins(text: str, source: str) -> str:
    start = one_line(text[:_SHOWN * 2])[:_SHOWN]
    return f"{source} begins {start!r}" if start else f"{source} is empty"


def check_metric(metric: Metric, origin: str) -> Metric:
    """The metric itself; ValueError where its expression or its pattern is none."""
    place = f"{origin}: metric {metric.name}"
    if metric.pattern is None:
        _compile(metric, place)
        return metric
    try:
        groups = re.compile(metric.pattern, re.MULTILINE).groupindex
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{place}: {metric.pattern!r} is not a regular expression: {error}") from None
    if "value" not in groups:
        raise ValueError(f"{place}: {metric.pattern!r} has no group of the name value: put the number into "
                         "(?P<value>...)")
    return metric


def _compile(metric: Metric, place: str) -> Any:
    if jmespath is None:
        raise MissingPackage("jmespath", "find the figures of a benchmark")
    try:
        return jmespath.compile(metric.query)
    except (JMESPathError, ValueError, IndexError, KeyError, AttributeError, RecursionError) as error:
        reason = str(error).partition("\n")[0].removesuffix(", for expression:") or type(error).__name__
        raise ValueError(f"{place}: {metric.query!r} is not a jmespath expression: {reason}") from None


def read_values(metrics: Sequence[Metric], text: str, source: str, *, every: bool = False,
                cut: bool = False) -> dict[str, float]:
    """The figures in `text`, which came from `source`; MetricError for the first that is not there.

    `every`: expressions see the list of all JSON values in the text, not the last one. `cut`: something is missing in
    the middle of the text.
    """
    documents = json_values(text) if any(metric.pattern is None for metric in metrics) else []
    found = {}
    for metric in metrics:
        if metric.pattern is not None:
            found[metric.name] = _by_pattern(metric, text, source)
        elif documents:
            found[metric.name] = _by_query(metric, documents if every else documents[-1], text, source)
        else:
            said = "It was too long and its middle is missing: let the command print less" if cut else \
                "Let the command print JSON, or find the figure by a pattern"
            raise MetricError(metric, source, "no JSON", text, said)
    return found


def json_values(text: str) -> list[Any]:
    """The JSON values in `text`: the whole of it, or each object and list that begins a line, in their order.

    So a table or a progress display around them does not matter, nor whether one is spread over several lines.
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
                value, end = decoder.raw_decode(text, start.start())
                values.append(value)
            except (ValueError, RecursionError):
                continue
    return values


def _by_query(metric: Metric, document: Any, text: str, source: str) -> float:
    try:
        found = _compile(metric, source).search(document)
    except (JMESPathError, ValueError, TypeError, RecursionError) as error:
        raise MetricError(metric, source, f"an error: {one_line(error)[:_SHOWN]}", text,
                          "Correct the expression") from None
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return _finite(metric, found, text, source)
    if found is None:
        raise MetricError(metric, source, "nothing (null)", text, f"There is {_there(metric, document)}")
    shown = one_line(json.dumps(found))[:_SHOWN]
    said = "Write an expression that takes one of its elements, by [0] for example" if isinstance(found, list) else \
        "Write an expression that yields a number, by to_number(...) for example"
    raise MetricError(metric, source, f"{in_words([kind(found)])}, {shown}", text, said)


def _there(metric: Metric, document: Any) -> str:
    """What the expression could have asked for, with the key that may have been meant."""
    if isinstance(document, dict):
        named = re.match(r"\w+", metric.query)
        keys = ", ".join(one_line(key) for key in list(document)[:20]) or "no key"
        near = nearest(named[0], document) if named and named[0] not in document else ""
        return f"an object with {keys}{', ...' if len(document) > 20 else ''}{near}"
    if isinstance(document, list):
        keys = sorted({one_line(key) for entry in document[:20] if isinstance(entry, dict) for key in entry})[:20]
        return f"a list of {len(document)}" + (f" with the keys {', '.join(keys)}" if keys else "")
    return in_words([kind(document)])


def _by_pattern(metric: Metric, text: str, source: str) -> float:
    try:
        answer = subprocess.run([sys.executable, "-I", str(_MATCH)], timeout=MATCH_SECONDS, check=True, text=True,
                                encoding="utf-8", input=json.dumps([metric.pattern, text]), capture_output=True)
    except subprocess.CalledProcessError as error:
        raise MetricError(metric, source, f"an error: {one_line(error.stderr)[-_SHOWN:]}", text,
                          "Write a simpler pattern") from None
    except subprocess.TimeoutExpired:
        raise MetricError(metric, source, f"no answer within {MATCH_SECONDS:g} s", text,
                          "Write a pattern without repetitions inside repetitions") from None
    found = json.loads(answer.stdout)
    if found is None:
        raise MetricError(metric, source, "no match", text, "Correct the pattern, or let the command print the figure")
    if not _NUMBER.fullmatch(found.strip()):
        raise MetricError(metric, source, f"the text {one_line(found)[:_SHOWN]!r}", text,
                          "Let the group value hold the digits alone")
    return _finite(metric, float(found), text, source)


def _finite(metric: Metric, number: float, text: str, source: str) -> float:
    try:
        number = float(number)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise MetricError(metric, source, "not a number (NaN)" if math.isnan(number) else "a number without end", text,
                          "See why the benchmark could not measure it")
    return number
