# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.outliers import check_values, outliers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import fleet_row

from audit_document import GPUS, document, finding


def row(read_request=4096, *, one_gpu=None, kernel="6.8.12-9-pve", verdict="pass", cpu=None, gpus=GPUS):
    values = dict.fromkeys(gpus, read_request)
    if one_gpu:
        values[gpus[3]] = one_gpu
    made = document([finding("pcie_maxreadreq", verdict, subject=address, actual=actual)
                     for address, actual in values.items()], gpus=gpus)
    made["facts"]["kernel"]["release"]["value"] = kernel
    if cpu:
        made["facts"]["cpu"]["model_name"] = cpu
    return fleet_row(made)


def found(**rows):
    return [(one["what"], one["majority"], one["having"], one["hosts"], one["odd"]) for one in outliers(rows)]


def test_the_odd_ones_are_named_with_what_they_have():
    assert found(a=row(), b=row(), c=row(512), d=row(), e=row(one_gpu=512)) == [
        ("pcie_maxreadreq", "4096", 3, 5, {"c": "512", "e": "4096 (7), 512 (1)"})]


def test_facts_that_no_check_judges_are_compared_too_and_a_lone_one_comes_first():
    assert found(a=row(), b=row(), c=row(kernel="6.5.0"), d=row(512), e=row(512), f=row(), g=row()) == [
        ("kernel", "6.8.12-9-pve", 6, 7, {"c": "6.5.0"}),
        ("pcie_maxreadreq", "4096", 5, 7, {"d": "512", "e": "512"})]


def test_a_host_that_lost_a_gpu_is_the_odd_one_of_its_model():
    assert ("GPUs", "8", 2, 3, {"c": "7"}) in found(a=row(), b=row(), c=row(gpus=GPUS[:7]))


def test_what_could_not_be_judged_is_a_value_of_its_own():
    assert found(a=row(), b=row(), c=row(verdict="unknown")) == [
        ("pcie_maxreadreq", "4096", 2, 3, {"c": "unknown"})]


def test_without_a_majority_nobody_is_odd():
    assert found(a=row(512), b=row(4096)) == []
    assert found(a=row(512), b=row(4096), c=row(1024)) == []
    assert found(a=row(512), b=row(512), c=row(4096), d=row(4096)) == []


def test_models_are_not_compared_with_each_other():
    assert found(a=row(), b=row(), c=row(512, cpu="Intel"), d=row(512, cpu="Intel")) == []


def test_values_of_many_devices_are_one_text():
    assert check_values([["width", "pass", "P1", "16", "", "", "none", "", ["a", "b"]],
                         ["width", "fail", "P1", "8", "", "", "none", "", ["c"]],
                         ["boost", "not_applicable", "P1", "-", "", "", "none", "", []]]) == {
        "width": "16 (2), 8 (1)", "boost": "does not apply"}
