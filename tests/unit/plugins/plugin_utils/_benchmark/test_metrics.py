# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures in what benchmarks print, and what is said where they are not there."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark import metrics
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.metrics import (
    Metric,
    MetricError,
    Output,
    json_values,
)
from hypothesis import example, given
from hypothesis import strategies as st


def by(query, name="speed"):
    return Metric(name, "higher", "", query, None)


def like(pattern, name="speed"):
    return Metric(name, "higher", "", None, pattern)


def value(metric, text, **more):
    return Output(text, "stdout", **more).values([metric])["speed"]


def error(metric, text, **more):
    with pytest.raises(MetricError) as raised:
        Output(text, "stdout", **more).values([metric])
    return str(raised.value)


def test_json_alone():
    assert value(by("a.b"), '{"a": {"b": 12.5}}') == 12.5
    assert value(by("[?n > `0`].t | [0]"), '[{"n": 0, "t": 1}, {"n": 128, "t": 42}]') == 42


def test_json_among_other_lines():
    text = ('INFO: begins\n[1/2] reads\n[2] steps\n{"speed": 1} \r\nTraceback? no\n'
            '{\n  "speed": 2,\n  "in": [\n1\n]\n}\nbye {\n[3] done\n')
    assert value(by("speed"), text) == 2
    assert value(by("[].speed | sum(@)"), text, every=True) == 3


def test_what_is_inside_a_value_is_none_of_its_own():
    assert json_values('figures:\n{"speed": [\n[1],\n[2]\n]\n}\n') == [{"speed": [[1], [2]]}]


def test_json_lines():
    assert json_values('{"n": 1}\n{"n": 2}\n\n{"n": 3}\n') == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_the_last_match_counts():
    text = "  0%  speed: 1.5\n100%  speed: 1234.5 tok/s\ndone\n"
    assert value(like(r"speed:\s+(?P<value>[\d.]+)"), text) == 1234.5
    assert value(like(r"^(?P<value>\d+)%"), text) == 100
    assert value(like(r"x (?P<value>\S+)$"), "x -1.5e3") == -1500


@pytest.mark.parametrize(("text", "found"), [
    ('{"speed": null}', "found nothing (null)"),
    ('{"sped": 1}', "found nothing (null). stdout begins '{\"sped\": 1}'. There is an object with sped: did you mean"),
    ('{"speed": NaN}', "found not a number (NaN)"),
    ('{"speed": Infinity}', "found infinity"),
    ('{"speed": 1' + "0" * 400 + "}", "found infinity"),
    ('{"speed": true}', "found a boolean, true"),
    ('{"speed": "12"}', 'found a string, "12"'),
    ('{"speed": [1, 2]}', "found an array, [1, 2]"),
    ('[{"speed": 1}]', "There is a list of 1 with the keys speed"),
    ("", "found no JSON. stdout is empty."),
    ("Segmentation fault", "found no JSON. stdout begins 'Segmentation fault'"),
    ('{"speed": 1', "found no JSON. stdout begins '{\"speed\": 1'"),
    ("[" * 100_000, "found no JSON"),
])
def test_what_json_lacks_is_said(text, found):
    message = error(by("speed"), text)
    assert message.startswith("metric speed: wanted a number by json 'speed' in stdout, found ")
    assert found in message
    assert len(message) < 600


def test_an_expression_that_cannot_be_answered():
    assert "found an error: " in error(by("length(speed)"), '{"speed": 1}')


@pytest.mark.parametrize(("text", "found"), [
    ("slow: 3", "found no match. stdout begins 'slow: 3'"),
    ("speed: fast", "found the text 'fast'"),
    ("speed: 1,234", "found the text '1,234'"),
    ("speed: nan", "found the text 'nan'"),
    ("speed: 1e999", "found infinity"),
])
def test_what_a_pattern_does_not_find_is_said(text, found):
    message = error(like(r"speed: (?P<value>\S+)"), text)
    assert message.startswith(r"metric speed: wanted a number by pattern 'speed: (?P<value>\\S+)' in stdout, found ")
    assert found in message


def test_a_pattern_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(metrics, "MATCH_SECONDS", 0.5)
    assert "found no response within 0.5 s" in error(like(r"(?P<value>(a+)+)$"), "a" * 60 + "!")


def test_text_that_was_cut_is_no_json_any_more():
    text = json.dumps({"samples": list(range(50)), "speed": 1})[:60] + "\n[... 100 bytes left out ...]\n, 49]}"
    assert "its middle is missing" in error(by("speed"), text, cut=True)


@given(text=st.text(st.sampled_from('{}[]",:0123456789.eE+- \n\r\\"ntrfalsuNI\ud800\x00')), every=st.booleans())
@example(text='{"a": ' * 2000, every=False)
@example(text="[{" * 30_000, every=True)
@example(text="9" * 5000, every=False)
def test_whatever_a_program_prints_is_a_number_or_one_message(text, every):
    output = Output(text, "stdout", every=every)
    try:
        found = output.values([by("[0]"), by("a", "a")])
    except MetricError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 800
    else:
        assert all(isinstance(figure, float) for figure in found.values())


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in error(by("speed"), "\x1b[31mred")


def test_a_run_that_says_itself_that_it_is_none():
    Output('{"completed": 200}', "stdout").require("completed == `200`")
    for text, found in (('{"completed": 17}', "false"), ('{"done": 200}', "false"), ("{}", "false")):
        with pytest.raises(MetricError, match=r"^valid: wanted true by json 'completed == `200`' in stdout, found "
                                              rf"{found}\. stdout begins '{{.*'\. Find out why this run"):
            Output(text, "stdout").require("completed == `200`")
    with pytest.raises(MetricError, match=r"found 200\. "):
        Output('{"completed": 200}', "stdout").require("completed")
    with pytest.raises(MetricError, match=r"^valid: .*found no JSON\. stdout begins 'Killed'"):
        Output("Killed", "stdout").require("completed")
