# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.operators import (
    OPERATORS,
    TYPES,
    BadType,
    compare,
    parse_wanted,
    recommended,
)

FITS = [
    ("equals", "int", "60", 60), ("equals", "int", 60, "60"), ("equals", "int", "060", 60), ("equals", "int", "-1", -1),
    ("equals", "float", "2.5", 2.5), ("equals", "float", 32, 32.0),
    ("equals", "str", "performance", "performance"),
    ("equals", "bool", "Y", True), ("equals", "bool", 1, "on"), ("equals", "bool", "off", False),
    ("equals", "bool", "N", 0), ("equals", "bool", False, "no"),
    ("equals", "ints", "4096\t131072\t6291456", "4096 131072 6291456"), ("equals", "ints", [10, 32], "10 32"),
    ("equals", "ints", "7", [7]),
    ("equals", "list", ["a", 1], ["a", 1]), ("equals", "any", None, None), ("equals", "any", {"a": [1]}, {"a": [1]}),
    ("not_equals", "int", "1", 0), ("not_equals", "any", 1, True), ("not_equals", "any", None, "x"),
    ("one_of", "str", "madvise", ["always", "madvise"]), ("one_of", "int", "2", ["1", 2]),
    ("one_of", "any", None, [None, "x"]),
    ("none_of", "str", "hpet", ["acpi_pm", "jiffies"]), ("none_of", "any", True, [1]),
    ("at_least", "int", "4194304", 212992), ("at_least", "int", "212992", 212992), ("at_least", "float", "2.5", 2.5),
    ("at_least", "ints", "4096 200 300", "4096 100 300"),
    ("at_most", "int", 10, "10"), ("at_most", "float", 0.5, 1), ("at_most", "ints", "1 2", [1, 3]),
    ("matches", "str", "6.8.12-9-pve", r"6\.\d+\..*"), ("matches", "str", "", ".*"),
    ("subset", "str", ["a"], ["a", "b"]), ("subset", "str", "a b", ["a", "b"]), ("subset", "list", [], []),
    ("subset", "int", ["1", 2], [1, 2, 3]), ("subset", "ints", "1 2", "1 2 3"),
    ("superset", "str", ["a", "b"], ["b"]), ("superset", "int", ["10", "20"], [10]),
    ("empty", "list", [], None), ("empty", "str", " \n", None), ("empty", "any", [], None),
    ("not_empty", "list", [None], None), ("not_empty", "str", "0-3", None), ("not_empty", "ints", "5", None),
    ("all_equal", "int", ["512", 512, " 512"], None), ("all_equal", "any", [], None),
    ("all_equal", "any", [None], None),
]
DIFFERS = [
    ("equals", "int", "60", 10), ("equals", "float", 2.5, 32), ("equals", "str", "60", "060"),
    ("equals", "bool", "0", True), ("equals", "ints", "1 2", "1 2 3"), ("equals", "list", ["a"], ["b"]),
    ("equals", "any", 1, True), ("equals", "any", None, ""), ("equals", "any", "1", 1),
    ("not_equals", "int", "0", 0), ("one_of", "str", "always", ["madvise", "never"]), ("one_of", "any", 1, [True]),
    ("none_of", "str", "hpet", ["hpet"]), ("at_least", "int", "212992", 16777216),
    ("at_least", "ints", "4096 100 300", "4096 100 301"), ("at_most", "int", 11, 10), ("at_most", "ints", "2 2", "1 9"),
    ("matches", "str", "x6.8", r"6\.8"), ("matches", "str", "6.8-x", r"6\.8"), ("matches", "str", "6x8", r"6\.8"),
    ("subset", "str", ["a", "c"], ["a", "b"]), ("superset", "str", ["a"], ["a", "b"]), ("empty", "list", [0], None),
    ("empty", "str", "5", None), ("not_empty", "list", [], None), ("not_empty", "str", "", None),
    ("all_equal", "int", [512, "4096"], None), ("all_equal", "any", [1, True], None),
]


