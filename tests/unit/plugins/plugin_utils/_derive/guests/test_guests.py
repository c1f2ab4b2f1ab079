# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests.guests import size_mib

import neutral_facts as neutral
from neutral_facts import merge


def of_container(fragment, facts=None):
    facts = merge(facts or neutral.epyc(), {"guests": {"containers": {"value": [fragment]}}})
    return derive(facts)["derived"]["gpu_containers"][0]


@pytest.mark.parametrize("text, mib", [("64m", 64), ("16G", 16384), ("1t", 1 << 20), ("1048576", 1), ("2048k", 2),
                                       ("50%", None), ("", None), (None, None), ("lots", None)])
def test_size_of_a_tmpfs(text, mib):
    assert size_mib(text) == mib


def test_gpus_are_found_by_the_containers_that_the_facts_name():
    gpus = [{**gpu, "containers": ["101"] if gpu["minor"]["value"] in (0, 1) else []} for gpu in neutral.epyc()["gpus"]]
    found = of_container({}, {**neutral.epyc(), "gpus": gpus})
    assert [gpu["bdf"] for gpu in found["gpus"]] == ["0000:23:00.0", "0000:24:00.0"]
    assert found["shm_wanted_mib"] == 2048


def test_a_container_without_a_gpu_is_not_among_them():
    facts = merge(neutral.epyc(), {"guests": {"containers": {"value": [{"gpu_devices": []}]}}})
    assert derive(facts)["derived"]["gpu_containers"] == []


@pytest.mark.parametrize("template, subjects", [(False, ["vm:900"]), (True, [])])
def test_a_template_does_not_start_and_so_lacks_no_device(template, subjects):
    named = {"key": "hostpci0", "value": "0000:99:00", "mapping": None, "bdfs": ["0000:99:00"],
             "missing": ["0000:99:00"]}
    vm = {"id": "900", "name": "golden", "running": False, "lock": None, "onboot": False, "template": template,
          "cpus": None, "memory_nodes": None, "pinned": False, "other_sections": [], "hostpci": [named]}
    facts = merge(neutral.epyc(), {"guests": {"vms": {"status": "ok", "value": [vm]}}})
    assert [one["subject"] for one in derive(facts)["derived"]["gpu_vms"]] == subjects
