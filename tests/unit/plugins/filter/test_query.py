# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.gpuhost.tuning.plugins.filter import query as module
from ansible_collections.gpuhost.tuning.plugins.filter.query import FilterModule, query

FACTS = {"gpus": [{"bdf": "0000:01:00.0", "pcie": {"status": "ok", "value": {"read": 512}}},
                  {"bdf": "0000:41:00.0", "pcie": {"status": "gone", "value": None}}]}


def test_an_answer():
    assert query(FACTS, "gpus[?status(&pcie) == 'ok'].pcie.read") == [512]


@pytest.mark.parametrize("expression, message", [
    ("gpus[].bfd", r"there is no 'bfd': did you mean 'bdf'\?"),
    ("gpus[].pcie.read", r"PCIe registers \(lspci -xxxx\) of 0000:41:00\.0 could not be read: the device is gone"),
    ("gpus[", "not a jmespath expression"),
])
def test_a_mistake_is_an_error_of_the_filter(expression, message):
    with pytest.raises(AnsibleFilterError, match=f"gpuhost.tuning.query: {message}"):
        query(FACTS, expression)


def test_a_missing_package_is_an_error_of_the_filter(monkeypatch):
    def missing(*_arguments):
        raise module.MissingPackage("jmespath", "evaluate")

    monkeypatch.setattr(module, "compile_expression", missing)
    with pytest.raises(AnsibleFilterError, match="the Python package jmespath is needed"):
        query(FACTS, "gpus")


def test_lazy_and_tagged_containers_of_a_play():
    templar = Templar(loader=DataLoader(), variables={"facts": FACTS, "wanted": "length(gpus)"})
    assert templar.template(trust_as_template("{{ facts | gpuhost.tuning.query(wanted) }}")) == 2
    assert templar.template(trust_as_template(
        "{{ facts | gpuhost.tuning.query('max_by(gpus, &bdf).bdf') }}")) == "0000:41:00.0"
    with pytest.raises(AnsibleError, match="there is no 'gpsu'"):
        templar.template(trust_as_template("{{ facts | gpuhost.tuning.query('gpsu') }}"))


def test_its_name():
    assert FilterModule().filters() == {"query": query}
