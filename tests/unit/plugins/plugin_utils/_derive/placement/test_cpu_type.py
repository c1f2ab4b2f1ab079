# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.placement.cpu_type import (
    as_host,
    cpu_setting,
    judge_cpu_type,
)

import qemu_cpu_models
from neutral_placement import AMX, AVX2, AVX512, ok
from requirement import need

# The sets that decide; each of the others comes with one of them.
JUDGED = {"avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"}
ALL_OF_AVX512 = ["avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16"]


def hidden(model, features=AVX512, flags=(), **changed):
    vm = {"cpu_type": model, "cpu_model": model, "cpu_flags": list(flags), "cpu_arguments": False, "kvm": True,
          "arch": None, **changed}
    return judge_cpu_type(vm, ok(list(features)))


@pytest.mark.parametrize("model, features, names", [
    ("host", AMX, []), ("max", AMX, []), ("kvm64", AVX512, ALL_OF_AVX512), ("x86-64-v2-AES", AVX2, ["avx", "avx2"]),
    ("x86-64-v3", AVX512, ALL_OF_AVX512[2:]), ("x86-64-v4", AVX512, ["avx512_vnni", "avx512_bf16"]),
    ("EPYC-Genoa", AVX512, []), ("EPYC-Genoa-v2", AVX512, []), ("EPYC-Milan", AVX512, ALL_OF_AVX512[2:]),
    ("Skylake-Server-noTSX-IBRS", AVX512, ["avx512_vnni", "avx512_bf16"]), ("EPYC-IBPB", AVX2, []),
    ("SapphireRapids-v4", AMX, []),
    ("Icelake-Server", AMX, ["avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"]),
    ("kvm64", (), [])])
def test_what_a_model_hides_of_what_the_host_has(model, features, names):
    assert hidden(model, features) == ok(names)


def shown_by(models):
    """By model: the instruction sets of AMX that the collection takes the model to show."""
    return {model: JUDGED - set(hidden(model, AMX)["value"]) for model in models}


def judged(models):
    return {model: has & JUDGED for model, has in models.items()}


def test_each_model_of_a_recorded_qemu_shows_what_it_has():
    models = qemu_cpu_models.recorded()
    assert len(models) == 187 and models["EPYC-Turin"] >= {"avx512_bf16", "avx_vnni"}
    assert shown_by(models) == judged(models)


def test_each_model_of_the_installed_qemu_shows_what_it_has():
    program = shutil.which("qemu-system-x86_64")
    need(program, "qemu-system-x86_64 (on Debian: apt-get install qemu-system-x86)")
    models = qemu_cpu_models.asked(program)
    assert len(models) > 100
    assert shown_by(models) == judged(models)


@pytest.mark.parametrize("model, flags, names", [
    ("x86-64-v4", ("+avx512vnni", "+avx512-bf16"), []), ("host", ("-avx512f",), ["avx512f"]),
    ("x86-64-v3", ("+avx512f", "+pcid"), ["avx512_vnni", "avx512_bf16"]), ("host", ("-avx2", "+avx2"), [])])
def test_flags_in_the_spelling_of_qemu_add_and_take_away(model, flags, names):
    assert hidden(model, flags=flags) == ok(names)


@pytest.mark.parametrize("model, changed, why", [
    ("Zen9", {}, "what the CPU type Zen9 has is not known"),
    ("host", {"cpu_arguments": True}, "args hands QEMU a -cpu of its own"),
    ("max", {"kvm": False}, "QEMU emulates the processor of this VM (kvm: 0, or another arch)"),
    ("max", {"arch": "aarch64"}, "QEMU emulates the processor of this VM (kvm: 0, or another arch)")])
def test_what_nobody_knows_passes_for_nothing(model, changed, why):
    assert hidden(model, **changed) == {"status": why, "value": None}


@pytest.mark.parametrize("setting, expected", [
    ("kvm64", "host"), ("x86-64-v3,flags=+pcid;-ibpb,hidden=1", "host,flags=+pcid;-ibpb,hidden=1"),
    ("flags=+aes,cputype=custom-serve", "host,flags=+aes")])
def test_the_type_host_keeps_the_other_properties(setting, expected):
    assert as_host(setting) == expected


def test_older_facts_have_the_type_of_the_setting():
    assert cpu_setting({"cpu_type": "kvm64"}) == cpu_setting({"cpu_type": "kvm64", "cpu_setting": None}) == "kvm64"
    assert cpu_setting({"cpu_type": "kvm64", "cpu_setting": "kvm64,hidden=1"}) == "kvm64,hidden=1"


def test_a_host_whose_flags_were_not_read_hides_nothing_and_passes_nothing():
    vm = {"cpu_type": "host", "cpu_model": "host", "cpu_flags": [], "cpu_arguments": False, "kvm": True, "arch": None}
    assert judge_cpu_type(vm, {"status": "denied", "value": None}) == {"status": "denied", "value": None}
