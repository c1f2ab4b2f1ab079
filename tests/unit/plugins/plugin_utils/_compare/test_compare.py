# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue, judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._compare.compare import compare
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._compare.render import headline, markdown, terminal

from hosts import twins
from hosts.tree import Tree

# The slots of a second chassis, in the same order: an address may be that of another card here.
MOVED = {"0000:01:": "0000:11:", "0000:11:": "0000:21:", "0000:21:": "0000:31:", "0000:31:": "0000:35:",
         "0000:40:": "0000:50:", "0000:41:": "0000:51:", "0000:61:": "0000:62:", "0000:71:": "0000:73:"}


def audit(folder, plant, host):
    facts = json.loads(json.dumps(collect(Host(str(plant(Tree(folder)).root)), [])))
    checks = catalogue.shipped()
    return {"schema": "gpuhost.audit/2", "host": host, "profile": "inference", "collected_at": facts["collected_at"],
            "facts": facts, "findings": judge.judge(facts, checks, catalogue.load_profile("inference"), host=host)}


def compared(first, second, names=("pve1", "pve2")):
    return compare(first, second, names, catalogue.shipped())


def named(document):
    return [one.get("check") or one["fact"] for one in document["differences"]]


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twins")
    return {name: audit(folder / name, getattr(twins, name), host) for name, host in (
        ("twin", "pve1"), ("other_twin", "pve2"), ("fast_twin", "pve1"), ("slow_twin", "pve2"))}


def test_of_two_that_are_alike_nothing_is_said_that_varies_by_itself(audits):
    document = compared(audits["twin"], audits["other_twin"])
    assert document["differences"] == []
    assert document["could_not_be_compared"] == []
    assert sum(document["varies_by_itself"].values()) > 20
    assert headline(document) == "pve1 and pve2: nothing differs among what could be compared"


def test_the_slow_one_differs_in_three_things(audits):
    document = compared(audits["fast_twin"], audits["slow_twin"])
    assert sorted(named(document)) == ["cpu_governor", "numa_balancing", "pcie_link_width"]
    by_check = {one["check"]: one for one in document["differences"]}
    assert [side["actual"] for side in by_check["cpu_governor"]["sides"]] == ["performance", "powersave"]
    assert [side["verdict"] for side in by_check["numa_balancing"]["sides"]] == ["pass", "fail"]
    assert by_check["pcie_link_width"]["subjects"] == [twins.SLOW_GPU]
    assert by_check["pcie_link_width"]["facts"][0] == {
        "fact": "gpus[].pcie.link.width", "of": [[twins.SLOW_GPU]], "values": [16, 8]}


def test_it_is_the_same_the_other_way_round(audits):
    document = compared(audits["slow_twin"], audits["fast_twin"])
    assert sorted(named(document)) == ["cpu_governor", "numa_balancing", "pcie_link_width"]


def test_cards_in_other_slots_are_the_same_cards(audits):
    text = json.dumps(audits["slow_twin"])
    for old in MOVED:
        text = text.replace(old, old.replace("0000:", "moved:"))
    for old, new in MOVED.items():
        text = text.replace(old.replace("0000:", "moved:"), new)
    document = compared(audits["fast_twin"], json.loads(text))
    assert sorted(named(document)) == ["cpu_governor", "numa_balancing", "pcie_link_width"]
    assert document["counterparts"]["0000:41:00.0"] == "0000:51:00.0"
    assert "0000:41:00.0 is 0000:51:00.0 there" in terminal(document)


def test_a_card_that_is_gone_is_one_difference(audits):
    second = json.loads(json.dumps(audits["other_twin"]))
    second["facts"]["gpus"] = [gpu for gpu in second["facts"]["gpus"] if gpu["bdf"] != "0000:71:00.0"]
    second["findings"] = [one for one in second["findings"] if one["subject"] != "0000:71:00.0"]
    document = compared(audits["twin"], second)
    assert named(document) == ["gpus[]"]
    [one] = document["differences"]
    assert (one["fact"], one["of"], one["values"]) == ("gpus[]", [["0000:71:00.0"]], ["there", None])


def test_what_was_not_read_is_no_difference_and_is_said(audits):
    second = json.loads(json.dumps(audits["other_twin"]))
    second["facts"]["memory"]["thp"]["enabled"] = {"status": "denied", "value": None}
    document = compared(audits["twin"], second)
    assert document["differences"] == []
    assert {"what": "memory.thp.enabled", "of": [], "why": "denied on the second"} in document["could_not_be_compared"]
    assert "memory.thp.enabled (denied on the second)" in markdown(document)


def test_a_fact_that_no_check_fails_for_is_said_last(audits):
    second = json.loads(json.dumps(audits["slow_twin"]))
    second["facts"]["firmware"]["bios_version"]["value"] = "1104"
    document = compared(audits["fast_twin"], second)
    assert named(document)[-1] == "firmware.bios_version"
    assert document["differences"][-1]["values"] == ["1302", "1104"]
    assert "differ in 4 things (3 P1, 1 fact that no check fails for)" in headline(document)


def test_of_one_host_at_two_times_its_own_parts_are_compared_too(audits):
    then, now = audits["twin"], json.loads(json.dumps(audits["twin"]))
    now["facts"]["gpus"][3]["uuid"]["value"] = "GPU-99999999-0000-4000-8000-000000000000"
    document = compared(then, now, ("pve1@then", "pve1@now"))
    assert named(document) == ["gpus[].uuid"]
    assert document["same_host"] is True


def test_a_setting_that_nobody_minds_is_a_difference_all_the_same(audits):
    """Both fail, in another way."""
    second = json.loads(json.dumps(audits["other_twin"]))
    second["facts"]["sysctl"]["vm.dirty_ratio"]["value"] = "40"
    for one in second["findings"]:
        if one["check"] == "dirty_ratio":
            one["actual"] = "40"
    assert named(compared(audits["twin"], second)) == ["dirty_ratio"]


def test_hostile_names_are_shown_as_text(audits):
    second = json.loads(json.dumps(audits["other_twin"]))
    second["facts"]["firmware"]["bios_version"]["value"] = "1302\x1b[31m|<b>"
    document = compared(audits["twin"], second)
    assert "\x1b" not in terminal(document) + markdown(document)
    assert "<b>" not in markdown(document).replace("`1302\\x1b[31m\\|<b>`", "")


def test_of_long_lists_what_only_one_has_is_shown(audits):
    first, second = (json.loads(json.dumps(audits[name])) for name in ("twin", "other_twin"))
    first["facts"]["placement"]["cores"] = [f"{number},{number + 64}" for number in range(64)]
    second["facts"]["placement"]["cores"] = [f"{number},{number + 64}" for number in range(63)] + ["63"]
    shown = terminal(compared(first, second))
    assert "pve1  63,127 (and 63 alike)" in shown
    assert "pve2  63 (and 63 alike)" in shown


def test_the_command_and_the_host_it_is_for(audits):
    assert "on pve2: for n in $(seq 0 127); do echo performance" in terminal(
        compared(audits["fast_twin"], audits["slow_twin"]))
