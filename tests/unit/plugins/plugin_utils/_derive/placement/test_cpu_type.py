# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.placement.cpu_type import judge_cpu_type

from neutral_placement import AMX, AVX2, AVX512, ok

ALL_OF_AVX512 = ["avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16"]


def hidden(model, features=AVX512, flags=(), arguments=False):
    vm = {"cpu_type": model, "cpu_model": model, "cpu_flags": list(flags), "cpu_arguments": arguments}
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


@pytest.mark.parametrize("model, flags, names", [
    ("x86-64-v4", ("+avx512vnni", "+avx512-bf16"), []), ("host", ("-avx512f",), ["avx512f"]),
    ("x86-64-v3", ("+avx512f", "+pcid"), ["avx512_vnni", "avx512_bf16"]), ("host", ("-avx2", "+avx2"), [])])
def test_flags_in_the_spelling_of_qemu_add_and_take_away(model, flags, names):
    assert hidden(model, flags=flags) == ok(names)


@pytest.mark.parametrize("model, arguments, why", [
    ("Zen9", False, "what the CPU type Zen9 has is not known"),
    ("host", True, "args hands QEMU a -cpu of its own")])
def test_what_nobody_knows_passes_for_nothing(model, arguments, why):
    assert hidden(model, arguments=arguments) == {"status": why, "value": None}


def test_a_host_whose_flags_were_not_read_hides_nothing_and_passes_nothing():
    vm = {"cpu_type": "host", "cpu_model": "host", "cpu_flags": [], "cpu_arguments": False}
    assert judge_cpu_type(vm, {"status": "denied", "value": None}) == {"status": "denied", "value": None}
