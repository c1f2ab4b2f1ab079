# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrix of the report: which GPUs share what, and what becomes of transfers between them."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.p2p import p2p_section

import neutral_facts as neutral
from neutral_facts import lacking, merge, ok

FOUR = ("0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:83:00.0")


def four(**changes) -> dict:
    """Two GPUs below one switch, one beside them on node 0, one on node 1."""
    facts = neutral.epyc()
    facts["gpus"] = [merge(gpu, changes) for gpu in facts["gpus"] if gpu["bdf"] in FOUR]
    return facts


def redirecting(facts: dict, *ports: str) -> dict:
    for port in facts["ports"]:
        if port["bdf"] in ports:
            port["acs"] = ok(neutral.acs(redirect=True))
    return facts


def test_a_host_where_everything_goes_straight():
    assert p2p_section(four()) == [
        "## How GPUs reach each other",
        "",
        "|  | `0000:03:00.0` | `0000:04:00.0` | `0000:23:00.0` | `0000:83:00.0` |",
        "| --- | --- | --- | --- | --- |",
        "| `0000:03:00.0` | - | switch | socket | across |",
        "| `0000:04:00.0` | switch | - | socket | across |",
        "| `0000:23:00.0` | socket | socket | - | across |",
        "| `0000:83:00.0` | across | across | across | - |",
        "",
        "- switch: below one switch or port: transfers can stay below it",
        "- socket: on one socket, through the processor's fabric",
        "- across: on two sockets, through the socket interconnect",
        "- transfers of all 6 pairs are direct: neither translated nor redirected",
        "- type of their IOMMU groups: `identity`",
        "",
    ]


def test_pairs_that_differ_say_so_in_their_cells():
    lines = p2p_section(redirecting(four(), "0000:02:00.0"))
    assert "| `0000:03:00.0` | - | switch, detour | socket | across |" in lines
    assert "- direct: transfers of 5 pairs are direct: neither translated nor redirected" in lines
    assert ("- detour: transfers of 1 pair are redirected to the root complex by ACS instead of staying within the "
            "switch") in lines
    assert "- ports between them that redirect: `0000:02:00.0`" in lines


def test_translation_and_redirection_together():
    lines = p2p_section(redirecting(four(iommu_type=ok("DMA-FQ")), "0000:00:01.1"))
    assert "| `0000:03:00.0` | - | switch, translated | socket, may hang | across, may hang |" in lines
    assert ("- may hang: transfers of 4 pairs are translated by the IOMMU and redirected by ACS: collectives may hang"
            in lines)
    assert "- type of their IOMMU groups: `DMA-FQ`" in lines


def test_nvlink_is_said():
    lines = p2p_section({**four(), "pcie": {"aspm_policy": ok("default"), "nvswitches": ["0000:c5:00.0"]}})
    assert "- connected by NVLink for peer traffic; PCI Express is used for network cards" in lines


def test_what_was_not_read_is_not_called_direct():
    lines = p2p_section(four(iommu_type=lacking("denied"), numa_node=ok(-1)))
    assert "| `0000:23:00.0` | ? | ? | - | ? |" in lines
    assert any(line.startswith("- transfers of all 6 pairs are unknown") for line in lines)


def test_one_gpu_or_those_of_guests_make_no_matrix():
    assert p2p_section({**four(), "gpus": four()["gpus"][:1]}) == []
    assert p2p_section(four(driver="vfio-pci", state="passed_through")) == []
    assert p2p_section(neutral.vm()) == []
