# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instruction sets of QEMU's CPU models: of one release as recorded, and of the installed one as it answers by QMP.

What a model has is the same under TCG and KVM: the expansion is that of the model, not of what the accelerator can do.
"""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import yaml

# QEMU's name of a feature, and the kernel's in /proc/cpuinfo.
FEATURES = {"avx": "avx", "f16c": "f16c", "fma": "fma", "avx2": "avx2", "avx-vnni": "avx_vnni", "avx512f": "avx512f",
            "avx512bw": "avx512bw", "avx512vnni": "avx512_vnni", "avx512-bf16": "avx512_bf16",
            "avx512-fp16": "avx512_fp16", "amx-tile": "amx_tile", "amx-int8": "amx_int8", "amx-bf16": "amx_bf16",
            "amx-fp16": "amx_fp16"}
OF_THE_HOST = ("host", "max")


def recorded() -> dict[str, set[str]]:
    """Each model of the recorded release with its instruction sets."""
    groups = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))["models"]
    return {name: set(group["has"].split()) for group in groups for name in group["names"].split()}


def asked(program: str) -> dict[str, set[str]]:
    """The same of an installed QEMU, which is started without a machine."""
    arguments = [program, "-machine", "none", "-nodefaults", "-display", "none", "-qmp", "stdio"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as qemu:
        try:
            json.loads(qemu.stdout.readline())      # the greeting
            _ask(qemu, "qmp_capabilities")
            names = [one["name"] for one in _ask(qemu, "query-cpu-definitions") if one["name"] not in OF_THE_HOST]
            return {name: _sets(_ask(qemu, "query-cpu-model-expansion", type="full", model={"name": name}))
                    for name in names}
        finally:
            qemu.kill()


def _ask(qemu: subprocess.Popen, command: str, **arguments: Any) -> Any:
    qemu.stdin.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    qemu.stdin.flush()
    for line in qemu.stdout:
        answer = json.loads(line)
        if "event" not in answer:
            return answer["return"]
    raise AssertionError(f"QEMU ended before it answered {command}")


def _sets(expansion: dict[str, Any]) -> set[str]:
    properties = expansion["model"]["props"]
    return {known for name, known in FEATURES.items() if properties.get(name)}