@pytest.mark.parametrize("op, type_name, actual, wanted", FITS)
def test_fits(op, type_name, actual, wanted):
    assert compare(op, type_name, actual, parse_wanted(op, type_name, wanted)) is True


@pytest.mark.parametrize("op, type_name, actual, wanted", DIFFERS)
def test_differs(op, type_name, actual, wanted):
    assert compare(op, type_name, actual, parse_wanted(op, type_name, wanted)) is False


def test_every_operator_and_type_is_proved_both_ways():
    for proved in (FITS, DIFFERS):
        assert {op for op, *_rest in proved} == set(OPERATORS)
    assert {type_name for _op, type_name, *_rest in FITS} == set(TYPES)


@pytest.mark.parametrize("op, type_name, actual, message", [
    ("equals", "int", "0x3c", '"0x3c" is not an int'),
    ("equals", "int", "sixty", '"sixty" is not an int'),
    ("equals", "int", "1_0", '"1_0" is not an int'),
    ("equals", "int", "", '"" is not an int'),
    ("equals", "int", "6.0", '"6.0" is not an int'),
    ("equals", "int", 6.0, "6.0 is not an int"),
    ("equals", "int", None, "null is not an int"),
    ("equals", "int", True, "true is a boolean, not an int"),
    ("equals", "float", "nan", '"nan" is not a float'),
    ("equals", "float", False, "false is a boolean, not a float"),
    ("equals", "str", 60, "60 is a number, not a str"),
    ("equals", "str", None, "null is null, not a str"),
    ("equals", "bool", "maybe", '"maybe" is not a bool'),
    ("equals", "bool", 2, "2 is not a bool"),
    ("equals", "ints", "1 x", '"x" is not an int'),
    ("equals", "ints", None, "null is null, not a list"),
    ("equals", "list", "a", '"a" is a string, not a list'),
    ("subset", "int", "1 2", '"1 2" is a string, not a list'),
    ("subset", "int", [1, "x"], '"x" is not an int'),
    ("all_equal", "any", None, "null is null, not a list"),
    ("empty", "list", None, "null is null, not a list"),
    ("at_least", "ints", "1 2", "2 numbers are compared with 1"),
])
def test_what_is_cannot_be_understood(op, type_name, actual, message):
    wanted = {"int": 1, "float": 1, "str": "x", "bool": True, "ints": "1", "list": [], "any": None}[type_name]
    wanted = None if OPERATORS[op].wanted is None else [wanted] if op == "subset" else wanted
    with pytest.raises(BadType) as caught:
        compare(op, type_name, actual, parse_wanted(op, type_name, wanted))
    assert str(caught.value) == message


@pytest.mark.parametrize("op, type_name, value, message", [
    ("equals", "str", True, "true is a boolean, not a str. YAML reads an unquoted on, off, yes or no as a boolean: "
                            "quote it in YAML"),
    ("equals", "int", "ten", '"ten" is not an int'),
    ("one_of", "str", "madvise", '"madvise" is a string, not a list'),
    ("one_of", "list", [], "one_of does not support the type list, only any, bool, float, int, str"),
    ("at_least", "str", "5", "at_least does not support the type str, only float, int, ints"),
    ("matches", "int", 5, "matches does not support the type int, only str"),
    ("matches", "str", "6.(", "'6.(' is not a regular expression: missing ), unterminated subpattern at position 2"),
])
def test_what_is_wanted_does_not_fit(op, type_name, value, message):
    with pytest.raises(BadType) as caught:
        parse_wanted(op, type_name, value)
    assert str(caught.value) == message


@pytest.mark.parametrize("op, value, shown", [
    ("equals", "0", "0"), ("at_least", 16777216, {"at_least": 16777216}), ("one_of", ["a"], {"one_of": ["a"]}),
    ("empty", None, {"empty": True}), ("all_equal", None, {"all_equal": True}),
])
def test_recommended(op, value, shown):
    assert recommended(op, value) == shown
