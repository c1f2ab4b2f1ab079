# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import BadValue, MissingName
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.expression import (
    check_names,
    compile_expression,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.schema_types import (
    NULL,
    Record,
    Shape,
    expand,
    kinds,
)

READING = {"type": "object", "properties": {"status": {"type": "string"}, "value": True}}


def reading(**value):
    return {"allOf": [READING], "properties": {"value": value}}


HOST = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "dedicated": {"type": "boolean"},
        "name": {"type": ["string", "null"]},
        "swappiness": reading(type=["string", "null"]),
        "sysctl": {"type": "object", "additionalProperties": reading(type=["string", "null"])},
        "kinds": {"enum": ["vm", "container"]},
        "choice": {"oneOf": [{"type": "null"}, {"type": "object", "additionalProperties": False,
                                                "properties": {"width": {"type": "integer"}}}]},
        "free": {"type": "object"},
        "anything": True,
        "gpus": {"type": "array", "items": {
            "allOf": [{"type": "object", "additionalProperties": False,
                       "properties": {"bdf": {"type": "string"}, "driver": {"type": ["string", "null"]},
                                      "path": {"type": "array", "items": {"type": "string"}},
                                      "pcie": reading(type=["object", "null"], additionalProperties=False,
                                                      properties={"read": {"type": "integer"}})}},
                      {"properties": {"derived": {"type": "object", "additionalProperties": False,
                                                  "properties": {"idle": {"type": ["boolean", "null"]}}}}}]}},
    },
}
SCOPE = (Record({"host": expand([Shape("", HOST)]), "it": NULL}),)


def yields(text):
    return kinds(check_names(compile_expression(text, "check x: actual"), SCOPE))


@pytest.mark.parametrize("text, answer", [
    ("host.dedicated", {"boolean"}),
    ("host.name", {"string", "null"}),
    ("host.swappiness", {"string", "null"}),                 # a reading is its value
    ('host.sysctl."vm.laptop_mode"', {"string", "null"}),
    ("to_number(host.swappiness) > `1`", {"boolean"}),
    ("host.kinds == 'vm'", {"boolean"}),
    ("host.choice.width", {"number"}),
    ("host.free.whatever.below", None),
    ("host.anything.whatever[0]", None),
    ("host.gpus[0].bdf", {"string"}),
    ("host.gpus[?driver == 'nvidia'].pcie.read", {"array"}),
    ("max(host.gpus[].pcie.read)", {"number"}),
    ("max(host.gpus[].pcie.read) > `1`", {"boolean"}),
    ("host.gpus[].path[]", {"array"}),
    ("host.gpus[].path[] | [0]", {"string"}),
    ("host.gpus[0].derived.idle", {"boolean", "null"}),
    ("sort_by(host.gpus, &bdf)[0].pcie.read", {"number"}),
    ("max_by(host.gpus, &pcie.read).bdf", {"string"}),
    ("map(&pcie.read, host.gpus)[0]", {"number"}),
    ("host.gpus[:2].bdf", {"array"}),
    ("keys(host.sysctl)[0]", {"string"}),
    ("host.sysctl.* | [0]", {"string", "null"}),
    ("status(&host.swappiness)", {"string"}),
    ("value_or(&host.swappiness, '0')", {"string", "null"}),
    ("host.gpus[?status(&pcie) == 'ok'] | [0].bdf", {"string"}),
    ("host.name || 'nobody'", {"string", "null"}),
    ("[host.dedicated, host.name][0]", {"boolean", "string", "null"}),
    ("{a: host.name}.a", None),
    ("host.gpus[0].derived.idle == `true`", {"boolean"}),
    ("host.choice == `null`", {"boolean"}),
])
def test_types_are_followed(text, answer):
    assert yields(text) == answer


@pytest.mark.parametrize("text, message", [
    ("host.dedicatet", "there is no 'dedicatet' in host: did you mean 'dedicated'?"),
    ("host.gusts", "there is no 'gusts' in host: did you mean 'gpus'?"),
    ("hots.name", "there is no 'hots' in the scope: did you mean 'host'?"),
    ("host.gpus[?drvier == 'nvidia']", "there is no 'drvier' in host.gpus[]: did you mean 'driver'?"),
    ("host.gpus[].pcie.reed", "there is no 'reed' in host.gpus[].pcie: did you mean 'read'?"),
    ("host.gpus[0].derived.idel", "there is no 'idel' in host.gpus[0].derived: did you mean 'idle'?"),
    ("host.dedicated || host.gpus[0].bfd", "there is no 'bfd' in host.gpus[0]: did you mean 'bdf'?"),
    ("max_by(host.gpus, &pcie.reed).bdf", "there is no 'reed' in host.gpus[].pcie: did you mean 'read'?"),
    ("status(&host.swapiness)", "there is no 'swapiness' in host: did you mean 'swappiness'?"),
    ("host.choice.widht", "there is no 'widht' in host.choice: did you mean 'width'?"),
    ("host.gpus.bdf", "'bdf' asked of host.gpus, which is an array"),
    ("host.name.x", "'x' asked of host.name, which is null or a string"),
    ("host.name[0]", "[0] asked of host.name, which is null or a string"),
    ("host.free[]", "[] asked of host.free, which is an object"),
    ("host.name.*", "* asked of host.name, which is null or a string"),
    ("it.bdf", "'bdf' asked of it, which is null"),
    ("length(host.name).x", "'x' asked of a number"),
])
def test_a_name_that_the_facts_cannot_have(text, message):
    with pytest.raises(MissingName) as caught:
        yields(text)
    assert caught.value.message == message
    assert str(caught.value).startswith("check x: actual: ")


@pytest.mark.parametrize("text, message", [
    ("host.swappiness > `1`", "> compares numbers, not null or a string"),
    ("host.dedicated <= `1`", "<= compares numbers, not a boolean"),
    ("host.dedicated == `0`", "a boolean is compared with a number, which can never be equal"),
    ("host.gpus[0].bdf == `1`", "a string is compared with a number, which can never be equal"),
    ("host.kinds == `1`", "a string is compared with a number, which can never be equal"),
])
def test_a_comparison_that_cannot_be(text, message):
    with pytest.raises(BadValue) as caught:
        yields(text)
    assert caught.value.message == message
