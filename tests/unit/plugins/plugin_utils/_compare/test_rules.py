# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""catalogue/compare.yml names facts and checks that exist, and what is below them."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._compare.reads import facts_of_checks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._compare.rules import data, is_below, rules
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import ExpressionError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.expression import (
    check_names,
    compile_expression,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.schema_types import Record, Shape, expand


def schema_has(fact):
    """Whether the schema of the facts has this path: an expression over the facts may name it."""
    facts = expand([Shape("facts.json", {"$ref": "facts.json"})])
    try:
        check_names(compile_expression(f"host.{fact}"), (Record({"host": facts}),))
    except ExpressionError:
        return False
    return True


def named_facts():
    known = data()
    yield from (fact for group in known["varies"] + known["varies_between_hosts"] for fact in group["facts"])
    yield from (fact for rule in known["rounded"] for fact in rule["facts"])
    yield from (fact.removesuffix("[]") for facts in known["judged_by"].values() for fact in facts)
    yield from known["items_between_hosts"]
    yield from known["keys_of"]


def test_every_fact_that_is_named_exists():
    assert [fact for fact in dict.fromkeys(named_facts()) if not schema_has(fact)] == []


def test_every_check_that_is_named_exists():
    assert set(data()["judged_by"]) <= {check.id for check in catalogue.shipped()}


def test_a_misspelt_fact_would_be_found():
    assert schema_has("gpus[].pcie.link.width") and not schema_has("gpus[].pcie.link.widht")


@pytest.mark.parametrize("fact, name, below", [
    ("gpus[].pcie.link", "gpus[].pcie", True), ("gpus[].pcie", "gpus", True), ("gpus[]", "gpus[]", True),
    ("gpus[].pcie", "gpus[]", False), ("memory.arc.size", "memory.arc.size", True),
    ("kernel.logs", "kernel.log", False),
])
def test_what_is_below_what(fact, name, below):
    assert is_below(fact, name) is below


def test_what_varies_between_hosts_is_compared_on_one_host():
    assert rules(same_host=False).why_it_varies("gpus[].uuid", ("0000:01:00.0",))
    assert rules(same_host=True).why_it_varies("gpus[].uuid", ("0000:01:00.0",)) is None
    assert rules(same_host=True).why_it_varies("gpus[].iommu_group", ("0000:01:00.0",))


def test_parameters_that_name_a_disk_are_of_one_host():
    assert rules(same_host=False).why_it_varies("kernel.parameters[].value", ("root",))
    assert rules(same_host=False).why_it_varies("kernel.parameters[].value", ("iommu",)) is None


def test_memory_is_compared_in_gibibytes():
    assert rules(same_host=False).comparable("memory.total_kib", 527765504) == "503 GiB"


def test_checks_are_known_by_the_facts_that_they_read():
    reads = facts_of_checks(catalogue.shipped(), data()["judged_by"])
    assert reads["cpu_governor"] == ("cpu.frequency.policies[].governor",)
    assert reads["numa_balancing"] == ("sysctl.kernel.numa_balancing",)
    assert reads["pcie_maxreadreq"] == ("gpus[].pcie.max_read_request",)
    assert reads["cpu_scaling_driver"] == ("cpu.frequency", "cpu.acpi_cppc")
