# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions import expression as expressions_expression
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import (
    BadExpression,
    BadValue,
    ExpressionError,
    MissingName,
    MissingPackage,
    Unreadable,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.expression import (
    compile_expression,
    evaluate,
    names,
)
from hypothesis import given, settings
from hypothesis import strategies as st

UNPINNED = "which running guests are bound to no CPUs (/etc/pve, /proc)"
REGISTERS = "PCIe registers (lspci -xxxx)"
DENIED = {"status": "denied", "value": None}
ABSENT = {"status": "absent", "value": None}
GONE = {"status": "gone", "value": None}
HOST = {
    "sysctl": {"vm.swappiness": {"status": "ok", "value": "60"}, "locked": DENIED, "missing": ABSENT},
    "numa": {"nodes": [1, 2]},
    "guests": {"unpinned_running": DENIED},
    "dedicated": False,
    "nothing": None,
    "gpus": [
        {"bdf": "0000:01:00.0", "driver": "nvidia", "pcie": {"status": "ok", "value": {"read": 512}}},
        {"bdf": "0000:41:00.0", "driver": None, "pcie": GONE},
    ],
    "readings": [{"status": "ok", "value": 1}, {"status": "ok", "value": 2}],
    "broken": [{"status": "ok", "value": 1}, DENIED],
    "nested": {"status": "ok", "value": [{"inner": {"status": "ok", "value": "deep"}}]},
}


def ask(text, host=None, **more):
    scope = {"host": HOST if host is None else host, "it": None, **more}
    return evaluate(compile_expression(text, "check x: applies"), scope)


@pytest.mark.parametrize("text, answer", [
    ("length(host.numa.nodes) > `1`", True),
    ('host.sysctl."vm.swappiness"', "60"),
    ('to_number(host.sysctl."vm.swappiness") > `1`', True),
    ("to_number('-2.5')", -2.5),
    ("host.gpus[?driver=='nvidia'].bdf", ["0000:01:00.0"]),
    ("host.gpus[].bdf", ["0000:01:00.0", "0000:41:00.0"]),
    ("host.gpus[?driver].bdf", ["0000:01:00.0"]),
    ("host.gpus[?driver].pcie.read", [512]),
    ("host.gpus[0].pcie.read", 512),
    ("host.gpus[-1].bdf", "0000:41:00.0"),
    ("host.gpus[*].driver", ["nvidia"]),                     # a projection leaves out null, as in plain jmespath
    ("host.gpus[:1].bdf", ["0000:01:00.0"]),
    ("host.gpus[1].driver == `null`", True),
    ("host.gpus[1].driver != 'nvidia'", True),
    ("host.nothing == `null`", True),
    ("host.readings", [{"status": "ok", "value": 1}, {"status": "ok", "value": 2}]),
    ("host.readings[1]", 2),
    ("host.readings[*]", [1, 2]),
    ("host.readings[]", [1, 2]),
    ("host.readings[?@ > `1`]", [2]),
    ("sum(host.readings)", 3),
    ("host.readings == `[1, 2]`", True),
    ("contains(host.readings, `2`)", True),
    ("contains('performance powersave', 'power')", True),
    ("to_string(host.readings)", "[1,2]"),
    ("host.nested[0].inner", "deep"),
    ("host.nested[].inner", ["deep"]),
    ("{a: host.dedicated, b: host.readings[0]}", {"a": False, "b": 1}),
    ("[host.dedicated, host.readings[0]]", [False, 1]),
    ("sort_by(host.gpus, &bdf)[1].bdf", "0000:41:00.0"),
    ("map(&bdf, host.gpus)", ["0000:01:00.0", "0000:41:00.0"]),
    ("host.numa.*", [[1, 2]]),
    ("!(host.dedicated)", True),
    ("`1` == `1.0`", True),
    ("`[1]` == `[true]`", False),
    # the right side is not asked where the left one decides
    ("host.numa.nodes && host.dedicated", False),
    ("host.dedicated && host.guests.unpinned_running == `0`", False),
    ("host.numa || host.guests.unpinned_running", {"nodes": [1, 2]}),
    ("status(&host.sysctl.missing)", "absent"),
    ("status(&host.guests.unpinned_running)", "denied"),
    ("status(&host.gpus[*].pcie.read)", "gone"),
    ("status(&host.dedicated)", "ok"),
    ("host.gpus[?status(&pcie) == 'ok'].bdf", ["0000:01:00.0"]),
    ("value_or(&host.sysctl.locked, `7`)", 7),
    ("value_or(&host.readings[0], `7`)", 1),
    ("value_or(&host.sysctl.locked, host.readings[1])", 2),
])
def test_answers(text, answer):
    assert ask(text) == answer


@pytest.mark.parametrize("text, status, fact", [
    ("host.guests.unpinned_running == `0`", "denied", UNPINNED),
    ("host.guests.unpinned_running == `0` || host.dedicated", "denied", UNPINNED),
    ("host.dedicated || host.guests.unpinned_running == `0`", "denied", UNPINNED),
    ("!(host.guests.unpinned_running)", "denied", UNPINNED),
    ("host.sysctl.missing", "absent", "the sysctl missing"),
    ("[host.dedicated, host.sysctl.locked]", "denied", "the sysctl locked"),
    ("{a: host.sysctl.locked}", "denied", "the sysctl locked"),
    ("host.gpus[*].pcie.read", "gone", f"{REGISTERS} of 0000:41:00.0"),
    ("host.gpus[?pcie.read == `512`].bdf", "gone", f"{REGISTERS} of 0000:41:00.0"),
    ("host.gpus[1].pcie.read", "gone", REGISTERS),
    ("length(host.gpus[1].pcie)", "gone", REGISTERS),
    ("map(&pcie, host.gpus)", "gone", REGISTERS),
    ("host.broken[*]", "denied", "broken[]"),
    ("host.broken[]", "denied", "broken[]"),
    ("host.broken[1]", "denied", "broken[1]"),
    ("host.broken[?@ == `1`]", "denied", "broken[]"),
    ("host.sysctl.*", "denied", "sysctls (sysctl -a)"),
    ("sum(host.broken)", "denied", "a fact"),
    ("host.broken == `[1, 2]`", "denied", "a fact"),
    ("contains(host.broken, `1`)", "denied", "a fact"),
    ("host.gpus == `null`", "gone", "a fact"),
    ("not_null(host.sysctl.locked, 'x')", "denied", "the sysctl locked"),
    ("value_or(&host.sysctl.locked, host.sysctl.missing)", "absent", "the sysctl missing"),
])
def test_a_reading_that_is_not_ok_ends_the_expression(text, status, fact):
    with pytest.raises(Unreadable) as caught:
        ask(text)
    assert (caught.value.status, caught.value.fact) == (status, fact)


@pytest.mark.parametrize("text, message", [
    ("host.gusts.running == `0`", "there is no 'gusts': did you mean 'guests'?"),
    ("length(host.gpus[?drvr=='nvidia']) > `0`", "there is no 'drvr': did you mean 'driver'?"),
    ("host.gusts || host.dedicated", "there is no 'gusts': did you mean 'guests'?"),
    ("hots.dedicated", "there is no 'hots': did you mean 'host'?"),
    ("it.bdf", "'bdf' asked of null"),
    ("host.gpus[1].driver.name", "'name' asked of null"),
    ("host.dedicated.x", "'x' asked of a boolean"),
    ("host.gpus.bdf", "'bdf' asked of an array"),
    ("host.gpus[2].bdf", "there is no [2] in a list of 2"),
    ("host.nested[0].inner.x", "'x' asked of a string"),
])
def test_a_name_that_is_not_there(text, message):
    with pytest.raises(MissingName) as caught:
        ask(text)
    assert caught.value.message == message
    assert str(caught.value) == f"check x: applies: {message} (in {text})"


@pytest.mark.parametrize("text, message", [
    ('host.sysctl."vm.swappiness" == `60`', "a string is compared with a number"),
    ("host.dedicated == `0`", "a boolean is compared with a number"),
    ("host.numa.nodes != 'x'", "an array is compared with a string"),
    ('host.sysctl."vm.swappiness" > `1`', "an ordering needs numbers, not a string"),
    ("host.nothing > `1`", "an ordering needs numbers, not null"),
    ("`1` <= host.nothing", "an ordering needs numbers, not null"),
    ("host.dedicated < `1`", "an ordering needs numbers, not a boolean"),
    ("contains(host.numa.nodes, '1')", "a number is compared with a string"),
    ("host.nothing[0]", "[] asked of null"),
    ("host.numa[*].x", "[] asked of an object"),
    ("host.nothing[].x", "[] asked of null"),
    ("host.nothing[?x]", "[] asked of null"),
    ("host.nothing[:1]", "[] asked of null"),
    ("host.nothing.*", "* asked of null"),
    ("host.gpus[::0]", "the step of a slice is 0"),
    ("to_number('0x3c')", "to_number(): '0x3c' is not a number"),
    ("to_number('1_0')", "to_number(): '1_0' is not a number"),
    ("to_number('nan')", "to_number(): 'nan' is not a number"),
    ("to_number(host.nothing)", "to_number(): None is not a number"),
    ("sum(`[1e308, 1e308]`)", "sum(): the result is not a JSON number"),
    ("contains('abc', `1`)", "contains(): 'in <string>' requires string as left operand, not int"),
])
def test_values_that_make_no_sense(text, message):
    with pytest.raises(BadValue) as caught:
        ask(text)
    assert caught.value.message == message


def test_a_function_that_does_not_take_a_value_says_so():
    with pytest.raises(BadValue, match=r"length\(\): In function length\(\), invalid type for value: None"):
        ask("length(host.nothing)")


@pytest.mark.parametrize("text, message", [
    ("host.gpus[", "not a jmespath expression: Invalid jmespath expression: Incomplete expression:"),
    ("host gpus", "not a jmespath expression: Unexpected token: gpus: Parse error at column 5, "
                  'token "gpus" (UNQUOTED_IDENTIFIER)'),
    ("!host.dedicated", "! binds closer than a dot: write !(a.b), not !a.b"),
    ("lenght(host)", "there is no function lenght(): did you mean 'length'?"),
    ("length(host, host)", "length() takes 1 argument(s)"),
    ("not_null()", "not_null() takes at least 1 argument(s)"),
    ("&host", "& may only stand before an argument of a function that takes an expression"),
    ("[&host]", "& may only stand before an argument of a function that takes an expression"),
    ("to_array(&host)", "argument 1 of to_array() is no expression with &"),
    ("map(host, host)", "argument 1 of map() is an expression with &"),
    ("status(host)", "argument 1 of status() is an expression with &"),
    ("`1e999`", "a literal is not a JSON number"),
    ("`{\"a\": [NaN]}`", "a literal is not a JSON number"),
    ("", "not a jmespath expression: Invalid JMESPath expression: cannot be empty."),
])
def test_what_is_not_an_expression(text, message):
    with pytest.raises(BadExpression) as caught:
        compile_expression(text, "here")
    assert caught.value.message == message


def test_nesting_without_end_is_an_error_of_ours():
    with pytest.raises(ExpressionError, match="nested too deeply"):
        compile_expression("!" * 20000 + "a")
    deep = HOST
    for _level in range(5000):
        deep = [deep]
    with pytest.raises(ExpressionError, match="nested too deeply"):
        ask("host == `[]`", host=deep)


def test_missing_jmespath_is_one_message_that_names_it(monkeypatch):
    monkeypatch.setattr(expressions_expression, "Parser", None)
    with pytest.raises(MissingPackage, match=r"package jmespath is needed on the controller .* pip install jmespath"):
        compile_expression("host")


def test_names_are_the_paths_that_are_read():
    expression = compile_expression('host.gpus[?pcie.link.width < `16`].bdf == it.path[0] || host.sysctl."a.b"')
    assert names(expression) == [
        "host", "host.gpus", "host.gpus[]", "host.gpus[].pcie", "host.gpus[].pcie.link", "host.gpus[].pcie.link.width",
        "host.gpus[].bdf", "it", "it.path", "it.path[0]", "host.sysctl", 'host.sysctl."a.b"']
    assert expression.roots == {"host", "it"}


# -- whatever is asked, the answer is JSON or one of our errors ------------------------------------------------

_NAMES = st.sampled_from(["host", "it", "a", "b", "status", "value", '"a.b"', "@"])
_LITERALS = st.sampled_from(["`1`", "`null`", "`true`", "`[]`", "`{}`", "'x'", "`-1.5`", "`[1, \"a\"]`"])
_FUNCTIONS = st.sampled_from(["length", "keys", "values", "sort", "max", "sum", "avg", "to_string", "to_number", "type",
                              "reverse", "not_null", "ceil", "to_array"])


def _combine(inner):
    return st.one_of(
        st.tuples(inner, _NAMES).map(lambda two: f"{two[0]}.{two[1]}" if two[1] != "@" else two[0]),
        st.tuples(inner, st.sampled_from(["[0]", "[-1]", "[*]", "[]", ".*", "[1:]", "[::-1]"])).map("".join),
        st.tuples(inner, inner).map(lambda two: f"{two[0]}[?{two[1]}]"),
        st.tuples(inner, st.sampled_from(["==", "!=", "<", ">=", "&&", "||", "|"]), inner).map(" ".join),
        inner.map(lambda text: f"!{text}"), inner.map(lambda text: f"({text})"),
        st.tuples(_FUNCTIONS, inner).map(lambda two: f"{two[0]}({two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"contains({two[0]}, {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"sort_by({two[0]}, &{two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"map(&{two[0]}, {two[1]})"),
        inner.map(lambda text: f"status(&{text})"),
        st.tuples(inner, inner).map(lambda two: f"value_or(&{two[0]}, {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"[{two[0]}, {two[1]}]"),
        inner.map(lambda text: f"{{a: {text}}}"),
    )


EXPRESSIONS = st.recursive(st.one_of(_NAMES, _LITERALS), _combine, max_leaves=8)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(),
                    st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(
    st.lists(inner, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b", "a.b", "status", "value"]), inner, max_size=3),
    st.fixed_dictionaries({"status": st.sampled_from(["ok", "ok", "denied", "gone"]), "value": inner})), max_leaves=10)


@settings(max_examples=400, deadline=None)
@given(text=EXPRESSIONS, host=VALUES, it=VALUES)
def test_any_expression_over_any_facts_gives_json_or_our_error(text, host, it):
    try:
        answer = evaluate(compile_expression(text), {"host": host, "it": it})
    except ExpressionError as error:
        assert str(error)
        return
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


@settings(max_examples=400, deadline=None)
@given(text=st.text(alphabet="abhost.[]*?&|!=<>`'\"(){}@,:-0129 \\", max_size=30))
def test_any_text_compiles_or_is_our_error(text):
    try:
        expression = compile_expression(text)
        json.dumps(evaluate(expression, {"host": HOST}))
    except ExpressionError as error:
        assert str(error)
