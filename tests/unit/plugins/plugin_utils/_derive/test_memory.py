# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of the host and of GPUs, and the huge page that programs get."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.memory import usual_huge_page
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.describe import describe

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok

GIB = 1 << 20       # KiB


def with_nodes(*nodes, model_name="AMD EPYC 9575F 64-Core Processor"):
    """Nodes as (CPUs, GiB, GPU), whose sum is MemTotal."""
    facts = merge(neutral.epyc(), {"cpu": {"model_name": model_name},
                                   "memory": {"total_kib": ok(sum(gib for _cpus, gib, _gpu in nodes) * GIB)}})
    facts["numa"]["nodes"] = [{**neutral.node(number, cpus, [10], gib), "gpu": gpu}
                              for number, (cpus, gib, gpu) in enumerate(nodes)]
    return facts


@pytest.mark.parametrize("nodes, model_name, gib, said", [
    # B-18: GH200, with and without the word of the driver.
    ((("0-71", 468, None), ("", 96, "0009:01:00.0"), ("", 0, None)), "Arm Neoverse-V2", 468,
     "468 GiB memory and 96 GiB of GPUs"),
    ((("0-71", 468, None), ("", 96, None)), "Arm Neoverse-V2", 468, "468 GiB memory and 96 GiB of GPUs"),
    # AC922: V100 in POWER9.
    ((("0-15", 150, None), ("88-103", 150, None), ("", 16, "0004:05:00.0"), ("", 16, "0035:04:00.0")), "POWER9", 300,
     "300 GiB memory and 32 GiB of GPUs"),
    # CXL, or HBM of a Xeon Max: the host's own.
    ((("0-63", 256, None), ("", 128, None)), "Intel(R) Xeon(R) CPU Max 9460", 384,
     "384 GiB memory, 128 GiB of it on nodes without CPUs"),
    ((("0-63", 256, None), ("64-127", 256, None)), "AMD EPYC 9575F 64-Core Processor", 512, "512 GiB memory"),
])
def test_b18_memory_of_gpus_is_not_the_hosts(nodes, model_name, gib, said):
    """B-18."""
    facts = with_nodes(*nodes, model_name=model_name)
    derived = derive(facts)["derived"]
    assert (derived["memory_gib"], derived["memory_kib"]) == (gib, ok(gib * GIB))
    assert said in describe(facts)


def test_memory_that_is_not_known_stays_so():
    facts = merge(with_nodes(("0-71", 468, None)), {"memory": {"total_kib": lacking("denied")}})
    derived = derive(facts)["derived"]
    assert (derived["memory_gib"], derived["memory_kib"]) == (None, lacking("denied"))


@pytest.mark.parametrize("pmd, size, choice", [
    (ok(2048), "2 MiB", ok("inherit")), (ABSENT, "2 MiB", ok("inherit")),
    (ok(524288), "512 MiB", ok("madvise")),         # pages of 64 KiB, where 2 MiB is a size like any other
    (ok(32768), "32 MiB", ABSENT),
])
def test_the_usual_huge_page_depends_on_the_page(pmd, size, choice):
    thp = {"pmd_kib": pmd, "sizes": [{"kib": 2048, "enabled": ok("inherit")},
                                     {"kib": 524288, "enabled": ok("madvise")}]}
    found = usual_huge_page(thp)
    assert (found["size"], found["choice"]) == (ok(size), choice)


def test_a_huge_page_whose_size_is_hidden_is_not_taken_for_the_usual_one():
    found = usual_huge_page({"pmd_kib": lacking("denied"), "sizes": [{"kib": 2048, "enabled": ok("never")}]})
    assert found == dict.fromkeys(("kib", "size", "choice"), lacking("denied"))


def test_cpus_that_nobody_counted_and_kinds_of_cores():
    facts = merge(neutral.epyc(), {"cpu": {"model_name": "POWER7", "logical": None, "sockets": None}})
    assert describe(facts)[0] == "POWER7, CPUs not counted"
    facts = merge(neutral.epyc(), {"cpu": {"model_name": "Arm Cortex-X3 and Cortex-A715", "logical": 8, "sockets": 3,
                                           "kinds": [{"name": "Cortex-X3", "cpus": "7"},
                                                     {"name": "Cortex-A715", "cpus": "0-6"}]}})
    assert describe(facts)[0] == "Arm Cortex-X3 and Cortex-A715, 8 CPUs"
